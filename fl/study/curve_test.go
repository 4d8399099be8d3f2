package study

import (
	"context"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/fedfast/fedfast/data"
	"github.com/fedfast/fedfast/fl/study/config"
	"github.com/fedfast/fedfast/fl/study/result"
)

// TestCurveChangesNoWeights measures on the way and does not.
func TestCurveChangesNoWeights(t *testing.T) {
	s := glyphStudy(t, nil)
	s.Config.Rounds, s.Config.Eval.Every = 40, 0
	without, err := Run(t.Context(), s)
	if err != nil {
		t.Fatal(err)
	}
	s.Config.Eval.Every = config.Default().Eval.Every
	with, err := Run(t.Context(), s)
	if err != nil {
		t.Fatal(err)
	}
	if without.WeightsSHA256 != with.WeightsSHA256 || len(without.Curve) != 0 || len(with.Curve) < 5 {
		t.Errorf("weights %s without and %s with a curve of %d points", without.WeightsSHA256, with.WeightsSHA256,
			len(with.Curve))
	}
}

// TestCurveOfPersonalizedModels: the last point is the final result, of the models that
// clients have, which is the global one where they keep nothing, and of those that they train.
func TestCurveOfPersonalizedModels(t *testing.T) {
	for _, adapt := range []bool{false, true} {
		s := glyphStudy(t, nil)
		s.Config.Rounds = 4
		s.Config.Eval.Every, s.Config.Eval.EveryTarget, s.Config.Eval.Adapt, s.Config.Eval.Personalized = 2, "personalized",
			adapt, true
		r, err := Run(t.Context(), s)
		if err != nil {
			t.Fatal(err)
		}
		if n := len(r.Curve); n != 2 || r.PersonalizedTest == nil || r.Curve[1].TestError != *r.PersonalizedTest {
			t.Fatalf("adapt %v: a curve %+v, at the end %v", adapt, r.Curve, r.PersonalizedTest)
		}
		if own, global := r.Evaluation.PersonalizedTest.Loss, r.Evaluation.GlobalTest.Loss; (own == global) == adapt {
			t.Errorf("adapt %v: a personalized loss of %v, a global one of %v", adapt, own, global)
		}
	}
	for _, tt := range []struct {
		change func(c *config.Config)
		want   string
	}{
		{
			func(c *config.Config) { c.Method, c.Eval.Adapt = "heterofl", false },
			`eval.adapt = false: clients of method "heterofl" train sub-networks`,
		},
		{
			func(c *config.Config) { c.ClientTuner.Name, c.Eval.RecordEvery = "fathom", 1 },
			`eval.every_target = "personalized": client tuner "fathom" sets the hyperparameters of each round, so that eval.record_every`,
		},
		{
			func(c *config.Config) { c.ClientTuner.Name = "fathom" },
			`eval.every_target = "personalized": client tuner "fathom" sets the hyperparameters`,
		},
	} {
		s := glyphStudy(t, nil)
		s.Config.Eval.Every, s.Config.Eval.EveryTarget = 2, "personalized"
		tt.change(&s.Config)
		if err := checkCurve(&s); err == nil || !strings.HasPrefix(err.Error(), tt.want) {
			t.Errorf("error %v, want %s", err, tt.want)
		}
	}
}

