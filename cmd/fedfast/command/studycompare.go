package command

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/fedfast/fedfast/cmd/fedfast/internal/report"
	"github.com/fedfast/fedfast/internal/sys/wholefile"
)

func newCompare(a *app) *cobra.Command {
	var format, out string
	cmd := &cobra.Command{
		Use:               "compare STUDY...",
		ValidArgsFunction: completeStudy,
		Short:             "Compare studies, with means and intervals over seeds",
		Args:              cobra.MinimumNArgs(1),
		PreRunE: func(*cobra.Command, []string) error {
			switch {
			case format != "text" && !slices.Contains(report.Formats, format):
				return fmt.Errorf("--format %s: must be one of text, %s", format, strings.Join(report.Formats, ", "))
			case format == "text" && out != "":
				return fmt.Errorf("--out: needs --format %s", strings.Join(report.Formats, ", "))
			case format != "text" && a.json:
				return fmt.Errorf("--json: cannot be combined with --format %s", format)
			}
			return writable([]output{{"--out", out}})
		},
		RunE: a.work(func(cmd *cobra.Command, args []string) error { return a.compare(cmd.Context(), args, format, out) }),
	}
	cmd.Flags().StringVar(&format, "format", "text", "output `FORMAT`: text, csv, md or latex")
	cmd.Flags().StringVar(&out, "out", "", "write the table to `FILE`")
	return cmd
}

func (a *app) compare(ctx context.Context, args []string, format, out string) error {
	studies, err := readStudies(ctx, args)
	if err != nil {
		return err
	}
	write := func(w io.Writer) error { return report.WritePaper(w, studies, format) }
	switch {
	case out != "":
		return wholefile.Stream(out, 0o644, write)
	case format != "text":
		return write(a.out)
	}
	c, err := report.Compare(studies)
	if err != nil {
		return err
	}
	if a.json {
		return a.printJSON(map[string]any{"answer": c.Answer, "tables": c.Tables})
	}
	for i := range c.Tables {
		if err := printTable(a.out, c.Tables[i].Title, c.Tables[i].Head, c.Tables[i].Rows); err != nil {
			return err
		}
		fmt.Fprintln(a.out)
	}
	return a.printAnswer(c.Answer)
}
