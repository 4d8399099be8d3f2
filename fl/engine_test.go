package fl

import (
	"cmp"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/fedfast/fedfast/data"
	"github.com/fedfast/fedfast/fl/hyper"
	"github.com/fedfast/fedfast/internal/test/fltest"
	"github.com/fedfast/fedfast/kernels"
	"github.com/fedfast/fedfast/nn"
	"github.com/fedfast/fedfast/nn/models"
)

// faulty is what happens in the local training of a method whose training panics for one
// client, and which remembers the keys of all local trainings.
type faulty struct {
	panicAt int // training examples of the client
	mu      sync.Mutex
	keys    map[uint64]bool
}

// method is averaging with such a local training.
func (f *faulty) method() Method {
	m := average()
	train := m.Local
	m.Local = func(l *Local) error {
		f.mu.Lock()
		if f.keys == nil {
			f.keys = map[uint64]bool{}
		}
		f.keys[l.key] = true
		f.mu.Unlock()
		if l.Train.Len() == f.panicAt {
			panic("out of luck")
		}
		return train(l)
	}
	return m
}

// TestPanicsInTasksAreErrors lets the longest task panic, the first in the
// order of summing, so that the others come early and wait for it.
func TestPanicsInTasksAreErrors(t *testing.T) {
	fed := fltest.OpenGlyphs(t, 12, 40)
	longest := 0
	for i := range fed.Clients {
		longest = max(longest, fed.Clients[i].Train.Len())
	}
	if len(fed.Clients) < 6 {
		t.Fatalf("%d clients are too few for early results", len(fed.Clients))
	}
	for _, workers := range []int{1, 4} {
		faults := &faulty{panicAt: longest}
		e := newEngine(t, Config{
			Model: fltest.SmallCNN(t, fed), Data: fed, Method: faults.method(),
			Cohort: len(fed.Clients), Seed: 1, Workers: workers,
		})
		tr := e.NewTrial(7)
		plan := Plan{Server: hyper.DefaultServer(), Clients: []ClientParams{hyper.DefaultClient()}}
		before := e.Model().SHA256(tr.Weights())
		if _, err := tr.Round(t.Context(), plan); err == nil || !strings.Contains(err.Error(),
			"trial 7, round 0: panic in a client task: out of luck") {
			t.Fatalf("%d workers: got error %v", workers, err)
		}
		if tr.Rounds() != 0 || e.Model().SHA256(tr.Weights()) != before {
			t.Errorf("%d workers: the failed round changed the trial", workers)
		}
		// The pool is whole again: the same round without the panic is the same as on
		// a fresh trial.
		faults.panicAt = -1
		runRounds(t, tr, plan, 2)
		fresh := e.NewTrial(7)
		runRounds(t, fresh, plan, 2)
		if a, b := e.Model().SHA256(tr.Weights()), e.Model().SHA256(fresh.Weights()); a != b {
			t.Errorf("%d workers: after a panic the trial ends at %s, a fresh one at %s", workers, a, b)
		}
	}
}

// TestFailedRoundsReturnTheirSums has rounds fail in local training and in aggregation: no
// buffer of the pool is lost.
func TestFailedRoundsReturnTheirSums(t *testing.T) {
	fed := fltest.OpenGlyphs(t, 12, 40)
	var fails atomic.Bool
	if err := RegisterAggregator(Aggregator{Name: "unlucky", Doc: "the first update, or none", Combine: func(h *Held) {
		h.Each(func(lo, hi int) {
			if fails.Load() {
				panic("no luck here")
			}
			copy(h.Out[lo:hi], h.Updates[0][lo:hi])
		})
	}}); err != nil {
		t.Fatal(err)
	}
	plan := Plan{Server: hyper.DefaultServer(), Clients: []ClientParams{hyper.DefaultClient()}}
	for _, name := range []string{"", "unlucky"} {
		faults := &faulty{panicAt: -1}
		e := newEngine(t, Config{
			Model: fltest.SmallCNN(t, fed), Data: fed, Method: faults.method(), Cohort: len(fed.Clients), Seed: 1, Workers: 1,
			Aggregation: aggregation(func(a *Aggregation) { a.Name = cmp.Or(name, a.Name) }),
		})
		tr := e.NewTrial(0)
		runRounds(t, tr, plan, 1)
		have := len(e.pool.sums)
		if fails.Store(name != ""); name == "" {
			faults.panicAt = fed.Clients[3].Train.Len()
		}
		for range 3 {
			if _, err := tr.Round(t.Context(), plan); err == nil || !strings.Contains(err.Error(), "luck") {
				t.Fatalf("%q: got error %v", name, err)
			}
		}
		if left := len(e.pool.sums); have == 0 || left != have {
			t.Errorf("%q: %d sums are in the pool after failed rounds, %d before", name, left, have)
		}
		fails.Store(false)
	}
}

