package study

import (
	"context"
	"errors"
	"maps"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/fedfast/fedfast/fl"
	"github.com/fedfast/fedfast/fl/study/config"
	"github.com/fedfast/fedfast/fl/study/result"
	"github.com/fedfast/fedfast/internal/store"
	"github.com/fedfast/fedfast/plugins"
	"github.com/fedfast/fedfast/tuners"
)

// tableStudy is one trial of fedtune-hrt on a small table.
func tableStudy(t *testing.T) Setup {
	t.Helper()
	s := glyphStudy(t, plugins.Builtin()["fedtune-hrt"])
	s.Config.Space, s.Config.Tuner.Name = nil, "fedtune-hrt"
	s.Config.Data.Proxy, s.Config.Data.ProxyTest, s.Config.Data.Clients = 400, 100, 20
	s.Config.Client.Batch = 7 // what the study sets is no point of the table
	s.Config.Budget = config.Budget{Rounds: 3, TrialRounds: 3}
	s.Config.Tuner.Options = map[string]any{
		"hi": "0.2, 0.9", "samples": "10, 40", "lr_min": 0.05, "lr_max": 0.5, "lr_step": 0.05, "batches": "4,8",
		"epochs":  "1,2",
		"clients": int64(2), "rounds": int64(2), "init": int64(2), "proposals": int64(2),
	}
	fed, model, err := config.Prepare(t.Context(), &s.Config)
	if err != nil {
		t.Fatal(err)
	}
	s.Data, s.Model = fed, model
	return s
}

// sideStopper ends a study after a number of trials on proxy federations.
type sideStopper struct {
	silent
	mu    sync.Mutex
	sides int
	after int
	stop  context.CancelFunc
}

func (o *sideStopper) Progress(p Progress) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if !p.Preparing {
		return
	}
	if o.sides++; o.sides == o.after {
		o.stop()
	}
}

// strip takes out of a result what differs from run to run, and weights, which
// have their checksums.
func strip(r *result.Result) *result.Result {
	r.Seconds, r.RoundsPerSecond = 0, 0
	for _, m := range r.Models() {
		m.Weights = nil
	}
	return r
}

func TestPreparationFillsTheTable(t *testing.T) {
	var results []*result.Result
	for _, workers := range []int{1, 3} {
		s := tableStudy(t)
		s.Workers = workers
		r, err := Tune(t.Context(), s)
		if err != nil {
			t.Fatal(err)
		}
		results = append(results, strip(r))
	}
	r := results[0]
	if !reflect.DeepEqual(r, results[1]) {
		t.Error("1 and 3 workers give different results")
	}
	if len(r.Sides) != 4*4 || r.Rounds != 3 || len(r.Trials) != 1 {
		t.Fatalf("%d trials on proxy federations, %d rounds of %d trials", len(r.Sides), r.Rounds, len(r.Trials))
	}
	differ := false
	for _, side := range r.Sides {
		if side.Score == nil || *side.Score < 0 || *side.Score > 1 || side.Rounds != 2 {
			t.Errorf("side trial %+v", side)
		}
		differ = differ || *side.Score != *r.Sides[0].Score
	}
	if !differ {
		t.Error("all side trials have one score")
	}
}

// mixedStudy fills its table on one proxy federation with a client of each cell.
func mixedStudy(t *testing.T) Setup {
	s := tableStudy(t)
	s.Config.Tuner.Options["mixed"], s.Config.Tuner.Options["choices"] = true, int64(2)
	return s
}

// TestPreparationOnAMixedFederation looks at what the clients of the proxy federation train
// with, too: each with its own cell.
func TestPreparationOnAMixedFederation(t *testing.T) {
	type with struct {
		samples           int
		lr, epochs, batch float64
	}
	var mu sync.Mutex
	seen, want := map[with]bool{}, map[with]bool{}
	run := func(workers int) *result.Result {
		s := mixedStudy(t)
		s.Workers = workers
		m := mustMethod(t, s.Config.Method)
		train := m.Local
		m.Local = func(l *fl.Local) error {
			if l.Val.Len() == 0 {
				mu.Lock()
				seen[with{l.Train.Len(), l.Params.LR, l.Params.Epochs, float64(l.Params.Batch)}] = true
				mu.Unlock()
			}
			return train(l)
		}
		s.method = &m
		r, err := Tune(t.Context(), s)
		if err != nil {
			t.Fatal(err)
		}
		return strip(r)
	}
	r := run(1)
	if !reflect.DeepEqual(r, run(3)) {
		t.Error("1 and 3 workers give different results")
	}
	if len(r.Sides) != 4+4*2 {
		t.Fatalf("%d trials on the mixed proxy federation", len(r.Sides))
	}
	scores := map[float64]bool{}
	for i, side := range r.Sides {
		if side.Score == nil || len(side.Table) != 4 || len(side.Params) != 0 || side.Environment.Clients != 4 {
			t.Fatalf("side trial %d: %+v", i, side)
		}
		scores[*side.Score] = true
		for cell, samples := range []int{0, 50, 10, 40} { // at heterogeneity 0.2 clients hold a sample of each of 50 classes, and are nearest to the second row
			if p := side.Table[cell].Params; samples > 0 {
				want[with{samples, p.Float("client.lr", 0), p.Float("client.epochs", 0), p.Float("client.batch", 0)}] = true
			}
		}
	}
	if len(scores) < 4 || len(want) < 3*3 || !maps.Equal(seen, want) {
		t.Errorf("scores %v; clients trained with %v, the tables have %v", scores, seen, want)
	}
	table := result.BestProxies(r.Sides, tuners.Objective{})
	if !slices.Equal(table.Samples, []int{10, 40}) || !slices.Equal(table.HIs, []float64{0.2, 0.9}) {
		t.Errorf("the table has rows %v and columns %v", table.Samples, table.HIs)
	}
}

