package study

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"sync/atomic"
	"testing"

	"github.com/fedfast/fedfast/fl/study/result"
	"github.com/fedfast/fedfast/internal/store"
	"github.com/fedfast/fedfast/tuners"
)

// TestBaselineGoesOn interrupts a baseline after its first configurations: the rest is
// trained and no more, and the end is the end of one at a stretch. More configurations
// begin with those that there are.
func TestBaselineGoesOn(t *testing.T) {
	s := glyphStudy(t, nil)
	s.Config.Method = "fedavg"
	rates := learningRates(1e-4, 0.3, 1e-3, 1e-2, 0.03)
	compare := func(ctx context.Context, n int, watch Observer) (*result.BaselineResult, error) {
		s.Observer = watch
		s.Tuner = &script{params: rates[:n], rung: 2, to: 3, mangle: func(step int, ds []tuners.Decision) []tuners.Decision {
			if step == 1 {
				return []tuners.Decision{{Kind: tuners.Done, Best: 0}}
			}
			return ds
		}}
		return Baseline(ctx, s, &result.Result{}, n, 3)
	}
	want, err := compare(t.Context(), 4, silent{})
	if err != nil {
		t.Fatal(err)
	}
	if s.Store, err = store.Open(t.Context(), t.TempDir()); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = s.Store.Close() }() // it is a test's
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	s.Workers = 1
	if _, err := compare(ctx, 4, &evaluations{at: 2, then: stop}); !errors.Is(err, context.Canceled) {
		t.Fatalf("interrupted: %v", err)
	}
	part, err := result.Read(t.Context(), s.Store)
	if err != nil || part.Baseline == nil || len(part.Baseline.Done) == 0 || part.Baseline.Complete() {
		t.Fatalf("interrupted: %+v, %v", part.Baseline, err)
	}
	rest := &evaluations{}
	got, err := compare(t.Context(), 4, rest)
	if err != nil || int(rest.models.Load()) != 4-len(part.Baseline.Done) {
		t.Fatalf("%d configurations more after %d of 4: %v", rest.models.Load(), len(part.Baseline.Done), err)
	}
	same := func(a, b result.BaselineTrial) bool {
		a.Seconds, b.Seconds = 0, 0
		x, errX := json.Marshal(a)
		y, errY := json.Marshal(b)
		return errX == nil && errY == nil && string(x) == string(y)
	}
	if !slices.EqualFunc(got.Trials, want.Trials, same) || got.Best != want.Best || got.MedianTest != want.MedianTest {
		t.Errorf("in two parts %+v, at a stretch %+v", got, want)
	}
	more := &evaluations{}
	if five, err := compare(t.Context(), 5, more); err != nil || more.models.Load() != 1 ||
		!slices.EqualFunc(five.Trials[:4], want.Trials, same) {
		t.Errorf("a fifth one: %+v, %v, %d trained", five, err, more.models.Load())
	}
}

// evaluations counts models that have been measured, and does something when one of
// them has.
type evaluations struct {
	silent
	at     int32
	then   func()
	models atomic.Int32
}

// Evaluated counts a model with its last client.
func (e *evaluations) Evaluated(x Evaluated) {
	if x.Clients == x.Of && e.models.Add(1) == e.at {
		e.then()
	}
}
