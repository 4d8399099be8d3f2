package study

import (
	"context"
	"slices"
	"sync"
	"testing"

	"github.com/fedfast/fedfast/fl/study/config"
	"github.com/fedfast/fedfast/fl/study/internal/record"
	"github.com/fedfast/fedfast/fl/study/result"
	"github.com/fedfast/fedfast/internal/store"
	"github.com/fedfast/fedfast/plugins"
	"github.com/fedfast/fedfast/tuners"
)

// wideStudy is a study of FedEx alone over learning rates at one of which clients
// diverge.
func wideStudy(t *testing.T, client tuners.Tuner) Setup {
	t.Helper()
	fedex := plugins.Builtin()["fedex"]
	s := glyphStudy(t, fedex)
	s.ClientTuner = client
	s.Config.Nonfinite, s.Config.Cohort = config.NonfiniteDrop, 4
	s.Config.Budget = config.Budget{Rounds: 12, TrialRounds: 12}
	s.Config.Space = map[string]any{"client.lr": map[string]any{"choice": []any{0.05, 1e30}}}
	options := map[string]any{"configs": int64(6), "independent": true}
	s.Config.Tuner = config.Tuner{Name: "fedex", Options: options, Parallel: 1, Allow: s.Config.Tuner.Allow}
	s.Config.ClientTuner = config.ClientTuner{Name: "fedex", Options: options}
	return s
}

// told wraps a client tuner and keeps what its sessions are told, with their
// states before and after.
type told struct {
	tuners.Tuner
	rounds []toldRound
}

type toldRound struct {
	tuners.Observation
	before, after []byte
}

type toldSession struct {
	tuners.Session
	told *told
}

func (w *told) Open(ctx context.Context, r tuners.OpenRequest) (tuners.Session, error) {
	s, err := w.Tuner.Open(ctx, r)
	return &toldSession{s, w}, err
}

func (s *toldSession) Probes() []string {
	return s.Session.(tuners.Prober).Probes() //nolint:forcetypeassert // of FedEx
}

func (s *toldSession) ObserveRound(ctx context.Context, o tuners.Observation) error {
	before := slices.Clone(s.State())
	err := s.Session.ObserveRound(ctx, o)
	s.told.rounds = append(s.told.rounds, toldRound{o, before, slices.Clone(s.State())})
	return err
}

// TestDroppedSlotsReachTheTuner lets clients diverge under FedEx: the record
// describes which slots were dropped, FedEx is told so, its theta moves as if these
// clients had an error of 1, and a study that is interrupted ends in the same way.
func TestDroppedSlotsReachTheTuner(t *testing.T) {
	fedex := &told{Tuner: plugins.Builtin()["fedex"]}
	s := wideStudy(t, fedex)
	dir := t.TempDir()
	r := finish(t, s, dir)
	recorded := droppedSlots(t, dir)
	counts := map[int]int{}
	for i, o := range fedex.rounds {
		var dropped []int
		for k, slot := range o.Slots {
			if !slot.Dropped {
				continue
			}
			dropped = append(dropped, k)
			if len(slot.Probes) > 0 {
				t.Errorf("round %d: the dropped slot %d is told with %v", i, k, slot.Probes)
			}
		}
		counts[len(dropped)]++
		if !slices.Equal(dropped, recorded[i]) {
			t.Errorf("round %d: the tuner receives %v as dropped, the record says %v", i, dropped, recorded[i])
		}
		if want := withErrors(t, fedex.Tuner, s, r, o, dropped); string(want) != string(o.after) {
			t.Errorf("round %d, of which %v were dropped: the state becomes %s, with errors of 1 in their place %s", i, dropped,
				o.after, want)
		}
	}
	if counts[0] == len(fedex.rounds) || counts[4] == len(fedex.rounds) || len(counts) < 2 || len(fedex.rounds) != 12 {
		t.Fatalf("rounds by dropped clients: %v; the test needs several of 12", counts)
	}
	if got := r.Trials[0].Dropped; got != sum(recorded) {
		t.Errorf("%d dropped, the record names %d", got, sum(recorded))
	}
	part := wideStudy(t, fedex.Tuner)
	if got := interrupted(t, part, 5); got.WeightsSHA256 != r.WeightsSHA256 || got.Best.Score != r.Best.Score {
		t.Errorf("interrupted and resumed it ends at %s with %v, uninterrupted at %s with %v", got.WeightsSHA256,
			got.Best.Score, r.WeightsSHA256, r.Best.Score)
	}
}

func sum(slots [][]int) (n int) {
	for _, s := range slots {
		n += len(s)
	}
	return n
}

// withErrors is the state of a client tuner's session after a round whose slots in dropped
// had an error of 1, on as many validation examples as the others in the mean.
func withErrors(t *testing.T, tuner tuners.Tuner, s Setup, r *result.Result, o toldRound, dropped []int) []byte {
	t.Helper()
	space, err := tuners.ParseSpace(s.Config.Space)
	if err != nil {
		t.Fatal(err)
	}
	about, err := tuner.Describe(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if space, err = space.With(about.Adds...); err != nil {
		t.Fatal(err)
	}
	options, err := tuners.ParamsOf(s.Config.ClientTuner.Options)
	if err != nil {
		t.Fatal(err)
	}
	session, err := tuner.Open(t.Context(), tuners.OpenRequest{
		Space: space, Options: options, Seed: s.Config.Seed, Trial: 0, Params: r.Trials[0].Params, State: o.before,
		Budget: tuners.Budget{Rounds: 12, TrialRounds: 12}, Objective: tuners.Objective{
			Metric: s.Config.Objective,
			Target: s.Config.Target,
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	bare := o.Observation
	bare.Slots = slices.Clone(bare.Slots)
	examples := 1.0
	if n := len(bare.Slots) - len(dropped); n > 0 {
		examples = 0
		for _, slot := range bare.Slots {
			examples += slot.Probes["examples_val"] / float64(n)
		}
	}
	for _, k := range dropped {
		bare.Slots[k] = tuners.Slot{Probes: map[string]float64{"val_error_after": 1, "examples_val": examples}}
	}
	if err := session.ObserveRound(t.Context(), bare); err != nil {
		t.Fatal(err)
	}
	return session.State()
}

// droppedSlots reads them from the record, by round of trial 0.
func droppedSlots(t *testing.T, dir string) [][]int {
	t.Helper()
	v, err := store.Look(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = v.Close() }()
	var out [][]int
	err = v.Each(t.Context(), func(r store.Row) error {
		rec, err := record.Decode[record.Round](r.Kind, r.Data)
		if err == nil {
			out = append(out, rec.DroppedSlots)
		}
		return err
	}, store.KindRound)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// interrupted works on a study twice, as two processes would: the first is
// cancelled after some rounds, the second resumes.
func interrupted(t *testing.T, s Setup, rounds int) *result.Result {
	t.Helper()
	dir := t.TempDir()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	first := s
	first.Observer = &cancelling{after: rounds, cancel: cancel}
	first.Store = openStore(t, dir)
	if _, err := Tune(ctx, first); err == nil {
		t.Fatal("the study was not interrupted")
	}
	if err := first.Store.Close(); err != nil {
		t.Fatal(err)
	}
	s.Store = openStore(t, dir)
	defer func() { _ = s.Store.Close() }()
	r, err := Tune(t.Context(), s)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// cancelling ends a study after some rounds.
type cancelling struct {
	silent
	after  int
	cancel func()
	mu     sync.Mutex // guards after
}

func (c *cancelling) Progress(Progress) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.after--; c.after == 0 {
		c.cancel()
	}
}