// TestKeysOfEvaluationAreItsOwn compares the keys of the local trainings of a test
// with those of what trials draw.
func TestKeysOfEvaluationAreItsOwn(t *testing.T) {
	fed := fltest.OpenGlyphs(t, 12, 40)
	faults := &faulty{}
	e := newEngine(t, Config{Model: fltest.SmallCNN(t, fed), Data: fed, Method: faults.method(), Cohort: 2, Seed: 1})
	if _, err := e.Evaluate(t.Context(), e.NewTrial(0).Weights(),
		EvalConfig{Clients: []ClientParams{hyper.DefaultClient()}}); err != nil {
		t.Fatal(err)
	}
	if len(faults.keys) != len(fed.Clients) {
		t.Errorf("%d different keys for %d clients", len(faults.keys), len(fed.Clients))
	}
	for number := range uint64(100) {
		if faults.keys[kernels.Key(1, number, purposeInit)] {
			t.Errorf("a client is tested with the key of the initial weights of trial %d", number)
		}
	}
}

func TestEvaluateChecksItsHyperparameters(t *testing.T) {
	fed := fltest.OpenGlyphs(t, 12, 40)
	e := newEngine(t, Config{Method: average(), Model: fltest.SmallCNN(t, fed), Data: fed, Cohort: 2, Seed: 1})
	c := hyper.DefaultClient()
	proximal, negative := c, c
	proximal.Mu, negative.LR = 0.1, -1
	for want, clients := range map[string][]ClientParams{
		"2 client configurations":                           {c, c},
		"0 client configurations":                           {},
		"client.lr = -1":                                    {negative},
		`client.mu = 0.1: method "average" does not use it`: {proximal},
	} {
		if _, err := e.Evaluate(t.Context(), e.NewTrial(0).Weights(), EvalConfig{Clients: clients}); err == nil ||
			!strings.Contains(err.Error(), want) {
			t.Errorf("got error %v, want one with %q", err, want)
		}
	}
}

func TestModelsThatDoNotFitTheData(t *testing.T) {
	compose := func(in nn.Shape, classes int, layers ...models.LayerSpec) *nn.Model {
		m, err := models.FromLayers(layers, in, classes)
		if err != nil {
			t.Fatal(err)
		}
		return m
	}
	text := func(seq, vocab, classes int, output string) *nn.Model {
		return compose(nn.Shape{Seq: seq, Vocab: vocab}, classes,
			models.LayerSpec{Type: "embedding", Size: 4}, models.LayerSpec{Type: "lstm", Hidden: 16, Output: output},
			models.LayerSpec{Type: "dense"})
	}
	images := data.Federation{Name: "images", Kind: data.Image, H: 4, W: 4, C: 1, Classes: 3}
	tokens := data.Federation{Name: "tokens", Kind: data.Tokens, SeqLen: 5, Vocab: 9, Classes: 9}
	steps := tokens
	steps.Name, steps.EveryStep = "steps", true
	dense := models.LayerSpec{Type: "dense"}
	for _, tt := range []struct {
		model *nn.Model
		data  *data.Federation
		want  string // empty: it fits
	}{
		{compose(nn.Shape{H: 1, W: 1, C: 16}, 3, dense), &images, ""},
		{
			compose(nn.Shape{H: 1, W: 1, C: 17}, 3, dense), &images,
			"the number of inputs is 17 in the model and 16 in the data",
		},
		{
			compose(nn.Shape{H: 1, W: 1, C: 16}, 2, dense), &images,
			"the number of classes is 2 in the model and 3 in the data",
		},
		{text(5, 9, 9, "last"), &images, "reads token sequences, data images holds none"},
		{text(5, 9, 9, "last"), &tokens, ""},
		{text(6, 9, 9, "last"), &tokens, "the sequence length is 6 in the model and 5 in the data"},
		{text(5, 8, 9, "last"), &tokens, "the vocabulary is 8 in the model and 9 in the data"},
		{text(5, 9, 9, "every"), &tokens, "predicts at each of 5 steps, data tokens has one label per sample"},
		{text(5, 9, 9, "every"), &steps, ""},
		{text(5, 9, 9, "last"), &steps, "predicts once per sample, data steps has a label at every step"},
		{compose(nn.Shape{H: 1, W: 1, C: 16}, 9, dense), &tokens, "the sequence length is 0 in the model and 5 in the data"},
	} {
		err := checkFit(tt.model, tt.data)
		if tt.want == "" && err != nil || tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want)) {
			t.Errorf("got error %v, want %q", err, tt.want)
		}
	}
}
