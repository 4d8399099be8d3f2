package command

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/fedfast/fedfast/bench/repro"
	"github.com/fedfast/fedfast/internal/list"
)

func newReproList(a *app) *cobra.Command {
	o := &reproOptions{}
	cmd := &cobra.Command{
		Use:     "list [NAME]",
		Short:   "List reproducible numbers and curves, with the data and time they need",
		Args:    cobra.MaximumNArgs(1),
		PreRunE: func(*cobra.Command, []string) error { return o.settle() },
		RunE:    a.work(func(cmd *cobra.Command, args []string) error { return o.list(cmd.Context(), a, args) }),
	}
	o.addPlanFlags(cmd)
	return cmd
}

// list prints the cells.
func (o *reproOptions) list(ctx context.Context, a *app, args []string) error {
	cells := repro.Cells()
	if len(args) > 0 {
		var err error
		if cells, err = repro.Select(args[0]); err != nil {
			return usageError{err}
		}
	}
	if o.Data != "" {
		if _, err := os.Stat(o.Data); err != nil {
			return usageError{fmt.Errorf("%s: data not found (set --data or FEDFAST_DATA): %w", o.Data, errors.Unwrap(err))}
		}
	}
	if len(args) == 0 && !a.json {
		return o.listTables(a, cells)
	}
	entries, err := repro.List(ctx, cells, o.Options, a.workers)
	if err != nil {
		return usageError{err}
	}
	return printList(a, entries, []string{"name", "published", "unit", "data", "available", "seeds", "time of a seed"}, func(e repro.Entry) []string {
		row := []string{e.Name, e.Published.Or(e.Instead), dash(e.Unit), dash(e.Data)}
		if e.SecondsEstimate == nil {
			return append(row, "-", "-", strings.TrimSuffix("- ("+e.Why+")", " ()"))
		}
		return append(row, yes(e.AtHand), strconv.Itoa(e.Seeds), inWords(*e.SecondsEstimate))
	})
}

// listTables prints a line for the cells of each table.
func (o *reproOptions) listTables(a *app, cells []repro.Cell) error {
	type line struct {
		paper   string
		numbers int
		needs   []string
	}
	tables := map[string]*line{}
	var names []string
	for _, c := range cells {
		name, _, _ := strings.Cut(c.Name, "/")
		if tables[name] == nil {
			tables[name], names = &line{paper: c.Paper}, append(names, name)
		}
		l := tables[name]
		if l.numbers++; c.Training != nil && !slices.Contains(l.needs, c.Training.Needs) {
			l.needs = append(l.needs, c.Training.Needs)
		}
	}
	return printList(a, names, []string{"name", "numbers", "available", "data", "paper"}, func(name string) []string {
		l, needs := tables[name], tables[name].needs
		n := list.Count(needs, func(name string) bool {
			_, err := repro.Locate(name, o.Data)
			return err == nil
		})
		return []string{name, strconv.Itoa(l.numbers), fmt.Sprint(n, " of ", len(needs)), strings.Join(needs, ", "), l.paper}
	})
}
