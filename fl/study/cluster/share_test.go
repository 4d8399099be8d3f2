package cluster

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/fedfast/fedfast/fl/study"
	"github.com/fedfast/fedfast/fl/study/cluster/internal/wire"
	"github.com/fedfast/fedfast/fl/study/view"
	"github.com/fedfast/fedfast/internal/store"
)

// largeCohorts is a study whose rounds can be cut into three parts.
func largeCohorts(t *testing.T, sets ...string) study.Setup {
	t.Helper()
	return tinyStudy(t, over([]string{
		"cohort=40", "sampling=with", "client_tuner.name=", "client.epochs=1", "budget.rounds=40", "eval.every=3",
	}, sets)...)
}

// TestClusterSharesRounds runs studies whose rounds workers train together, of which
// one is asked to leave and one is lost on the way: everything is as in one process,
// and the record names who shared the rounds.
func TestClusterSharesRounds(t *testing.T) {
	for name, sets := range map[string][]string{
		"finalists":  {"select=finalists", "finalists.snapshots=2"},
		"asha":       {"tuner.name=asha", "tuner.parallel=3"},
		"sub models": {"method=heterofl", "target=global", "client.widths=[0.5, 1]"},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRun(t, func() study.Setup { return largeCohorts(t, sets...) })
			r.options.Rounds = RoundsAlways
			leave, ask := context.WithCancel(t.Context())
			defer ask()
			r.after = func(round int) {
				r.await(3)
				switch round {
				case 4:
					ask()
				case 6:
					r.until(" left; ", 1)
					lost := false
					r.loses(func(s *workerHandle) bool {
						first := !lost && !s.leaving
						lost = lost || first
						return first
					})
				}
			}
			workers := []chan error{r.worker(t.Context(), nil), r.worker(t.Context(), nil), r.worker(leave, nil)}
			r.sameAsAlone(t, workers...)
			if r.told(" parts of rounds") < 2 || r.told(" left; ") != 1 || r.told(" lost") != 1 {
				t.Errorf("notices %q", r.notices)
			}
			if n := sharers(t, r.dir); n < 2 {
				t.Errorf("the record has %d workers share a round", n)
			}
		})
	}
}

// sharers returns how many workers have trained a round together, at most.
func sharers(t *testing.T, dir string) int {
	t.Helper()
	v, err := store.Look(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = v.Close() }()
	table, err := v.Table(t.Context(), "worker_rounds")
	if err != nil {
		t.Fatal(err)
	}
	count, most := map[[2]any]int{}, 0
	for _, row := range table.Rows {
		key := [2]any{row[0], row[1]}
		count[key]++
		most = max(most, count[key])
	}
	sameStretches(t, dir, table)
	return most
}

