package study

import (
	"bytes"
	"context"
	"encoding/json"
	"math/rand/v2"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/fedfast/fedfast/fl"
	"github.com/fedfast/fedfast/fl/study/result"
)

// crew is a Trainer of this process: a few places, some of which are lost on the
// way. What goes between study and worker passes through its binary form.
type crew struct {
	worker *Worker
	places chan struct{}

	mu    sync.Mutex
	fate  *rand.Rand // nil loses nobody
	lost  int
	moved int // trainings that began from a snapshot
}

func newCrew(t *testing.T, s Setup, places int, fate *rand.Rand) *crew {
	t.Helper()
	w, err := NewWorker(s)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(w.Close)
	return &crew{worker: w, places: make(chan struct{}, places), fate: fate}
}

// happens reports whether something of a probability happens.
func (c *crew) happens(p float64) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.fate != nil && c.fate.Float64() < p
}

// loses reports whether the worker is lost now.
func (c *crew) loses() bool {
	if !c.happens(0.2) {
		return false
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.lost++
	return true
}

func (c *crew) Place(ctx context.Context, trial int, start func() (*fl.Snapshot, error)) (Training, error) {
	select {
	case c.places <- struct{}{}:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	m := &member{crew: c}
	s, err := start()
	if err == nil && s == nil {
		m.Job = c.worker.Begin(trial)
	} else if err == nil {
		c.mu.Lock()
		c.moved++
		c.mu.Unlock()
		m.Job, err = c.worker.Resume(sent(s))
	}
	if err != nil {
		m.End()
	}
	return m, err
}

// sent is a snapshot as it arrives.
func sent(s *fl.Snapshot) *fl.Snapshot {
	if s == nil {
		return nil
	}
	var b bytes.Buffer
	if _, err := s.WriteTo(&b); err != nil {
		panic(err)
	}
	got, err := fl.ReadSnapshot(&b)
	if err != nil {
		panic(err)
	}
	return got
}

type member struct {
	*Job
	crew *crew
}

func (m *member) Round(ctx context.Context, rounds int, plan fl.Plan, observed []string,
	check func([]byte) error,
) ([]byte, error) {
	if rounds != m.Rounds() {
		panic("asked for another round")
	}
	if m.crew.loses() {
		return nil, ErrLost
	}
	record, err := m.Job.Round(ctx, plan, observed)
	if err == nil {
		err = check(record)
	}
	return record, err
}

func (m *member) Fetch(_ context.Context, kept, state bool, check func(model, trial *fl.Snapshot) error) (model,
	trial *fl.Snapshot, err error,
) {
	if m.crew.loses() {
		return nil, nil, ErrLost
	}
	if kept {
		model = sent(m.Kept())
	}
	if state {
		trial = sent(m.State())
	}
	return model, trial, check(model, trial)
}

func (m *member) Leaving() bool { return m.crew.happens(0.1) }

func (m *member) End() { <-m.crew.places }

// TestTrainingElsewhereIsTheSame has trials trained elsewhere, by workers of which
// many are lost or leave, and by a study that is interrupted and resumed: everything
// is as in one process.
func TestTrainingElsewhereIsTheSame(t *testing.T) {
	for name, change := range map[string]func(*Setup){
		"plain":           func(*Setup) {},
		"client tuner":    func(s *Setup) { s.ClientTuner = &slotTuner{} },
		"client states":   func(s *Setup) { s.Config.Method, s.Config.Sampling = "scaffold", "without" },
		"finalists":       func(s *Setup) { s.Config.Select, s.Config.Finalists.Snapshots = "finalists", 3 },
		"every snapshot":  func(s *Setup) { s.SnapshotEvery = time.Nanosecond },
		"tested as it is": func(s *Setup) { s.Config.Eval.Every = 2 },
	} {
		t.Run(name, func(t *testing.T) {
			setup := func() Setup {
				s := glyphStudy(t, &script{params: learningRates(1e-4, 0.3, 1e-3, 0.1), rung: 3, to: 5})
				change(&s)
				return s
			}
			tell := func(s Setup, log *eventLog, ctx context.Context) (string, error) {
				st := openStore(t, filepath.Join(t.TempDir(), "study"))
				defer func() { _ = st.Close() }()
				s.Store, s.Observer = st, log
				r, err := Tune(ctx, s)
				if err != nil {
					return "", err
				}
				text, err := json.Marshal(strip(r))
				return string(text) + log.text.String(), err
			}
			want, err := tell(setup(), &eventLog{}, t.Context())
			if err != nil {
				t.Fatal(err)
			}
			lost, moved := 0, 0
			for seed := range uint64(3) {
				s := setup()
				var fate *rand.Rand
				if seed > 0 {
					fate = rand.New(rand.NewPCG(seed, 0))
				}
				c := newCrew(t, s, 1+int(seed%3), fate)
				s.Trainer = c
				got, err := tell(s, &eventLog{}, t.Context())
				if err != nil {
					t.Fatal(err)
				}
				if got != want {
					t.Errorf("seed %d: elsewhere\n%s\nhere\n%s", seed, got, want)
				}
				if len(c.places) != 0 {
					t.Errorf("%d places were not given back", len(c.places))
				}
				lost, moved = lost+c.lost, moved+c.moved
			}
			if lost < 5 || name == "every snapshot" && moved < 5 {
				t.Errorf("%d workers were lost, %d trainings moved", lost, moved)
			}
		})
	}
}

// TestTrainingElsewhereIsResumed interrupts a study whose trials train elsewhere, and
// finishes it in one process.
func TestTrainingElsewhereIsResumed(t *testing.T) {
	tune := func(dir string, stopAfter int, elsewhere bool) (*result.Result, error) {
		s := glyphStudy(t, &script{params: learningRates(1e-4, 0.3, 1e-3), rung: 3, to: 5})
		s.ClientTuner = &slotTuner{}
		ctx, stop := context.WithCancel(t.Context())
		defer stop()
		s.Store = openStore(t, dir)
		defer func() { _ = s.Store.Close() }()
		s.Observer = &eventLog{stop: stop, after: stopAfter}
		if elsewhere {
			s.Trainer = newCrew(t, s, 2, rand.New(rand.NewPCG(9, 9)))
		}
		return Tune(ctx, s)
	}
	whole, err := tune(filepath.Join(t.TempDir(), "whole"), 0, false)
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(t.TempDir(), "parts")
	for after := 1; ; after++ {
		r, err := tune(dir, after, after%4 != 0)
		if err != nil && t.Context().Err() == nil && after < 30 {
			continue
		}
		if err != nil || after < 3 {
			t.Fatalf("after %d events: %v", after, err)
		}
		if r.WeightsSHA256 != whole.WeightsSHA256 || r.Best.Score != whole.Best.Score {
			t.Errorf("%s with %v, whole %s with %v", r.WeightsSHA256, r.Best.Score, whole.WeightsSHA256, whole.Best.Score)
		}
		return
	}
}
