package study

import (
	"path/filepath"
	"reflect"
	"testing"

	"github.com/fedfast/fedfast/fl/study/result"
)

// referenceStudy is a study of four trials, or of three and the configured values, which the fourth
// trial has as well.
func referenceStudy(t *testing.T, lrs ...float64) Setup {
	s := glyphStudy(t, &script{params: learningRates(lrs...), rung: 3, to: 5})
	s.Config.Client.LR, s.Config.Tuner.Reference, s.Config.Eval.Every = 0.05, len(lrs) == 3, 1
	return s
}

// TestReferenceIsATrial: the configured values train to the bits of a trial of that number with the
// same values, and no round of theirs is of the budget.
func TestReferenceIsATrial(t *testing.T) {
	with, err := Tune(t.Context(), referenceStudy(t, 1e-4, 0.3, 1e-3))
	if err != nil {
		t.Fatal(err)
	}
	fourth, err := Tune(t.Context(), referenceStudy(t, 1e-4, 0.3, 1e-3, 0.05))
	if err != nil {
		t.Fatal(err)
	}
	s := referenceStudy(t, 1e-4, 0.3, 1e-3)
	s.Config.Tuner.Reference = false
	without, err := Tune(t.Context(), s)
	if err != nil {
		t.Fatal(err)
	}
	ref := with.Reference
	if len(with.Trials) != 3 || with.Rounds != without.Rounds || without.Reference != nil || ref.Trial == nil ||
		ref.Trial.Rounds != 5 || ref.Model.Round != 5 {
		t.Fatalf("%d trials of %d rounds, want 3 of %d; reference %+v", len(with.Trials), with.Rounds, without.Rounds, ref)
	}
	if x, ok := ref.Model.Params["client.lr"].Float(); !ok || x != 0.05 {
		t.Errorf("params %v", ref.Model.Params)
	}
	if got, want := ref.Trial.Curve, fourth.Trials[3].Curve; len(got) != 5 || len(want) != 3 ||
		!reflect.DeepEqual(got[:3], want) {
		t.Errorf("curve %v, of a trial %v", got, want)
	}
	if ref.Gain == nil || *ref.Gain != *ref.Test-tested(with) || ref.GainHalf == nil || !(*ref.GainHalf >= 0) {
		t.Errorf("gain %v of %v to %v, half %v", ref.Gain, ref.Test, tested(with), ref.GainHalf)
	}
}

// tested is the test error of the returned model under the study's target.
func tested(r *result.Result) float64 { return r.Evaluation.PersonalizedTest.Error }

// TestReferenceIsReturned: where no trial is better, the configured values are returned, also by a
// process that reads the finished study.
func TestReferenceIsReturned(t *testing.T) {
	s, dir := referenceStudy(t, 1e-4, 2e-4, 3e-4), filepath.Join(t.TempDir(), "study")
	r := finish(t, s, dir)
	if r.Best.Number != 3 || r.Best.SHA256 != r.Reference.Model.SHA256 || *r.Reference.Gain != 0 {
		t.Fatalf("returned %d, reference %d with gain %v", r.Best.Number, r.Reference.Number, *r.Reference.Gain)
	}
	for _, f := range r.Finalists {
		if s.Config.Aim().Better(f.Score, r.Best.Score) {
			t.Errorf("finalist %+v is better than the returned one, %v", f, r.Best.Score)
		}
	}
	again := finish(t, referenceStudy(t, 1e-4, 2e-4, 3e-4), dir)
	if s.Model.SHA256(again.Best.Weights) != r.Best.SHA256 {
		t.Error("read again, the returned model has other weights")
	}
}
