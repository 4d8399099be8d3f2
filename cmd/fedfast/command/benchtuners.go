package command

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/fedfast/fedfast/cmd/fedfast/internal/recorded"
	"github.com/fedfast/fedfast/cmd/fedfast/internal/ui/table"
	"github.com/fedfast/fedfast/fl/study/workdir"
	"github.com/fedfast/fedfast/internal/list"
	"github.com/fedfast/fedfast/internal/stats"
	"github.com/fedfast/fedfast/internal/sys/oneline"
	"github.com/fedfast/fedfast/internal/sys/wholefile"
	"github.com/fedfast/fedfast/plugins"
	"github.com/fedfast/fedfast/tuners"
	"github.com/fedfast/fedfast/tuners/host"
)

// tunersSuite is the suite that plays tuners on recorded tables. It measures no machine, so
// that it is not part of package bench.
var tunersSuite = [2]string{"tuners", "tuners on the recorded tables of --tables: regret, ranks and wins over seeds; only when named"}

// tunersSeeds is the default number of seeds.
const tunersSeeds = 100

// validateTuners checks the flags of the suite tuners.
func (o *benchOptions) validateTuners() error {
	named := slices.Contains(o.config.Suites, tunersSuite[0])
	switch {
	case !named && (o.tables != "" || o.known != "" || len(o.tuners) > 0 || len(o.sets) > 0):
		return errors.New("--tables, --tuner, --known and --set require --suite tuners")
	case named && len(o.config.Suites) > 1:
		return errors.New("--suite tuners: cannot be combined with other suites")
	case named && o.tables == "":
		return errors.New("--suite tuners: requires --tables DIR, a directory of tables that fedfast table record wrote")
	case named && (o.report != "" || o.markdown != "" || o.profile != "" || o.against != ""):
		return errors.New("--suite tuners: cannot be combined with --report, --markdown, --profile or --against; use --json or --plot")
	}
	return nil
}

// runTuners plays tuners on tables.
func (o *benchOptions) runTuners(ctx context.Context, a *app) error {
	c := recorded.Contest{Seeds: o.seeds, Sets: o.sets, Workers: a.workers, Tell: func(line string) { _ = table.Text(a.err, line) }}
	c.Seeds = cmp.Or(c.Seeds, tunersSeeds)
	c.Workers = cmp.Or(c.Workers, runtime.GOMAXPROCS(0))
	literally := strings.NewReplacer("[", `\[`, "*", `\*`, "?", `\?`).Replace(o.tables)
	paths, err := filepath.Glob(filepath.Join(literally, "*"+recorded.Suffix))
	if err != nil || len(paths) == 0 {
		return usageError{fmt.Errorf("--tables %s: no table (*%s) in this directory", o.tables, recorded.Suffix)}
	}
	for _, path := range paths {
		t, err := recorded.Open(path)
		if err != nil {
			return usageError{err}
		}
		c.Tables = append(c.Tables, recorded.Named[*recorded.Table]{Name: strings.TrimSuffix(filepath.Base(path), recorded.Suffix), It: t})
	}
	if o.known != "" {
		if c.Known, err = readStandings(o.known); err != nil {
			return usageError{err}
		}
	}
	stop, err := o.entrants(ctx, a, &c)
	defer stop()
	if err != nil {
		return err
	}
	s, err := c.Play(ctx)
	if err != nil {
		return err
	}
	if err := o.plot.write(s.Figure); err != nil {
		return err
	}
	if a.json {
		return a.printJSON(s)
	}
	return a.printStandings(s)
}

// readStandings reads what this suite printed with --json.
func readStandings(path string) (*recorded.Standings, error) {
	text, err := wholefile.Read(path)
	if err != nil {
		return nil, err
	}
	s := &recorded.Standings{}
	if err := json.Unmarshal(text, s); err != nil || len(s.Tables) == 0 {
		return nil, fmt.Errorf("--known %s: not the --json of `fedfast bench --suite tuners`", path)
	}
	return s, nil
}