// TestClientsTrainWithTheTable looks at what clients trained with.
func TestClientsTrainWithTheTable(t *testing.T) {
	s := tableStudy(t)
	seen := &watched{}
	s.method = seen.method(t, s.Config.Method)
	r, err := Tune(t.Context(), s)
	if err != nil {
		t.Fatal(err)
	}
	best := map[tuners.Environment]result.ProxyTrial{}
	for _, side := range r.Sides {
		if b, ok := best[side.Environment]; !ok || *side.Score < *b.Score {
			best[side.Environment] = side
		}
	}
	allowed := map[[3]float64]bool{}
	for _, b := range best {
		allowed[[3]float64{b.Params.Float("client.lr", 0), b.Params.Float("client.epochs", 0), b.Params.Float("client.batch", 0)}] = true
	}
	seen.mu.Lock()
	defer seen.mu.Unlock()
	if len(seen.params) == 0 {
		t.Fatal("no client trained")
	}
	for _, p := range seen.params {
		if !allowed[[3]float64{p.LR, p.Epochs, float64(p.Batch)}] {
			t.Errorf("a client trained with lr %v, epochs %v, batch %v, which is in no cell", p.LR, p.Epochs, p.Batch)
		}
	}
}

// watched remembers what the clients of the study itself trained with: those of
// proxy federations have no validation examples.
type watched struct {
	mu     sync.Mutex
	params []fl.ClientParams
}

// method is the method of that name, watched.
func (w *watched) method(t *testing.T, name string) *fl.Method {
	t.Helper()
	m := mustMethod(t, name)
	train := m.Local
	m.Local = func(l *fl.Local) error {
		if l.Val.Len() > 0 {
			w.mu.Lock()
			w.params = append(w.params, l.Params)
			w.mu.Unlock()
		}
		return train(l)
	}
	return &m
}

func mustMethod(t *testing.T, name string) fl.Method {
	t.Helper()
	m, err := fl.MethodByName(name)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func TestAnInterruptedPreparationIsResumed(t *testing.T) {
	t.Run("a cell each", func(t *testing.T) { resumesPreparation(t, tableStudy, 16-2-4) }) // two cells were finished before
	t.Run("mixed", func(t *testing.T) { resumesPreparation(t, mixedStudy, 12-2-4) })
}

// resumesPreparation stops a study after three and after five further trials on proxy
// federations, and has the last process run at most a number of them.
func resumesPreparation(t *testing.T, setup func(*testing.T) Setup, most int) {
	r, err := Tune(t.Context(), setup(t))
	if err != nil {
		t.Fatal(err)
	}
	want := strip(r)
	dir := filepath.Join(t.TempDir(), "study")
	work := func(after int) (*result.Result, int, error) {
		st, err := store.Open(t.Context(), dir)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = st.Close() }()
		ctx, stop := context.WithCancel(t.Context())
		defer stop()
		s, o := setup(t), &sideStopper{after: after, stop: stop}
		s.Store, s.Observer = st, o
		r, err := Tune(ctx, s)
		return r, o.sides, err
	}
	for _, after := range []int{3, 5} {
		if _, _, err := work(after); !errors.Is(err, context.Canceled) {
			t.Fatalf("after %d trials: %v", after, err)
		}
	}
	r, sides, err := work(0)
	if err != nil {
		t.Fatal(err)
	}
	if sides > most {
		t.Errorf("the last process ran %d of %d side trials, want at most %d", sides, len(r.Sides), most)
	}
	if strip(r); !reflect.DeepEqual(r, want) {
		t.Errorf("interrupted and resumed: %+v, want %+v", r, want)
	}
}

func TestPreparationNeedsProxySamples(t *testing.T) {
	s := tableStudy(t)
	s.Config.Data.Proxy = 0
	var err error
	if s.Data, s.Model, err = config.Prepare(t.Context(), &s.Config); err != nil {
		t.Fatal(err)
	}
	if _, err := Tune(t.Context(), s); err == nil || !strings.Contains(err.Error(),
		"client tuner fedtune-hrt prepares: a proxy federation needs data.proxy samples") {
		t.Errorf("got %v", err)
	}
}
