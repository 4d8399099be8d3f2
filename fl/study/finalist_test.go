package study

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/fedfast/fedfast/fl/study/config"
	"github.com/fedfast/fedfast/fl/study/internal/trial"
	"github.com/fedfast/fedfast/fl/study/result"
	"github.com/fedfast/fedfast/tuners"
)

// finalStudy is a study of five trials, one of which survives.
func finalStudy(t *testing.T, change func(*config.Config)) Setup {
	t.Helper()
	s := glyphStudy(t, &script{params: learningRates(1e-4, 0.3, 1e-3, 0.05, 0.02), rung: 3, to: 6})
	s.Config.Budget.TrialRounds = 6
	s.ClientTuner = &slotTuner{}
	s.Config.Finalists = config.Finalists{Survivors: 3, Snapshots: 3}
	if change != nil {
		change(&s.Config)
	}
	return s
}

// lowest returns the lowest score of each trial, the lowest first.
func lowest(events []Event) []Event {
	best := map[int]Event{}
	for _, e := range events {
		if b, ok := best[e.Trial]; e.Event == "round" && (!ok || *e.Score < *b.Score) {
			best[e.Trial] = e
		}
	}
	var all []Event
	for trial := range len(best) {
		all = append(all, best[trial])
	}
	slices.SortStableFunc(all, func(a, b Event) int {
		if *a.Score < *b.Score {
			return -1
		}
		return 1
	})
	return all
}

// TestFinalists: the survivor and the best snapshots of different trials are scored
// on all clients, just as their evaluation measures them, and the best is returned.
func TestFinalists(t *testing.T) {
	for _, target := range []string{tuners.TargetPersonalized, tuners.TargetGlobal} {
		s := finalStudy(t, func(c *config.Config) { c.Target = target })
		rec := &recorder{}
		s.Observer = rec
		r, err := Tune(t.Context(), s)
		if err != nil {
			t.Fatal(err)
		}
		var others []Event // the last scores of those that were stopped at the rung
		for _, e := range rec.events {
			if e.Event == "rung" && e.Trial != r.Survivor.Number {
				others = append(others, e)
			}
		}
		slices.SortStableFunc(others, func(a, b Event) int {
			return cmp.Or(cmp.Compare(*a.Score, *b.Score), cmp.Compare(a.Trial, b.Trial))
		})
		want := []moment{{r.Survivor.Number, 6}, {others[0].Trial, 3}, {others[1].Trial, 3}}
		for _, e := range lowest(rec.events)[:3] {
			if at := (moment{e.Trial, e.Round}); !slices.Contains(want, at) {
				want = append(want, at)
			}
		}
		var got []moment
		best := r.Finalists[0]
		for _, f := range r.Finalists {
			got = append(got, moment{f.Trial, f.Round})
			if f.Score < best.Score {
				best = f
			}
			if f.Survivor != (len(got) <= 3) {
				t.Errorf("%s: finalist %d is a survivor: %v", target, len(got), f.Survivor)
			}
			if f.Clients != len(s.Data.Clients) || f.Examples != 24 {
				t.Errorf("%s: scored on %d examples of %d clients", target, f.Examples, f.Clients)
			}
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s: the finalists are %v, want %v", target, got, want)
		}
		if r.Best.Number != best.Trial || r.Best.Round != best.Round || r.Best.Score != best.Score ||
			r.Best.CohortScore != best.CohortScore {
			t.Errorf("%s: returned %+v, want %+v", target, r.Best, best)
		}
		for name, m := range map[string]*result.Chosen{"best": &r.Best, "survivor": r.Survivor, "luckiest": r.Luckiest} {
			measured := m.PersonalizedVal
			if target == tuners.TargetGlobal {
				measured = m.GlobalVal
			}
			if m.Score != *measured {
				t.Errorf("%s: the %s scores %v and is measured to have %v", target, name, m.Score, *measured)
			}
		}
		if e := rec.events[len(rec.events)-1]; e.Event != "finalist" || *e.Score != r.Finalists[len(r.Finalists)-1].Score {
			t.Errorf("%s: the last event is %+v", target, e)
		}
		paper := finalStudy(t, func(c *config.Config) { c.Target, c.Select = target, config.SelectPaper })
		p, err := Tune(t.Context(), paper)
		if err != nil {
			t.Fatal(err)
		}
		if p.WeightsSHA256 != r.Luckiest.SHA256 || p.SurvivorSHA256 != r.SurvivorSHA256 ||
			p.Best.Score != r.Luckiest.CohortScore || p.Rounds != r.Rounds {
			t.Errorf("%s: the paper's choice is %+v, the luckiest %+v", target, p.Best, r.Luckiest)
		}
	}
}