// entrants adds the tuners: built-in ones in this process, others each in one of its own until
// stop is called.
func (o *benchOptions) entrants(ctx context.Context, a *app, c *recorded.Contest) (stop func(), err error) {
	var launched []workdir.Tuner
	stop = func() {
		for _, t := range launched {
			t.Close()
		}
	}
	names, builtin := o.tuners, plugins.Builtin()
	for i, name := range names {
		if slices.Contains(names[:i], name) {
			return stop, usageError{fmt.Errorf("--tuner: %s is listed twice", name)}
		}
	}
	paths, err := a.paths()
	if err != nil {
		return stop, err
	}
	if len(names) == 0 {
		if names, err = playable(ctx, builtin); err != nil {
			return stop, err
		}
	}
	for _, name := range names {
		ref, err := host.Find(name, paths)
		if err == nil && ref.Builtin {
			c.Tuners = append(c.Tuners, recorded.Named[tuners.Tuner]{Name: name, It: host.Local(builtin[name])})
			continue
		}
		t, err := a.launcher(false)(ctx, workdir.Launch{Key: "--tuner", Name: name})
		if err != nil {
			return stop, err
		}
		launched = append(launched, t)
		c.Tuners = append(c.Tuners, recorded.Named[tuners.Tuner]{Name: name, It: t})
	}
	return stop, nil
}

// playable returns the names of the built-in tuners that a table can replay, in order.
func playable(ctx context.Context, builtin map[string]tuners.Tuner) ([]string, error) {
	var names []string
	for name, t := range builtin {
		d, err := t.Describe(ctx)
		if err != nil {
			return nil, err
		}
		if d.Trials && !d.Rounds && !d.Fork && name != "grid" { // a grid of any space has too many points
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names, nil
}

// pText writes a p.
func pText(p float64) string {
	switch {
	case math.IsNaN(p):
		return "-"
	case p < 0.001:
		return "< 0.001"
	}
	return fmt.Sprintf("%.3f", p)
}

// regretText writes a regret, a dash where the budget was too small.
func regretText(of stats.Sample) string {
	if math.IsNaN(of.Mean) {
		return "-"
	}
	return fmt.Sprintf("%.0f +- %.0f", of.Mean, of.Half)
}

// printStandings prints the ranks and regrets over all tables, then the regrets on each.
func (a *app) printStandings(s *recorded.Standings) error {
	regrets := func(first string) *table.Table {
		head := append([]string{first}, list.Of(s.Cells[0].Regrets, func(r recorded.Regret) string {
			return oneline.Count(r.Trainings, "training")
		})...)
		if first == "tuner" {
			head = append(head, "mean rank", "wins", "p")
		}
		return table.New(a.out, head...)
	}
	t := regrets("tuner")
	for i, r := range s.Ranks {
		row := append([]string{r.Tuner}, list.Of(r.Regrets, regretText)...)
		p := ""
		if i > 0 { // the pairs of the first come first
			p = pText(s.Pairs[i-1].P)
		}
		t.Row(append(row, fmt.Sprintf("%.2f +- %.2f", r.Rank.Mean, r.Rank.Half), fmt.Sprintf("%.0f %%", 100*r.Wins), p)...)
	}
	if err := t.Flush(); err != nil {
		return err
	}
	if f := s.Friedman; len(s.Ranks) > 1 {
		fmt.Fprintf(a.out, "\nFriedman's test over %d blocks of table, seed and budget: p %s; critical difference of mean ranks (Nemenyi, 5 %%): %.2f\n", f.Blocks, pText(f.P), f.Critical)
	}
	for _, played := range s.Tables {
		fmt.Fprintln(a.out)
		t := regrets(fmt.Sprintf("%s, 100 = %.2f", played.Name, 100*(played.Median-played.Lowest)))
		for _, cell := range s.Cells {
			if cell.Table != played.Name {
				continue
			}
			t.Row(append([]string{cell.Tuner}, list.Of(cell.Regrets, func(r recorded.Regret) string {
				return regretText(stats.Of(r.Scaled))
			})...)...)
		}
		if err := t.Flush(); err != nil {
			return err
		}
	}
	fmt.Fprintf(a.out, "\nregret of the returned model: its validation error on all clients above the lowest of the "+
		"table, 100 for that of the\nmedian configuration (points of error, hundredths of an RMSE), by budget in whole "+
		"trainings, - where that is too\nsmall; means of %s with 90 %% intervals, over tables where there are several; p "+
		"of sign flips against the first, by Holm for all pairs\n", oneline.Count(s.Seeds, "seed"))
	for _, line := range s.LeftOut {
		fmt.Fprintln(a.out, "left out: "+line)
	}
	return nil
}
