package command

import (
	"cmp"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/fedfast/fedfast/cmd/fedfast/internal/report"
	"github.com/fedfast/fedfast/internal/figure"
)

func newFigure(a *app) *cobra.Command {
	var o plotOptions
	var name string
	var list bool
	cmd := &cobra.Command{
		Use:               "figure STUDY...",
		ValidArgsFunction: completeStudy,
		Short:             "Write a figure of studies for a paper",
		Args:              cobra.MinimumNArgs(1),
		PreRunE: func(*cobra.Command, []string) error {
			switch {
			case list && name != "":
				return errors.New("--list and --name: give one of them")
			case name == "" && len(o.files) > 0:
				return errors.New("--out needs --name, which figure to write; --list shows the names")
			case name != "" && len(o.files) == 0:
				o.files = []string{name + ".svg"}
			}
			return o.validate()
		},
		RunE: a.work(func(cmd *cobra.Command, args []string) error {
			studies, err := readStudies(cmd.Context(), args)
			if err != nil {
				return err
			}
			all, err := report.Figures(studies)
			if err != nil {
				return err
			}
			if name == "" {
				return a.listFigures(all)
			}
			names := []string{}
			for _, f := range all {
				if names = append(names, f.Name); f.Name == name {
					return errors.Join(o.write(func() (*figure.Figure, error) { return f, nil }), a.printFiles(o.files))
				}
			}
			known := cmp.Or(strings.Join(names, ", "), "none yet")
			return usageError{fmt.Errorf("--name %s: no such figure; there are %s", name, known)}
		}),
	}
	f := cmd.Flags()
	f.StringVar(&name, "name", "", "write the figure of this `NAME`")
	f.BoolVar(&list, "list", false, "list the names and titles of the figures (as without --name)")
	o.flag = "out"
	f.StringArrayVar(&o.files, o.flag, nil, "write to `FILE` (.svg, .pdf, .png or .csv; repeatable; default NAME.svg)")
	addTheme(cmd, &o.theme)
	return cmd
}

// listFigures prints the figures, as JSON with their pictures.
func (a *app) listFigures(all []*figure.Figure) error {
	drawn, rows := []map[string]string{}, [][]string{}
	for _, f := range all {
		rows = append(rows, []string{f.Name, f.Title})
		var svg strings.Builder
		if a.json {
			if err := f.Write(&svg, figure.SVG, figure.Light); err != nil {
				return err
			}
		}
		drawn = append(drawn, map[string]string{"name": f.Name, "title": f.Title, "svg": svg.String()})
	}
	if a.json {
		return a.printJSON(drawn)
	}
	return tableOf(a.out, []string{"name", "title"}, rows).Flush()
}
