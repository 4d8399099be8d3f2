package tuners

import (
	"reflect"
	"testing"
)

// TestDescriptionOverTheWire has every field of a description arrive.
func TestDescriptionOverTheWire(t *testing.T) {
	want := Description{
		Name: "x", Version: "1", Doc: "doc", Options: []Option{{Name: "o", Default: Num(2), Doc: "an option", Scaled: true}},
		Controls: []string{"client.*"}, Adds: []Dim{{Name: "x.y", Kind: Uniform, Lo: 1, Hi: 2}}, Probes: []string{"p"},
		Scalars: []string{ScalarClientKey},
	}
	v := reflect.ValueOf(&want).Elem()
	for i := range v.NumField() {
		if f := v.Field(i); f.Kind() == reflect.Bool {
			f.SetBool(true)
		}
		if v.Field(i).IsZero() {
			t.Errorf("the test sets no %s", v.Type().Field(i).Name)
		}
	}
	got, err := descriptionFromWire(descriptionToWire(want))
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("of %+v arrives\n%+v, %v", want, got, err)
	}
}

// TestStepsOverTheWire has a dimension with a step arrive as the choice of its values.
func TestStepsOverTheWire(t *testing.T) {
	d := Dim{Name: "x", Kind: Int, Base: 8, Step: 8, Hi: 2}
	got, err := dimsFromWire(dimsToWire([]Dim{d}))
	want := []Dim{{Name: "x", Kind: Choice, Choices: []Value{Num(8), Num(16), Num(24)}}}
	if err != nil || !reflect.DeepEqual(got, want) || len(d.Choices) > 0 {
		t.Errorf("arrives as %v, %v; want %v", got, err, want)
	}
}

// TestDecisionOverTheWire has every field of a decision arrive.
func TestDecisionOverTheWire(t *testing.T) {
	p := Params{"client.lr": Num(0.5)}
	want := Decision{
		Kind: Start, Trial: 3, Source: 2, Params: p, ToRound: 7, Best: 4, Points: []Params{p, {"x": Str("y")}},
		Environment: &Environment{Kind: Proxy, HI: 0.5, Samples: 6, Clients: 5, Cohort: 4, Seed: 9},
		Table: []Cell{
			{Keys: map[string]float64{KeyHI: 0.2, KeySamples: 10}, Params: p},
			{Params: Params{"client.lr": Num(2)}},
		},
		LocalSearch: &LocalSearch{Epochs: 2, Clients: 3, Votes: 1},
	}
	for v, i := reflect.ValueOf(want), 0; i < v.NumField(); i++ {
		if v.Field(i).IsZero() {
			t.Errorf("the test sets no %s", v.Type().Field(i).Name)
		}
	}
	if got := decisionFromWire(decisionToWire(want)); !reflect.DeepEqual(got, want) {
		t.Errorf("of %+v arrives\n%+v", want, got)
	}
}
