package command

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/fedfast/fedfast/cmd/fedfast/internal/fetch"
	"github.com/fedfast/fedfast/cmd/fedfast/internal/ui/progress"
	"github.com/fedfast/fedfast/cmd/fedfast/internal/ui/table"
	"github.com/fedfast/fedfast/internal/sys/oneline"
)

// fetchOptions are the flags of data fetch.
type fetchOptions struct {
	list   bool
	dir    string
	from   string
	mirror string
	stall  time.Duration
}

func newDataFetch(a *app) *cobra.Command {
	o := &fetchOptions{}
	cmd := &cobra.Command{
		Use:   "fetch NAME | --list",
		Short: "Download, verify and unpack a dataset",
		Args: func(_ *cobra.Command, args []string) error {
			if (len(args) == 1) == o.list || len(args) > 1 {
				return errors.New("requires one NAME; use --list to see the names")
			}
			return nil
		},
		RunE: a.work(func(cmd *cobra.Command, args []string) error {
			if o.list {
				return a.listFetch()
			}
			return o.run(cmd.Context(), a, args[0])
		}),
	}
	flags := cmd.Flags()
	flags.BoolVar(&o.list, "list", false, "list the datasets that can be downloaded, and their sources")
	flags.StringVar(&o.dir, "dir", "", "write to `DIR` (default ./NAME)")
	flags.StringVar(&o.from, "from", "", "read the downloaded files from this `DIR` instead of the network")
	flags.StringVar(&o.mirror, "mirror", "", "base `URL` to try first; file names are appended")
	flags.DurationVar(&o.stall, "stall", 30*time.Second, "retry when a server sends nothing for this long")
	return cmd
}

// fetched is what data fetch tells.
type fetched struct {
	Name  string   `json:"name"`
	Data  string   `json:"data"` // the set that reads the files
	Dir   string   `json:"dir"`
	Files []string `json:"files"`
	Notes []string `json:"notes"`
}

func (o *fetchOptions) run(ctx context.Context, a *app, name string) error {
	s, err := fetch.Find(name)
	if err != nil {
		return usageError{err}
	}
	if o.stall <= 0 {
		return usageError{fmt.Errorf("--stall %v: must be greater than 0", o.stall)}
	}
	result := fetched{Name: s.Name, Data: s.Data, Dir: o.dir, Notes: []string{}}
	if o.dir == "" {
		result.Dir = s.Name
	}
	if s.Note != "" {
		result.Notes = append(result.Notes, s.Note)
	}
	bar := newTransfer(a.err)
	result.Files, err = fetch.Fetch(ctx, s, fetch.Options{
		Dir: result.Dir, From: o.from, Mirror: o.mirror, Stall: o.stall, Progress: bar.update,
		Note: func(line string) {
			result.Notes = append(result.Notes, line)
			if !a.json {
				bar.note(line)
			}
		},
	})
	bar.end()
	if err != nil {
		return err
	}
	if a.json {
		return a.printJSON(result)
	}
	t := table.New(a.out)
	t.Row("set", result.Name)
	t.Row("files", strings.Join(result.Files, ", "))
	if s.Note != "" {
		t.Row("note", s.Note)
	} else {
		t.Row("next", fmt.Sprintf("fedfast data info %s --set data.path=%s", result.Data, oneline.Path(result.Dir)))
	}
	return t.Flush()
}

// transfer shows how much of a file is there: a line with a bar on a terminal, a
// plain line every few seconds elsewhere.
type transfer struct {
	w     io.Writer
	line  *progress.Line // nil without a terminal
	shown time.Time
}

func newTransfer(w io.Writer) *transfer {
	t := &transfer{w: w, shown: time.Now()}
	if columns := terminalColumns(w); columns != nil {
		t.line = progress.NewLine(w, columns)
	}
	return t
}

// update shows the number of bytes of a file received so far; of is its size, or 0 if
// unknown.
func (t *transfer) update(file string, bytes, of int64) {
	if t.line != nil {
		t.line.Show(progress.State{Done: bytes, All: of, Parts: []progress.Part{{Text: file}, {Text: megabytes(bytes, of), Rank: 1, Behind: true}}})
		return
	}
	if now := time.Now(); now.Sub(t.shown) >= progress.Interval {
		t.shown = now
		fmt.Fprintf(t.w, "%s: %s\n", file, megabytes(bytes, of))
	}
}

// note writes a line that stays.
func (t *transfer) note(line string) {
	if t.line != nil {
		_, _ = t.line.Print([]byte(line + "\n")) // as elsewhere on stderr
		return
	}
	fmt.Fprintln(t.w, line)
}

// end takes the line away.
func (t *transfer) end() {
	if t.line != nil {
		t.line.Close()
	}
}

// megabytes writes a part of a whole; of is 0 where that is not known.
func megabytes(bytes, of int64) string {
	if of == 0 {
		return fmt.Sprintf("%.1f MB", float64(bytes)/1e6)
	}
	return fmt.Sprintf("%.1f of %.1f MB", float64(bytes)/1e6, float64(of)/1e6)
}

// listFetch prints what can be fetched.
func (a *app) listFetch() error {
	sets := fetch.Sets()
	if a.json {
		return a.printJSON(sets)
	}
	t := table.New(a.out, "name", "file", "MB", "verified by", "from")
	for _, e := range sets {
		name := e.Name
		for _, f := range e.Files {
			for i, url := range f.URLs {
				if i == 0 {
					t.Row(name, f.Name, size(f), checks(f), url)
				} else {
					t.Row("", "", "", "", url)
				}
				name = ""
			}
		}
		if e.Note != "" {
			t.Row("", "note: "+e.Note)
		}
	}
	return t.Flush()
}

// size writes the file's length.
func size(f fetch.File) string {
	if f.Size == 0 {
		return "-"
	}
	return fmt.Sprintf("%.1f", float64(f.Size)/1e6)
}

// checks tells what the file's content is compared with.
func checks(f fetch.File) string {
	text := "-"
	switch {
	case f.SHA256 != "":
		text = "SHA-256"
	case f.MD5 != "":
		text = "MD5"
	}
	if f.Hint {
		text += " (hint)"
	}
	return text
}
