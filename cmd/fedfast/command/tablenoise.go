package command

import (
	"fmt"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/fedfast/fedfast/cmd/fedfast/internal/recorded"
	"github.com/fedfast/fedfast/cmd/fedfast/internal/ui/table"
	"github.com/fedfast/fedfast/internal/sys/oneline"
)

// newTableNoise makes random searches under noisy scores.
func newTableNoise(a *app) *cobra.Command {
	n := recorded.Noise{}
	plot := plotOptions{}
	var proxies []string
	cmd := &cobra.Command{
		Use:   "noise FILE",
		Short: "Show what random search finds in a table when scores come from few clients or are private",
		Long: "Show what random search finds in a table when scores come from few clients or are private, as in the\n" +
			"experiments of Kuo et al. (MLSys 2023). A search draws configurations and takes the one with the best\n" +
			"score after the last round; printed is its error on all clients: median (quartiles) over repeats.\n\n" +
			"Each score is the mean over clients that are drawn anew. These weigh by their samples or, for private\n" +
			"scores, the same, with Laplace noise of scale TRIALS / (clients x epsilon). Under bias b clients are\n" +
			"drawn by (1.0001 - error)^b; shuffled is the share of the samples that are dealt to clients anew.",
		Example: "  fedfast table noise t.parquet --plot noise.svg",
		Args:    cobra.ExactArgs(1),
		PreRunE: func(*cobra.Command, []string) error {
			const most = 1_000_000
			if n.Trials < 0 || n.Trials > most || n.Repeats < 1 || n.Repeats > most {
				return fmt.Errorf("--trials and --repeats: must be positive integers, at most %d", most)
			}
			return plot.validate()
		},
		RunE: a.work(func(cmd *cobra.Command, args []string) error {
			var err error
			if n.Table, err = recorded.Open(args[0]); err != nil {
				return usageError{err}
			}
			for _, path := range proxies {
				t, err := recorded.Open(path)
				if err != nil {
					return usageError{err}
				}
				n.Proxies = append(n.Proxies, recorded.Named[*recorded.Table]{Name: strings.TrimSuffix(filepath.Base(path), recorded.Suffix), It: t})
			}
			n.Seed, n.Workers = a.seed, a.workers
			if n.Workers == 0 {
				n.Workers = runtime.GOMAXPROCS(0)
			}
			out, err := n.Run(cmd.Context())
			if err != nil {
				return err
			}
			if err := plot.write(out.Figure); err != nil {
				return err
			}
			if a.json {
				return a.printJSON(out)
			}
			return a.printNoise(out)
		}),
	}
	f := cmd.Flags()
	f.IntVar(&n.Trials, "trials", 0, "configurations of a search (default 16, or half of the table's if these are fewer than 32)")
	f.IntVar(&n.Repeats, "repeats", 100, "number of searches")
	f.StringSliceVar(&proxies, "proxy", nil, "also search `FILE`, a table of other data with the same configurations, without noise (repeatable)")
	f.BoolVar(&n.Test, "test", false, "show test errors in place of validation errors")
	plot.addFlags(cmd, "plot the errors against the clients of a score")
	return cmd
}

// printNoise prints a row for each number of clients, a column for each kind of score.
func (a *app) printNoise(t *recorded.NoiseTable) error {
	text := func(q recorded.Quartiles) string {
		return fmt.Sprintf("%.1f (%.1f-%.1f)", 100*q.Median, 100*q.Q1, 100*q.Q3)
	}
	part := func(of func(c *recorded.NoiseCell) bool) error {
		head := []string{"clients"}
		var rows [][]string
		for i := range t.Cells {
			c := &t.Cells[i]
			if !of(c) {
				continue
			}
			if !slices.Contains(head, c.Name()) {
				head = append(head, c.Name())
			}
			if len(head) == 2 {
				rows = append(rows, []string{oneline.Digits(c.Clients)})
			}
			at := slices.IndexFunc(rows, func(row []string) bool { return row[0] == oneline.Digits(c.Clients) })
			rows[at] = append(rows[at], text(c.Quartiles))
		}
		out := table.New(a.out, head...)
		for _, row := range rows {
			out.Row(row...)
		}
		return out.Flush()
	}
	chosen := func(c *recorded.NoiseCell) bool { return c.Bias > 0 || c.Shuffled > 0 }
	if err := part(func(c *recorded.NoiseCell) bool { return !chosen(c) }); err != nil {
		return err
	}
	fmt.Fprintln(a.out)
	if err := part(chosen); err != nil {
		return err
	}
	if len(t.Proxies) > 0 {
		fmt.Fprintln(a.out)
		out := table.New(a.out, "proxy", "here")
		for _, p := range t.Proxies {
			out.Row(p.Table, text(p.Quartiles))
		}
		if err := out.Flush(); err != nil {
			return err
		}
	}
	fmt.Fprintf(a.out, "\n%% %s error of the best by its score of %d of %d configurations: median (quartiles) of %s;\nunder epsilon all clients weigh the same\n",
		t.Split, t.Trials, t.Configurations, oneline.Count(t.Repeats, "repeat"))
	if t.Exact != nil {
		fmt.Fprintf(a.out, "all clients, weighted, over all searches that there are: %s\n", text(*t.Exact))
	}
	return nil
}
