package command

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/fedfast/fedfast/bench/repro"
)

func newReproList(a *app) *cobra.Command {
	o := &reproOptions{}
	cmd := &cobra.Command{
		Use:   "list [NAME]",
		Short: "List reproducible numbers and curves, with the data and time they need",
		Long: "List the numbers and curves that can be reproduced, optionally only those below NAME: the published\n" +
			"number, the data needed and whether it is available, and an estimate of the time for all seeds on this\n" +
			"machine, with this data or with the paper's if it is not available.",
		Args: cobra.MaximumNArgs(1),
		PreRunE: func(*cobra.Command, []string) error {
			return o.settle()
		},
		RunE: a.work(func(cmd *cobra.Command, args []string) error { return o.list(cmd.Context(), a, args) }),
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
		if len(cells) > 1 && !a.json {
			_, _ = fmt.Fprintf(a.err, "opening the data in %s for %d estimates; this can take two minutes\n", o.Data, len(cells))
		}
	}
	entries, err := repro.List(ctx, cells, o.Options, a.workers)
	if err != nil {
		return usageError{err}
	}
	return printList(a, entries, []string{"name", "published", "unit", "data", "available", "seeds", "estimated time"}, func(e repro.Entry) []string {
		hand, seeds, seconds := yes(e.AtHand), strconv.Itoa(e.Seeds), "-"
		if e.SecondsEstimate != nil {
			seconds = inWords(*e.SecondsEstimate)
		} else {
			hand, seeds = "-", "-"
		}
		return []string{e.Name, e.Published.Or(e.Instead), dash(e.Unit), dash(e.Data), hand, seeds, seconds + because(e.Why)}
	})
}

// because adds why a cell cannot be run.
func because(why string) string {
	if why == "" {
		return ""
	}
	return " (" + why + ")"
}
