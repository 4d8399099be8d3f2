package study

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"math/rand/v2"
	"path/filepath"
	"testing"

	"github.com/fedfast/fedfast/fl/internal/shard"
	"github.com/fedfast/fedfast/fl/study/result"
)

// sharingCrew is a crew that now and then trains rounds together.
type sharingCrew struct {
	*crew
	parts, exams int
}

func (s *sharingCrew) Shares(int) bool { return s.happens(0.5) }

func (s *sharingCrew) Shards(int, int, int) int { return 3 }

func (s *sharingCrew) Exams(int) int { return 2 }

func (s *sharingCrew) Train(ctx context.Context, shard shard.Round, read func(io.Reader) error) error {
	var b bytes.Buffer
	if err := s.worker.Train(ctx, shard, &b); err != nil {
		return err
	}
	s.mu.Lock()
	s.parts++
	s.mu.Unlock()
	return read(&b)
}

func (s *sharingCrew) Measure(ctx context.Context, x shard.Exam, read func(io.Reader) error) error {
	var b bytes.Buffer
	if err := s.worker.Measure(ctx, x, &b); err != nil {
		return err
	}
	s.mu.Lock()
	s.exams++
	s.mu.Unlock()
	return read(&b)
}

// TestSharedRoundsAreTheSame has rounds trained whole elsewhere or in parts, as it
// happens, and models evaluated in parts: everything is as in one process. The rounds
// of a method whose clients keep a state are never split, nor the tests of personalized
// models.
func TestSharedRoundsAreTheSame(t *testing.T) {
	for name, change := range map[string]func(*Setup){
		"client tuner":   func(s *Setup) { s.ClientTuner, s.Config.Cohort = &slotTuner{}, 20 },
		"every snapshot": func(s *Setup) { s.SnapshotEvery, s.Config.Eval.Every = 1, 2 },
		"finalists":      func(s *Setup) { s.Config.Select, s.Config.Finalists.Snapshots = "finalists", 3 },
		"client states": func(s *Setup) {
			s.Config.Method, s.Config.Sampling, s.Config.Cohort, s.Config.Eval.Every = "scaffold", "without", 3, 0
		},
	} {
		t.Run(name, func(t *testing.T) {
			tell := func(trainer func(Setup) Trainer) string {
				s := glyphStudy(t, &script{params: learningRates(0.3, 1e-3), rung: 3, to: 5})
				s.Config.Cohort = 40
				change(&s)
				if trainer != nil {
					s.Trainer = trainer(s)
				}
				log := &eventLog{}
				st := openStore(t, filepath.Join(t.TempDir(), "study"))
				defer func() { _ = st.Close() }()
				s.Store, s.Observer = st, log
				r, err := Tune(t.Context(), s)
				if err != nil {
					t.Fatal(err)
				}
				text, err := json.Marshal(strip(r))
				if err != nil {
					t.Fatal(err)
				}
				return string(text) + log.text.String()
			}
			want, seeds := tell(nil), uint64(2)
			if testing.Short() {
				seeds = 1
			}
			for seed := range seeds {
				var c *sharingCrew
				got := tell(func(s Setup) Trainer {
					c = &sharingCrew{crew: newCrew(t, s, 2, rand.New(rand.NewPCG(seed, 5)))}
					return c
				})
				if got != want {
					t.Errorf("seed %d: shared\n%s\nhere\n%s", seed, got, want)
				}
				if stateful := name == "client states"; len(c.places) != 0 || (c.exams == 0) != stateful ||
					(c.parts == 0) != stateful {
					t.Errorf("%d parts, %d exams, %d places were not given back", c.parts, c.exams, len(c.places))
				}
			}
		})
	}
}

// TestRunElsewhereIsTheSame has one training trained elsewhere, whole or in parts, and
// interrupted and resumed.
func TestRunElsewhereIsTheSame(t *testing.T) {
	run := func(dir string, stopAfter int, trainer func(Setup) Trainer) (*result.RunResult, error) {
		s := glyphStudy(t, nil)
		s.Config.Cohort, s.Config.Rounds, s.Config.Eval.Every, s.Config.Score.Both = 40, 12, 3, true
		s.Config.Space = nil
		s.Unscored = true
		if trainer != nil {
			s.Trainer = trainer(s)
		}
		ctx, stop := context.WithCancel(t.Context())
		defer stop()
		s.Store = openStore(t, dir)
		defer func() { _ = s.Store.Close() }()
		s.Observer = &eventLog{stop: stop, after: stopAfter}
		return Run(ctx, s)
	}
	text := func(r *result.RunResult) string {
		r.Seconds, r.RoundsPerSecond = 0, 0
		b, err := json.Marshal(r)
		if err != nil {
			t.Fatal(err)
		}
		return string(b)
	}
	want, err := run(filepath.Join(t.TempDir(), "whole"), 0, nil)
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(t.TempDir(), "parts")
	for after := 1; ; after++ {
		got, err := run(dir, after, func(s Setup) Trainer {
			c := newCrew(t, s, 2, rand.New(rand.NewPCG(uint64(after), 5)))
			if after%3 == 0 {
				return c
			}
			return &sharingCrew{crew: c}
		})
		if err != nil && t.Context().Err() == nil && after < 30 {
			continue
		}
		if err != nil || after < 3 {
			t.Fatalf("after %d events: %v", after, err)
		}
		if text(got) != text(want) {
			t.Errorf("elsewhere\n%s\nhere\n%s", text(got), text(want))
		}
		return
	}
}
