package fedtune_test

import (
	"fmt"
	"math"
	"reflect"
	"strings"
	"testing"

	"github.com/fedfast/fedfast/internal/tuner/fedtune"
	"github.com/fedfast/fedfast/tuners"
	"github.com/fedfast/fedfast/tuners/host"
)

// looked returns the table of a trial's session.
func looked(t *testing.T, options tuners.Params, state []byte) []tuners.Cell {
	t.Helper()
	req := request(options)
	req.Trial, req.State = 0, state
	s, err := host.Local(fedtune.Tuner).Open(t.Context(), req)
	if err != nil {
		t.Fatal(err)
	}
	p, err := s.PlanRound(t.Context(), tuners.PlanRequest{Slots: 1})
	if err != nil {
		t.Fatal(err)
	}
	return p.Table
}

func TestAHandedOverTableIsTheOneThatWasFilled(t *testing.T) {
	for _, scale := range []float64{1, 0.004} { // the latter makes one sample of both sizes
		o := small.Merge(tuners.Params{
			"proposals": tuners.Num(2), "scale": tuners.Num(scale),
			"samples": tuners.Str("100,200"),
		})
		r, seen, last := play(t, o, 3)
		var tried []fedtune.Tried
		for trial := range len(seen) {
			score := surface(seen[trial], r.Params[trial])
			tried = append(tried, fedtune.Tried{Environment: seen[trial], Params: r.Params[trial], Score: &score})
		}
		text, err := fedtune.TableOf(o, 3, tuners.Objective{}, tried)
		if err != nil {
			t.Fatal(err)
		}
		given := o.Merge(tuners.Params{"table": tuners.Str(text)})
		if got, want := looked(t, given, nil), looked(t, o, last.State()); !reflect.DeepEqual(got, want) {
			t.Errorf("scale %v: handed over %v, filled %v", scale, got, want)
		}
		if r, _, _ := play(t, given, 3); len(r.Params) != 0 {
			t.Errorf("%d proxy federations are trained beside a given table", len(r.Params))
		}
		if _, err := fedtune.TableOf(o, 4, tuners.Objective{}, tried); err == nil || !strings.Contains(err.Error(),
			"trial 0 ran on a proxy federation that does not match these options and seed 4") {
			t.Errorf("another seed: %v", err)
		}
	}
}

// TestAMixedTableThatIsHandedOver is about the table of a search on a mixed federation.
func TestAMixedTableThatIsHandedOver(t *testing.T) {
	o := small.Merge(tuners.Params{"mixed": tuners.Bool(true), "scale": tuners.Num(0.5)})
	tables, scores, last := playMixed(t, o)
	var tried []fedtune.Tried
	environment := tuners.Environment{}
	for trial := range tables {
		environment = tables[trial].environment
		tried = append(tried, fedtune.Tried{Environment: environment, Table: tables[trial].cells})
		if x := scores[trial]; !math.IsNaN(x) {
			tried[trial].Score = &x
		}
	}
	text, err := fedtune.TableOf(o, 9, tuners.Objective{}, tried)
	if err != nil {
		t.Fatal(err)
	}
	given := small.Merge(tuners.Params{"table": tuners.Str(text)})
	if got, want := looked(t, given, nil), looked(t, o, last.State()); !reflect.DeepEqual(got, want) {
		t.Errorf("handed over %v, filled %v", got, want)
	}
	tried[0].Table = tried[0].Table[1:]
	for seed, tried := range map[uint64][]fedtune.Tried{9: tried, 4: tried[1:]} {
		if _, err := fedtune.TableOf(o, seed, tuners.Objective{}, tried); err == nil || !strings.Contains(err.Error(),
			"does not match these options and seed") {
			t.Errorf("another table or seed: %v", err)
		}
	}
	if text, err := fedtune.TableOf(o, 9, tuners.Objective{},
		[]fedtune.Tried{{Environment: environment, Table: tables[1].cells}}); text != "" || err != nil {
		t.Errorf("without a score: %q, %v", text, err)
	}
}