// TestFinalistsAreNoisy: the noise of a study's scores and the bound on clients
// hold for its finalists, too.
func TestFinalistsAreNoisy(t *testing.T) {
	scores := func(change func(*config.Config)) []float64 {
		s := finalStudy(t, change)
		r, err := Tune(t.Context(), s)
		if err != nil {
			t.Fatal(err)
		}
		want := len(s.Data.Clients)
		for _, n := range []int{s.Config.Score.Clients, s.Config.Finalists.Clients} {
			if n > 0 {
				want = min(want, n)
			}
		}
		var all []float64
		for _, f := range r.Finalists {
			if f.Clients != want {
				t.Errorf("%d clients, want %d", f.Clients, want)
			}
			all = append(all, f.Score)
		}
		return all
	}
	seen := map[string]bool{}
	for _, change := range []func(*config.Config){
		func(*config.Config) {},
		func(c *config.Config) { c.Finalists.Clients = 4 },
		func(c *config.Config) { c.Score.Clients = 2 },
		func(c *config.Config) { c.Score.Uniform, c.Score.Epsilon = true, 5 },
	} {
		a := scores(change)
		if b := scores(change); !slices.Equal(a, b) {
			t.Errorf("scored %v, then %v", a, b)
		}
		if text := fmt.Sprint(a); seen[text] {
			t.Errorf("scores %v again", a)
		} else {
			seen[text] = true
		}
	}
}

// TestFinalistsResume breaks a study off after each of its last events: scores that
// are recorded are not taken again, and the end is the same.
func TestFinalistsResume(t *testing.T) {
	whole := finalStudy(t, nil)
	rec := &recorder{}
	whole.Observer = rec
	want, err := Tune(t.Context(), whole)
	if err != nil {
		t.Fatal(err)
	}
	strip(want)
	total := len(rec.events)
	dir := filepath.Join(t.TempDir(), "study")
	work := func(stopAfter int) (*result.Result, *eventLog, int64, error) {
		s := finalStudy(t, nil)
		ctx, stop := context.WithCancel(t.Context())
		defer stop()
		tasks, events := &counting{}, &eventLog{stop: stop, after: stopAfter}
		s.method, s.Observer, s.Store, s.SnapshotEvery = tasks.method(t), events, openStore(t, dir), time.Nanosecond
		defer func() { _ = s.Store.Close() }()
		r, err := Tune(ctx, s)
		return r, events, tasks.tasks.Load(), err
	}
	n := len(want.Finalists)
	if n < 3 {
		t.Fatalf("%d finalists", n)
	}
	for i := total - n; i < total; i++ {
		_, events, tasks, err := work(i)
		if !errors.Is(err, context.Canceled) {
			t.Fatalf("after %d events: %v", i, err)
		}
		if i > total-n && tasks > int64(2*len(whole.Data.Clients)) {
			t.Errorf("after %d of %d events: %d client tasks: finalists are scored again", events.events, total, tasks)
		}
	}
	for range 2 { // to its end, and from its end
		got, events, _, err := work(0)
		if err != nil {
			t.Fatal(err)
		}
		if events.events != total {
			t.Errorf("%d events, want %d", events.events, total)
		}
		for _, m := range got.Models() {
			if m.Weights == nil {
				t.Errorf("trial %d has no weights", m.Number)
			}
		}
		if strip(got); !reflect.DeepEqual(got, want) {
			t.Errorf("resumed:\n%+v\nwhole:\n%+v", got, want)
		}
	}
}

// TestSurvivors: the tuner's choice comes first, then the others by their rounds and their last
// scores, also those that were stopped, of which as many as may be finalists keep their weights.
func TestSurvivors(t *testing.T) {
	s := glyphStudy(t, &script{})
	s.Config.Finalists.Survivors, s.Config.Budget = 3, config.Budget{Rounds: 54, TrialRounds: 9}
	d, err := newDriver(t.Context(), &s)
	if err != nil {
		t.Fatal(err)
	}
	defer d.close()
	for number, score := range []float64{0.5, 0.3, 0.1, 0.2, 0.3, 0.4} {
		at, err := d.open(t.Context(), trial.Spec{Number: number})
		if err != nil {
			t.Fatal(err)
		}
		rounds := 9
		if number == 3 {
			rounds = 5
		}
		if err := at.segment(t.Context(), rounds, func(int) {}, func(Event) {}); err != nil {
			t.Fatal(err)
		}
		at.rungs = []result.Rung{{Round: rounds, Score: score}}
	}
	for _, number := range []int{3, 0, 2} { // 3 rests after fewer rounds
		if err := d.stop(d.trials[number]); err != nil {
			t.Fatal(err)
		}
	}
	d.setup.Config.Finalists.Survivors = 2
	err = d.stop(d.trials[5])
	var spared []int
	for _, at := range d.trials {
		if at.Spared {
			spared = append(spared, at.Number)
		}
	}
	if err != nil || !slices.Equal(spared, []int{2, 5}) {
		t.Errorf("trials %v are spared, want 2 and 5; %v", spared, err)
	}
	d.setup.Config.Finalists.Survivors = 3
	for choice, want := range map[int][]int{5: {5, 2, 1}, -1: {2, 1, 4}, 3: {3, 2, 1}} {
		var chosen *entrant
		if choice >= 0 {
			chosen = d.trials[choice]
		}
		var got []int
		for _, t := range survivorsOf(d.trials, chosen, d.objective, d.setup.Config.Finalists.Survivors) {
			got = append(got, t.Number)
		}
		if !slices.Equal(got, want) {
			t.Errorf("choice %d: survivors %v, want %v", choice, got, want)
		}
	}
}
