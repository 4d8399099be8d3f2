package command

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/fedfast/fedfast/cmd/fedfast/internal/report"
	"github.com/fedfast/fedfast/cmd/fedfast/internal/ui/table"
	"github.com/fedfast/fedfast/fl/study/workdir"
	"github.com/fedfast/fedfast/internal/sys/wholefile"
)

// reportFile is where the report of a study is written unless told otherwise.
const reportFile = "report.html"

func newReport(a *app) *cobra.Command {
	var out string
	cmd := &cobra.Command{
		Use:               "report STUDY...",
		ValidArgsFunction: completeStudy,
		Short:             "Write a self-contained HTML report",
		Args:              cobra.MinimumNArgs(1),
		PreRunE: func(_ *cobra.Command, args []string) error {
			if out == "" {
				if out = reportFile; len(args) == 1 {
					out = filepath.Join(args[0], reportFile)
				}
				return nil // a directory that is not there is reported as no study
			}
			return writable([]output{{"--out", out}})
		},
		RunE: a.work(func(cmd *cobra.Command, args []string) error { return a.report(cmd.Context(), args, out) }),
	}
	cmd.Flags().StringVar(&out, "out", "", "write to `FILE` (default: report.html in the study's directory, or in the current one for several)")
	return cmd
}

// report writes the report of studies into a file.
func (a *app) report(ctx context.Context, args []string, out string) error {
	studies, err := readStudies(ctx, args)
	if err != nil {
		return err
	}
	var answer []string
	if len(studies) > 1 {
		c, err := report.Compare(studies)
		if err != nil {
			return err
		}
		answer = c.Answer
	}
	if err := wholefile.Stream(out, 0o644, func(w io.Writer) error { return report.Write(w, studies) }); err != nil {
		return err
	}
	if a.json {
		return a.printJSON(map[string]any{"file": out, "studies": len(studies), "answer": answer})
	}
	if err := a.printAnswer(answer); err != nil {
		return err
	}
	_, err = fmt.Fprintln(a.out, out)
	return err
}

// printAnswer prints the sentences of a comparison.
func (a *app) printAnswer(answer []string) error {
	for i := range answer {
		answer[i] = plain(answer[i])
	}
	return table.Text(a.out, answer...)
}

// readStudies reads the studies of directories, of those of --seeds all that have begun.
func readStudies(ctx context.Context, args []string) (studies []*report.Study, err error) {
	return studies, eachStudy(args, func(dir string) error {
		s, err := report.Read(ctx, dir)
		if err == nil {
			studies = append(studies, s)
		}
		return err
	})
}

// eachStudy calls f for each study of directories, of those of --seeds for all that have begun; f
// returns an fs.ErrNotExist for one that has not.
func eachStudy(args []string, f func(dir string) error) error {
	seen := map[string]bool{}
	for _, arg := range args {
		dirs, err := workdir.Dirs(arg)
		if err != nil {
			return err
		}
		begun := 0
		for _, dir := range dirs {
			at := whereIs(dir)
			if seen[at] { // it would count as another seed
				return usageError{fmt.Errorf("%s: study is given twice", dir)}
			}
			seen[at] = true
			switch err := f(dir); {
			case errors.Is(err, fs.ErrNotExist) && len(dirs) > 1: // of a seed that was not begun
			case errors.Is(err, fs.ErrNotExist):
				return usageError{err}
			case err != nil:
				return err
			default:
				begun++
			}
		}
		if begun == 0 {
			return usageError{fmt.Errorf("%s: no study of its seeds has started", arg)}
		}
	}
	return nil
}

// whereIs is the one path of a directory, whatever it is called, as far as it can be told.
func whereIs(dir string) string {
	if path, err := filepath.Abs(dir); err == nil {
		dir = path
	}
	if path, err := filepath.EvalSymlinks(dir); err == nil {
		dir = path
	}
	return dir
}