func TestTableOfLeavesCellsWithoutAScoreOut(t *testing.T) {
	_, seen, _ := play(t, small.Merge(tuners.Params{"proposals": tuners.Num(1)}), 9)
	point := func(rate float64) tuners.Params {
		return tuners.Params{"client.lr": tuners.Num(rate), "client.batch": tuners.Num(8), "client.epochs": tuners.Num(2)}
	}
	low, high := 0.25, 0.5
	first, second := seen[0], seen[5] // of the first two cells
	for name, c := range map[string]struct {
		tried []fedtune.Tried
		want  string
	}{
		"none":   {nil, ""},
		"failed": {[]fedtune.Tried{{Environment: first, Params: point(0.1), Score: nil}}, ""},
		"a gap": {[]fedtune.Tried{
			{Environment: first, Params: point(0.1), Score: nil},
			{Environment: second, Params: point(0.006), Score: &low},
		}, "0.2 1000 0.006 8 2"},
		"the lowest": {[]fedtune.Tried{
			{Environment: first, Params: point(0.1), Score: &high},
			{Environment: first, Params: point(0.2), Score: &low},
		}, "0.2 100 0.2 8 2"},
		"of equal": {[]fedtune.Tried{
			{Environment: first, Params: point(0.1), Score: &low},
			{Environment: first, Params: point(0.2), Score: &low},
		}, "0.2 100 0.1 8 2"},
		"by its cells": {[]fedtune.Tried{
			{Environment: second, Params: point(0.1), Score: &low},
			{Environment: first, Params: point(0.2), Score: &low},
		}, "0.2 100 0.2 8 2; 0.2 1000 0.1 8 2"},
	} {
		if got, err := fedtune.TableOf(small, 9, tuners.Objective{}, c.tried); err != nil || got != c.want {
			t.Errorf("%s: %q, %v; want %q", name, got, err, c.want)
		}
	}
	if _, err := fedtune.TableOf(tuners.Params{"init": tuners.Num(0)}, 9, tuners.Objective{}, nil); err == nil ||
		!strings.Contains(err.Error(), "options.init") {
		t.Errorf("wrong options: %v", err)
	}
}

func TestAGivenTable(t *testing.T) {
	const text = "0.2 100 0.05 8 5;\n 0.85 33.5 1e-3 1 0.5 ;"
	table := looked(t, tuners.Params{"table": tuners.Str(text)}, []byte(`{"trials":null}`))
	want := "[{map[hi:0.2 samples:100] client.batch=8 client.epochs=5 client.lr=0.05} {map[hi:0.85 samples:33.5] client.batch=1 client.epochs=0.5 client.lr=0.001}]"
	if got := fmt.Sprint(table); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	for bad, want := range map[string]string{
		"0.2 100 0.05 8":                     `cell 1, "0.2 100 0.05 8": must be 5 numbers, HI SAMPLES LR BATCH EPOCHS, with cells separated by semicolons, not 4`,
		"0.2 100 0.05 8 5, 0.2 200 0.05 8 5": "not 10",
		"0.2 100 0.05 8 5;; 0.4 9 1 1 1":     `cell 2, "": must be 5 numbers`,
		";":                                  `cell 1, ""`,
		"1.2 100 0.05 8 5":                   "HI must be from 0 to 1, not 1.2",
		"0.2 0 0.05 8 5":                     "SAMPLES must be from 1 to 1e9, not 0",
		"0.2 100 NaN 8 5":                    "LR must be greater than 0 and at most 1e6, not NaN",
		"0.2 100 -1 8 5":                     "LR must",
		"0.2 100 0.05 8.5 5":                 "BATCH must be an integer from 1 to 1e6, not 8.5",
		"0.2 100 0.05 8 0":                   "EPOCHS must be greater than 0 and at most 1e4, not 0",
		"0.2 100 0.05 8 many":                "not many",
		"0.2 100 1 8 5; 0.20 1e2 2 4 1":      `cell 2, "0.20 1e2 2 4 1": HI 0.2 and SAMPLES 100 repeat those of an earlier cell`,
	} {
		problems, err := fedtune.Tuner.Validate(t.Context(),
			tuners.ValidateRequest{Options: tuners.Params{"table": tuners.Str(bad)}})
		if err != nil || len(problems) != 1 || problems[0].Key != "options.table" || !strings.Contains(problems[0].Message,
			want) || strings.Contains(problems[0].Message, "\n") {
			t.Errorf("%q: %v, %v; want %q", bad, problems, err, want)
		}
	}
}
