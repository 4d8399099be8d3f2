package fedtune_test

import (
	"reflect"
	"strings"
	"testing"

	"github.com/fedfast/fedfast/internal/tuner/fedtune"
	"github.com/fedfast/fedfast/tuners"
)

// TestWorkIsWhatRuns plays searches that end at their caps.
func TestWorkIsWhatRuns(t *testing.T) {
	for name, o := range map[string]tuners.Params{
		"cap":   {"proposals": tuners.Num(3), "patience": tuners.Num(0)},
		"grid":  {"search": tuners.Str(fedtune.Grid), "proposals": tuners.Num(7), "init": tuners.Num(2)},
		"whole": {"search": tuners.Str(fedtune.Random), "patience": tuners.Num(0), "lr_max": tuners.Num(0.01)},
		"no points": {
			"search": tuners.Str(fedtune.Random), "patience": tuners.Num(0), "proposals": tuners.Num(50),
			"lr_max": tuners.Num(0.004),
		},
		"scaled": {"proposals": tuners.Num(1), "scale": tuners.Num(0.3)},
	} {
		r, seen, _ := play(t, small.Merge(o), 1)
		w, err := workOf(t, small.Merge(o))
		if err != nil || w.Trials != len(seen) || w.Clients != 5 {
			t.Errorf("%s: %+v, %v; %d trials ran", name, w, err, len(seen))
		}
		samples := 0.0
		for trial, e := range seen {
			if w.Rounds != r.Rounds[trial] {
				t.Errorf("%s: a trial of %d rounds, want %d", name, r.Rounds[trial], w.Rounds)
			}
			samples += float64(e.Samples) / float64(len(seen))
		}
		if d := w.Examples - samples; d < -1e-9*samples || d > 1e-9*samples {
			t.Errorf("%s: %v samples a client, want %v", name, w.Examples, samples)
		}
	}
}

// workOf asks the tuner.
func workOf(t *testing.T, o tuners.Params) (tuners.Work, error) {
	t.Helper()
	return tuners.WorkOf(t.Context(), fedtune.Tuner, tuners.ValidateRequest{Options: o})
}

func TestWorkOfATable(t *testing.T) {
	w, err := workOf(t, small.Merge(tuners.Params{"table": tuners.Str("0.2 100 0.05 8 5; 0.4 100 0.05 16 10")}))
	want := []tuners.Params{
		{"client.batch": tuners.Num(8), "client.epochs": tuners.Num(5)},
		{"client.batch": tuners.Num(16), "client.epochs": tuners.Num(10)},
	}
	if err != nil || w.Trials != 0 || !reflect.DeepEqual(w.Points, want) {
		t.Errorf("%+v, %v", w, err)
	}
	if w, err := workOf(t, tuners.Params{"mixed": tuners.Bool(true)}); err != nil || w.Trials != 15+24*4 ||
		w.Clients != 24 {
		t.Errorf("a mixed federation: %+v, %v", w, err)
	}
	if w, err := workOf(t, nil); err != nil || w.Trials != 24*15 || len(w.Points) != 9 {
		t.Errorf("without a cap: %+v, %v", w, err)
	}
	if _, err := workOf(t, tuners.Params{"init": tuners.Num(0)}); err == nil || !strings.Contains(err.Error(),
		"options.init") {
		t.Errorf("wrong options: %v", err)
	}
}
