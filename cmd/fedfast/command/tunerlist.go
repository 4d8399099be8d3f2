package command

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/fedfast/fedfast/cmd/fedfast/internal/ui/table"
	"github.com/fedfast/fedfast/internal/list"
	"github.com/fedfast/fedfast/tuners"
	"github.com/fedfast/fedfast/tuners/host"
)

func newTunerList(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "list",
		Short: "List built-in and external tuners",
		Args:  cobra.NoArgs,
		RunE:  a.work(func(cmd *cobra.Command, _ []string) error { return a.listTuners(cmd.Context()) }),
	}
}

// tunerEntry is a line of `tuner list --json`.
type tunerEntry struct {
	tunerRef
	Version string   `json:"version,omitempty"`
	Doc     string   `json:"doc,omitempty"`
	Can     []string `json:"can"` // what it can do
	Trials  bool     `json:"trials"`
	Rounds  bool     `json:"rounds"`
	Options []option `json:"options,omitempty"`
	Skipped string   `json:"skipped,omitempty"` // why it cannot be used
}

// option is one of a tuner's options.
type option struct {
	Name    string       `json:"name"`
	Default tuners.Value `json:"default"`
	Doc     string       `json:"doc"`
}

// tunerEntries starts every tuner once for its description.
func (a *app) tunerEntries(ctx context.Context) ([]tunerEntry, error) {
	paths, err := a.paths()
	if err != nil {
		return nil, err
	}
	_ = endKilled(paths.User) // tuner install tells what is wrong
	return list.Of(host.List(ctx, paths, host.Options{Logger: a.newLog()}), tunerEntryOf), nil
}

// tunerEntryOf is what `tuner list` says of a tuner.
func tunerEntryOf(e host.Entry) tunerEntry {
	d := e.Description
	return tunerEntry{
		tunerRef: refOf(e.Ref), Version: d.Version, Doc: d.Doc, Can: abilities(d), Trials: d.Trials, Rounds: d.Rounds, Skipped: e.Skipped,
		Options: list.Of(d.Options, func(o tuners.Option) option { return option{o.Name, o.Default, o.Doc} }),
	}
}

// listTuners prints what tuners there are.
func (a *app) listTuners(ctx context.Context) error {
	entries, err := a.tunerEntries(ctx)
	if err != nil {
		return err
	}
	return printList(a, entries, []string{"name", "version", "capabilities", "sha256", "from", "description"}, func(e tunerEntry) []string {
		from, doc, sum := "built in", e.Doc, e.SHA256
		if !e.Builtin {
			from = e.Path
		}
		if e.Skipped != "" {
			doc = "unusable: " + e.Skipped
		}
		return []string{e.Name, e.Version, strings.Join(e.Can, ", "), sum[:min(12, len(sum))], from, doc}
	})
}

// showTuner prints a tuner with its options.
func (a *app) showTuner(ctx context.Context, name string) error {
	entries, err := a.tunerEntries(ctx)
	if err != nil {
		return err
	}
	return printNamed(a, "tuner", name, entries, func(e tunerEntry) string { return e.Name }, func(e tunerEntry) error {
		t := table.New(a.out)
		t.Row(e.Name, e.Doc)
		t.Row("version", e.Version)
		t.Row("capabilities", strings.Join(e.Can, ", "))
		if e.Skipped != "" {
			t.Row("unusable", e.Skipped)
		}
		if err := t.Flush(); err != nil || len(e.Options) == 0 {
			return err
		}
		fmt.Fprintln(a.out)
		t = table.New(a.out, "option", "default", "description")
		for _, o := range e.Options {
			t.Row(o.Name, dash(o.Default.String()), o.Doc)
		}
		return t.Flush()
	})
}

// abilities names what a tuner can do: which keys of a study may name it, and what
// its decisions and plans may hold.
func abilities(d tuners.Description) []string {
	can := []string{}
	for _, c := range []struct {
		what string
		does bool
	}{
		{"tuner", d.Trials},
		{"client tuner", d.Rounds},
		{"forks", d.Fork},
		{"prepares", d.Prepare},
		{"tables", d.Tables},
		{"architectures", d.Architectures},
		{"objectives", d.Multi},
		{"warm start", d.Priors},
		{"local search", d.Local},
	} {
		if c.does {
			can = append(can, c.what)
		}
	}
	return can
}
