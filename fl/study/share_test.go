package study

import (
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/fedfast/fedfast/fl/study/config"
	"github.com/fedfast/fedfast/fl/study/result"
	"github.com/fedfast/fedfast/internal/store"
	"github.com/fedfast/fedfast/internal/tuner/fedex"
	"github.com/fedfast/fedfast/internal/tuner/sha"
	"github.com/fedfast/fedfast/tuners"
)

// sharing returns a study by successive halving of 9 trials under FedEx, for one
// target.
func sharing(t *testing.T, target string) (Setup, *counting) {
	t.Helper()
	s := glyphStudy(t, sha.Tuner)
	s.Config.Space["server.lr"] = map[string]any{"log10": []any{-1.0, 1.0}}
	s.Config.Tuner = config.Tuner{Name: "sha", Parallel: 1, Allow: s.Config.Tuner.Allow, Options: map[string]any{
		"eta":          3,
		"eliminations": 2,
	}}
	s.Config.ClientTuner = config.ClientTuner{Name: "fedex", Options: map[string]any{"configs": 4}}
	s.Config.Budget = config.Budget{Rounds: 60, TrialRounds: 12}
	s.Config.Target, s.Config.Score.Both, s.Config.Select = target, true, config.SelectPaper
	m := &counting{}
	s.ClientTuner, s.method, s.SnapshotEvery = fedex.Tuner, m.method(t), 1
	return s, m
}

// TestShareTrainsNoRoundTwice: a study of the global target that shares the rounds
// of one of the personalized target ends like one that trains them all, with fewer
// client tasks.
func TestShareTrainsNoRoundTwice(t *testing.T) {
	dir := t.TempDir()
	first, _ := sharing(t, tuners.TargetPersonalized)
	first.KeepTrials = true
	first.Store = openStore(t, filepath.Join(dir, "first"))
	personalized, err := Tune(t.Context(), first)
	if err != nil {
		t.Fatal(err)
	}
	if err := first.Store.Close(); err != nil {
		t.Fatal(err)
	}

	alone, all := sharing(t, tuners.TargetGlobal)
	want, err := Tune(t.Context(), alone)
	if err != nil {
		t.Fatal(err)
	}

	second, fewer := sharing(t, tuners.TargetGlobal)
	rec := &recorder{}
	second.Observer = rec
	second.Store = openStore(t, filepath.Join(dir, "second"))
	defer func() { _ = second.Store.Close() }()
	from, err := store.Look(t.Context(), filepath.Join(dir, "first"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = from.Close() }()
	if second.Evaluated, err = Share(t.Context(), from, second.Store, &second.Config); err != nil {
		t.Fatal(err)
	}
	got, err := Tune(t.Context(), second)
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range []*result.Result{got, want} {
		strip(r)
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("shared:\n%+v\nalone:\n%+v", got, want)
	}
	if got.WeightsSHA256 == personalized.WeightsSHA256 {
		t.Error("both targets return one model: the test does not tell them apart")
	}
	if a, b := fewer.tasks.Load(), all.tasks.Load(); a*2 > b {
		t.Errorf("the study that shares ran %d client tasks, the one alone %d; want less than half", a, b)
	}
	differ := 0
	for _, e := range rec.events {
		if e.Event == "round" && e.OtherScore == nil {
			t.Fatalf("round %d of trial %d has no score under the other target", e.Round, e.Trial)
		}
		if e.Event == "round" && *e.OtherScore != *e.Score {
			differ++
		}
	}
	if differ == 0 {
		t.Error("both targets score every round alike")
	}
}

// TestEvaluatedModels are taken as they are; others are evaluated.
func TestEvaluatedModels(t *testing.T) {
	tune := func(evaluated ...result.Chosen) (*result.Result, int64) {
		s, _ := sharing(t, tuners.TargetGlobal)
		rec := &recorder{}
		s.Observer, s.Evaluated = rec, evaluated
		r, err := Tune(t.Context(), s)
		if err != nil {
			t.Fatal(err)
		}
		strip(r)
		return r, rec.evaluated.Load()
	}
	want, all := tune()
	other := want.Best
	other.SHA256, other.Errors = "other", result.Errors{}
	got, n := tune(other, *want.Survivor)
	if !reflect.DeepEqual(got, want) || n*2 != all {
		t.Errorf("one of two models evaluated: %d clients instead of %d\n%+v\n%+v", n, all, got, want)
	}
	if got, n := tune(want.Best, *want.Survivor); !reflect.DeepEqual(got, want) || n != 0 {
		t.Errorf("both evaluated: %d clients\n%+v\n%+v", n, got, want)
	}
}

// TestShareRefuses names what cannot be shared.
func TestShareRefuses(t *testing.T) {
	dir := t.TempDir()
	first, _ := sharing(t, tuners.TargetPersonalized)
	first.Store = openStore(t, filepath.Join(dir, "first"))
	if _, err := Tune(t.Context(), first); err != nil {
		t.Fatal(err)
	}
	if err := first.Store.Close(); err != nil {
		t.Fatal(err)
	}
	from, err := store.Look(t.Context(), filepath.Join(dir, "first"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = from.Close() }()
	for _, c := range []struct {
		change func(*config.Config)
		want   string
	}{
		{func(c *config.Config) { c.Target = tuners.TargetPersonalized }, "it has the same target, personalized"},
		{func(c *config.Config) { c.Score.Both = false }, "both studies need score.both = true"},
		{func(c *config.Config) { c.Seed = 5 }, "more than the target differs: seed: recorded 4, now 5"},
	} {
		s, _ := sharing(t, tuners.TargetGlobal)
		c.change(&s.Config)
		to := openStore(t, filepath.Join(t.TempDir(), "second"))
		_, err := Share(t.Context(), from, to, &s.Config)
		if err == nil || !strings.HasSuffix(err.Error(), c.want) {
			t.Errorf("got %v, want the end %q", err, c.want)
		}
		if to.Seq() > 0 {
			t.Error("something was recorded")
		}
		_ = to.Close()
	}
}