// sameStretches compares what people see of the workers, stretches of rounds, with the
// table of all rounds: the same workers trained the same ones.
func sameStretches(t *testing.T, dir string, table *store.Table) {
	t.Helper()
	v, err := view.Look(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = v.Close() }()
	o, err := v.Overview(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	curves, err := v.Curves(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	workers, stretches, err := v.Workers(t.Context(), o, curves)
	if err != nil {
		t.Fatal(err)
	}
	var want, got []string
	for _, row := range table.Rows {
		want = append(want, fmt.Sprintf("trial %v round %v: %v", row[0], row[1], row[slices.Index(table.Columns, "worker")]))
	}
	rounds := map[string]int{}
	for _, x := range stretches {
		if x.From.After(x.To) || x.From.Before(o.Started) {
			t.Errorf("a stretch from %v to %v: %+v", x.From, x.To, x)
		}
		for round := x.First; round <= x.Last; round++ {
			if x.Worker != "" {
				got = append(got, fmt.Sprintf("trial %d round %d: %s", x.Trial, round, x.Worker))
			}
			rounds[x.Worker]++
		}
	}
	slices.Sort(want)
	slices.Sort(got)
	if !slices.Equal(got, want) {
		t.Errorf("stretches of\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	if len(workers) < 2 {
		t.Errorf("%d workers are listed", len(workers))
	}
	for _, w := range workers {
		if w.Rounds != rounds[w.Worker] || w.Host == "" || w.Joined.Before(o.Started) || (w.Rounds > 0) != (w.Trials > 0) {
			t.Errorf("a worker is told as %+v, of %d rounds", w, rounds[w.Worker])
		}
	}
}

// TestClusterSharesOneTraining trains a run, whole or in parts, by a coordinator that
// is interrupted and another one that goes on.
func TestClusterSharesOneTraining(t *testing.T) {
	for _, rounds := range []Rounds{RoundsAlways, RoundsNever} {
		t.Run(string(rounds), func(t *testing.T) {
			setup := func() study.Setup {
				s := largeCohorts(t, "rounds=9")
				s.Config.Space, s.Tuner, s.Unscored = nil, nil, true
				return s
			}
			r := newRun(t, setup)
			r.options.Rounds, r.plain = rounds, true
			ctx, stop := context.WithCancel(t.Context())
			defer stop()
			r.after = func(round int) {
				r.await(2)
				if round == 4 {
					stop()
				}
			}
			workers := []chan error{r.worker(t.Context(), nil), r.worker(t.Context(), nil)}
			if _, err := r.tune(ctx); !errors.Is(err, context.Canceled) {
				t.Fatal(err)
			}
			r.after = nil
			got, err := r.tune(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			for _, w := range workers {
				if err := ends(t, w); err != nil {
					t.Error(err)
				}
			}
			s := setup()
			whole, err := study.Run(t.Context(), s)
			if err != nil {
				t.Fatal(err)
			}
			if want := ofRun(whole); got != want {
				t.Errorf("shared\n%s\nin one process\n%s", got, want)
			}
			if shared := r.told(" parts of rounds") > 0; shared != (rounds == RoundsAlways) {
				t.Errorf("notices %q", r.notices)
			}
		})
	}
}

// TestClusterDecidesByTime holds when rounds are shared by themselves.
func TestClusterDecidesByTime(t *testing.T) {
	const trial = 3
	c := emptyCoordinator()
	for i := range 4 {
		s := newHandle(wire.Hello{}, "", "w", nil)
		s.pending = &wire.Request{State: wire.StateIdle}
		c.pool.handles[string(rune('a'+i))] = s
	}
	shares := func(what string, want bool) {
		t.Helper()
		if got := c.Shares(trial); got != want {
			t.Errorf("%s: shared %v", what, got)
		}
	}
	shares("before a round was measured", false)
	c.costs.tookWhole(trial, 1, 4*time.Second)
	c.costs.transfers = transferTimes{put: 0.05, get: 0.05}
	shares("by four idle workers of a round of 4 s", true)
	if n := c.Shards(trial, 1, 64); n != 4 {
		t.Errorf("cut into %d parts", n)
	}
	if n := c.Shards(trial+1, 1, 64); n != 0 {
		t.Errorf("a trial that is not shared is cut into %d parts", n)
	}
	c.costs.cohort = 100 // 7 groups, of which the last has 4 clients: pairs are as fast and fewer
	if n := c.Shards(trial, 1, 100); n != 4 {
		t.Errorf("100 clients are cut into %d parts for 4 workers", n)
	}
	c.costs.cohort = 64
	c.costs.transfers = transferTimes{put: 0.5, get: 0.7}
	shares("where the ways take longer", false)
	c.costs.transfers = transferTimes{}
	c.pool.placing = 1
	shares("while a trial waits for a worker", false)
	c.pool.placing = 0
	c.costs.of(trial).shared[4], c.costs.of(trial).tries[4] = 5, 1
	shares("where one shared round took longer", true)
	c.costs.of(trial).tries[4] = fair
	shares("where shared rounds took longer", false)
	c.costs.of(trial).shared[4] = 3
	shares("where they took less", true)
	for _, s := range c.pool.handles {
		s.lease, s.trial = 1, trial+1
	}
	shares("where all workers have trials", false)
	c.costs.whole, c.costs.mode = errors.New("a state"), RoundsAlways
	shares("of clients with states", false)
	c.costs.whole, c.costs.cohort, c.costs.mode = nil, 16, RoundsAuto
	c.pool.handles = map[string]*workerHandle{"a": c.pool.handles["a"], "b": c.pool.handles["b"]}
	for _, s := range c.pool.handles {
		s.lease = 0
	}
	shares("of a cohort of one group", false)
}

// TestClusterRefusesToShare refuses what cannot be cut before anything is trained.
func TestClusterRefusesToShare(t *testing.T) {
	r := newRun(t, func() study.Setup { return largeCohorts(t, "method=scaffold", "sampling=without", "cohort=3") })
	r.options.Rounds = RoundsAlways
	_, err := r.tune(t.Context())
	if err == nil || !strings.HasPrefix(err.Error(),
		`--cluster-rounds always: method "scaffold" keeps a state for each client`) || strings.Contains(err.Error(), "\n") {
		t.Errorf("it ends with %v", err)
	}
}
