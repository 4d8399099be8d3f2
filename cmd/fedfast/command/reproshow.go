package command

import (
	"bytes"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/fedfast/fedfast/bench/repro"
	"github.com/fedfast/fedfast/internal/sys/wholefile"
)

// reportOptions say where a report goes besides stdout.
type reportOptions struct {
	markdown string
}

func (o *reportOptions) addFlags(cmd *cobra.Command) {
	f := cmd.Flags()
	f.StringVar(&o.markdown, "markdown", "", "also write the report as Markdown to this `FILE`")
}

// writable refuses places where the report cannot be written in the end.
func (o *reportOptions) writable() error { return writable([]output{{"--markdown", o.markdown}}) }

func newReproMerge(a *app) *cobra.Command {
	o := &reportOptions{}
	var name, values string
	var claims, board bool
	cmd := &cobra.Command{
		Use:     "merge DIR...",
		Short:   "Build a report from existing metrics of one or several machines",
		Args:    cobra.MinimumNArgs(1),
		PreRunE: func(*cobra.Command, []string) error { return o.writable() },
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
			switch {
			case claims:
				t, err := repro.AbstractClaims(found)
				if err != nil {
					return err
				}
				return o.showTables(a, t, t)
			case board || values != "":
				return o.showBoard(a, found, values)
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
	cmd.Flags().BoolVar(&board, "board", false, "compare the methods of the tuned board, instead of the report")
	cmd.Flags().StringVar(&values, "values", "", "with --board, also write the tuned values to this CSV `FILE`")
	for _, other := range []string{"claims", "board"} {
		cmd.MarkFlagsMutuallyExclusive(other, "name")
	}
	cmd.MarkFlagsMutuallyExclusive("claims", "board")
	o.addFlags(cmd)
	return cmd
}

// showBoard prints the tuned board and writes its values.
func (o *reportOptions) showBoard(a *app, found []*repro.Metrics, values string) error {
	b, err := repro.NewBoard(found)
	if err != nil {
		return err
	}
	if values != "" {
		if err := wholefile.Stream(values, 0o644, b.WriteValues); err != nil {
			return fmt.Errorf("--values: %w", err)
		}
	}
	if len(b.Missing) > 0 {
		fmt.Fprintf(a.err, "not measured with the settings of this version: %s\n", strings.Join(b.Missing, ", "))
	}
	tables := b.Tables()
	return o.showTables(a, tables, tables...)
}

// showTables prints tables, in JSON as a value, and writes them as Markdown.
func (o *reportOptions) showTables(a *app, value any, tables ...repro.Table) error {
	var text bytes.Buffer
	for i, t := range tables {
		if i > 0 {
			text.WriteByte('\n')
		}
		t.WriteMarkdown(&text)
	}
	if o.markdown != "" {
		if err := wholefile.Write(o.markdown, text.Bytes(), 0o644); err != nil {
			return fmt.Errorf("--markdown: %w", err)
		}
	}
	if a.json {
		return a.printJSON(value)
	}
	return printTables(a.out, tables)
}

// printTables prints tables, with a line between them.
func printTables(out io.Writer, tables []repro.Table) error {
	for i, t := range tables {
		if i > 0 {
			fmt.Fprintln(out)
		}
		if err := printTable(out, t.Title, t.Head, t.Rows); err != nil {
			return err
		}
	}
	return nil
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
	if a.json {
		return a.printJSON(r.JSON())
	}
	return printTables(a.out, r.Tables())
}