// TestPatience ends a run whose validation error stops falling, whole, interrupted at its
// end and on its way, and trained elsewhere. It returns the model of the lowest one.
func TestPatience(t *testing.T) {
	s := glyphStudy(t, nil)
	s.Config.Rounds, s.Config.Eval.Every, s.Config.Eval.Patience, s.Config.Client.LR = 200, 1, 3, 2
	whole, err := Run(t.Context(), s)
	if err != nil {
		t.Fatal(err)
	}
	best, ended := result.Stale(whole.Curve, 3)
	if !ended || whole.Rounds == 200 || whole.Rounds != best.Round+3 || len(whole.Curve) != whole.Rounds {
		t.Fatalf("it ends after %d rounds with %+v as the best of %d", whole.Rounds, best, len(whole.Curve))
	}
	for _, p := range whole.Curve[best.Round:] {
		if *p.ValError < *best.ValError {
			t.Errorf("round %d has %v, below %v of round %d", p.Round, *p.ValError, *best.ValError, best.Round)
		}
	}
	if whole.Returned != best.Round || *whole.GlobalVal != *best.ValError ||
		*whole.GlobalTest != whole.Curve[best.Round-1].TestError {
		t.Errorf("it returns the model of round %d with errors %v and %v, want round %d of the curve %+v", whole.Returned,
			*whole.GlobalVal, *whole.GlobalTest, best.Round, *best)
	}
	if _, sooner := result.Stale(whole.Curve[:len(whole.Curve)-1], 3); sooner {
		t.Error("it could have ended a round sooner")
	}
	dir := filepath.Join(t.TempDir(), "study")
	s.Store = openStore(t, dir)
	s.Trainer = newCrew(t, s, 2, nil)
	elsewhere, err := Run(t.Context(), s)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Store.Close(); err != nil {
		t.Fatal(err)
	}
	s.Store, s.Trainer = openStore(t, dir), nil
	again, err := Run(t.Context(), s)
	if err != nil {
		t.Fatal(err)
	}
	_ = s.Store.Close()
	broken := filepath.Join(t.TempDir(), "study")
	work := func(after int, every time.Duration) (*result.RunResult, error) {
		s := s
		ctx, stop := context.WithCancel(t.Context())
		defer stop()
		s.Store, s.Observer, s.SnapshotEvery = openStore(t, broken), &eventLog{stop: stop, after: after}, every
		defer func() { _ = s.Store.Close() }()
		return Run(ctx, s)
	}
	for after := 1; after <= whole.Rounds; after += 2 { // with a snapshot after each round, and with none
		if r, err := work(after, time.Duration(1+after%3*int(time.Hour))); err == nil && r.Rounds != after {
			t.Fatalf("stopped after %d events, it ends after round %d", after, r.Rounds)
		}
	}
	resumed, err := work(0, 1)
	if err != nil {
		t.Fatal(err)
	}
	if names, err := filepath.Glob(filepath.Join(broken, "snapshots", "best-*")); err != nil || len(names) != 1 {
		t.Errorf("%q are kept (%v), want the returned model alone", names, err)
	}
	for _, r := range []*result.RunResult{elsewhere, again, resumed} {
		if s.Model.SHA256(r.Weights) != whole.WeightsSHA256 {
			t.Error("the weights are not the model's")
		}
		if !reflect.DeepEqual(r.Curve, whole.Curve) || r.WeightsSHA256 != whole.WeightsSHA256 ||
			r.Returned != whole.Returned {
			t.Errorf("%d rounds and weights %s, want %d and %s", r.Rounds, r.WeightsSHA256, whole.Rounds, whole.WeightsSHA256)
		}
	}
	s.Store, s.Config.Data.Split = nil, "90/0/10"
	if s.Data, s.Model, err = config.Prepare(t.Context(), &s.Config); err != nil {
		t.Fatal(err)
	}
	if _, err := Run(t.Context(), s); err == nil || !strings.Contains(err.Error(),
		"eval.patience = 3: no client has validation samples") {
		t.Errorf("without validation samples: %v", err)
	}
}

// TestTuneNeedsValidation refuses to tune before anything is trained where no trial could be scored.
func TestTuneNeedsValidation(t *testing.T) {
	s := glyphStudy(t, nil)
	for i := range s.Data.Clients {
		s.Data.Clients[i].Val = data.View{}
	}
	want := `objective = "error": no client has validation samples; set data.split, such as to 80/10/10`
	if s.Tuner = nil; checkCurve(&s) != nil {
		t.Error("a run needs none")
	}
	if s.Tuner = (&script{}); checkCurve(&s) == nil || checkCurve(&s).Error() != want {
		t.Errorf("error %v, want %s", checkCurve(&s), want)
	}
}
