package command

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/fedfast/fedfast/bench/repro"
	"github.com/fedfast/fedfast/cmd/fedfast/internal/outfile"
	"github.com/fedfast/fedfast/internal/figure"
	"github.com/fedfast/fedfast/internal/sys/wholefile"
)

// reportOptions say where a report goes besides stdout.
type reportOptions struct {
	markdown, plot, theme string
	png                   bool
}

func (o *reportOptions) addFlags(cmd *cobra.Command) {
	f := cmd.Flags()
	f.StringVar(&o.markdown, "markdown", "", "also write the report as Markdown to this `FILE`")
	f.StringVar(&o.plot, "plot", "", "also write the online curves to this `DIR` as CSV and SVG")
	f.BoolVar(&o.png, "png", false, "with --plot, also write PNG")
	addTheme(cmd, &o.theme)
}

// writable refuses places where the report cannot be written in the end.
func (o *reportOptions) writable() error {
	if _, err := figure.ThemeOf(o.theme); err != nil {
		return fmt.Errorf("--theme %w", err)
	}
	if o.png && o.plot == "" {
		return errors.New("--png requires --plot DIR")
	}
	if err := outfile.Dir(o.plot); err != nil {
		return fmt.Errorf("--plot: %w", err)
	}
	return writable([]output{{"--markdown", o.markdown}})
}

func newReproMerge(a *app) *cobra.Command {
	o := &reportOptions{}
	var name string
	var claims bool
	cmd := &cobra.Command{
		Use:   "merge DIR...",
		Short: "Build a report from existing metrics of one or several machines",
		Args:  cobra.MinimumNArgs(1),
		PreRunE: func(*cobra.Command, []string) error {
			return o.writable()
		},
		RunE: a.work(func(_ *cobra.Command, args []string) error {
			cells := repro.Cells()
			if name != "" {
				var err error
				if cells, err = repro.Select(name); err != nil {
					return usageError{err}
				}
			}
			found, err := repro.Find(args...)
			if err != nil {
				return err
			}
			if claims {
				return o.showClaims(a, found)
			}
			report, err := repro.NewReport(cells, found)
			if err != nil {
				return err
			}
			return o.show(a, report)
		}),
	}
	cmd.Flags().StringVar(&name, "name", "", "include only experiments of this `NAME`")
	cmd.Flags().BoolVar(&claims, "claims", false, "compare the claims of the papers' abstracts with the metrics, instead of the report")
	cmd.MarkFlagsMutuallyExclusive("claims", "name")
	o.addFlags(cmd)
	cmd.MarkFlagsMutuallyExclusive("claims", "plot")
	return cmd
}

// showClaims prints the table of the abstracts' claims.
func (o *reportOptions) showClaims(a *app, found []*repro.Metrics) error {
	t, err := repro.AbstractClaims(found)
	if err != nil {
		return err
	}
	if o.markdown != "" {
		var text bytes.Buffer
		t.WriteMarkdown(&text)
		if err := wholefile.Write(o.markdown, text.Bytes(), 0o644); err != nil {
			return fmt.Errorf("--markdown: %w", err)
		}
	}
	if a.json {
		return a.printJSON(t)
	}
	return printTable(a.out, t.Title, t.Head, t.Rows)
}

// show prints a report and writes the files that were asked for.
func (o *reportOptions) show(a *app, r *repro.Report) error {
	if o.markdown != "" {
		var text bytes.Buffer
		r.WriteMarkdown(&text)
		if err := wholefile.Write(o.markdown, text.Bytes(), 0o644); err != nil {
			return fmt.Errorf("--markdown: %w", err)
		}
	}
	if o.plot != "" {
		if err := o.writeCurves(r); err != nil {
			return fmt.Errorf("--plot: %w", err)
		}
	}
	if a.json {
		return a.printJSON(r.JSON())
	}
	for i, t := range r.Tables() {
		if i > 0 {
			fmt.Fprintln(a.out)
		}
		if err := printTable(a.out, t.Title, t.Head, t.Rows); err != nil {
			return err
		}
	}
	return nil
}

// writeCurves writes each curve of a report into the directory of pictures.
func (o *reportOptions) writeCurves(r *repro.Report) error {
	theme, err := figure.ThemeOf(o.theme)
	if err != nil {
		return err
	}
	if err := wholefile.Folder(o.plot); err != nil {
		return err
	}
	forms := []figure.Form{figure.SVG}
	if o.png {
		forms = append(forms, figure.PNG)
	}
	for _, c := range r.Curves() {
		path := filepath.Join(o.plot, c.Name)
		if err := wholefile.Stream(path+".csv", 0o644, c.WriteCSV); err != nil {
			return err
		}
		f := c.Figure()
		for _, form := range forms {
			if err := wholefile.Stream(path+string(form), 0o644, func(w io.Writer) error { return f.Write(w, form, theme) }); err != nil {
				return err
			}
		}
	}
	return nil
}
