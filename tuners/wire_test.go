package tuners

import (
	"reflect"
	"testing"

	tunerv1 "github.com/fedfast/fedfast/tuners/internal/proto"
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
	if got := carried[Description](carried[*tunerv1.DescribeReply](want)); !reflect.DeepEqual(got, want) {
		t.Errorf("of %+v arrives\n%+v", want, got)
	}
}

// TestStepsOverTheWire has a dimension with a step arrive as the choice of its values.
func TestStepsOverTheWire(t *testing.T) {
	d := Dim{Name: "x", Kind: Int, Base: 8, Step: 8, Hi: 2}
	got := carried[[]Dim](carried[[]*tunerv1.Dim]([]Dim{d}))
	want := []Dim{{Name: "x", Kind: Choice, Choices: []Value{Num(8), Num(16), Num(24)}}}
	if !reflect.DeepEqual(got, want) || len(d.Choices) > 0 {
		t.Errorf("arrives as %v; want %v", got, want)
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
	if got := carried[Decision](carried[*tunerv1.Decision](want)); !reflect.DeepEqual(got, want) {
		t.Errorf("of %+v arrives\n%+v", want, got)
	}
}

// TestFieldsOverTheWire has the protocol know each field and each kind of dimension of the SDK.
func TestFieldsOverTheWire(t *testing.T) {
	for _, sides := range [][2]any{
		{Description{}, tunerv1.DescribeReply{}},
		{Decision{}, tunerv1.Decision{}},
		{ValidateRequest{}, tunerv1.ValidateRequest{}},
		{OpenRequest{}, tunerv1.OpenRequest{}},
		{TrialReport{}, tunerv1.ReportRequest{}},
		{PlanRequest{}, tunerv1.PlanRoundRequest{}},
		{Plan{}, tunerv1.PlanRoundReply{}},
		{Observation{}, tunerv1.ObserveRoundRequest{}},
		{Work{}, tunerv1.ValidateReply_Work{}},
	} {
		theirs := fieldsOf(reflect.TypeOf(sides[1]))
		for name := range fieldsOf(reflect.TypeOf(sides[0])) {
			if _, ok := theirs[name]; !ok {
				t.Errorf("the protocol's %T has no %s", sides[1], name)
			}
		}
	}
	for name, number := range tunerv1.Dim_Kind_value {
		if kind := carried[DimKind](tunerv1.Dim_Kind(number)); (kind == "") != (number == 0) ||
			carried[tunerv1.Dim_Kind](kind) != tunerv1.Dim_Kind(number) {
			t.Errorf("%s arrives as %q", name, kind)
		}
	}
}

// TestPlanOverTheWire has every field of a plan and of an observation arrive.
func TestPlanOverTheWire(t *testing.T) {
	p := Params{"client.lr": Num(0.5), "client.optimizer": Str("adam"), "x": Bool(true)}
	plan := Plan{
		Server: Params{}, Clients: []Params{p, {}}, Table: []Cell{{Keys: map[string]float64{KeyHI: 0.2}, Params: p}},
		Notes: map[string][]float64{"entropy": {1, 2}, "none": {}}, Likeliest: p, Probability: 0.5,
	}
	if got := carried[Plan](carried[*tunerv1.PlanRoundReply](plan)); !reflect.DeepEqual(got, plan) {
		t.Errorf("of %+v arrives\n%+v", plan, got)
	}
	seen := Observation{
		Trial: 1, Round: 2, Oldest: 3, Aggregates: map[string]float64{"loss": 1},
		Slots: []Slot{
			{Probes: map[string]float64{"a": 1}},
			{Dropped: true, Job: &Job{Round: 1, Slot: 2, Staleness: 3, Weight: 0.5, Fate: "late"}},
		},
	}
	if got := carried[Observation](carried[*tunerv1.ObserveRoundRequest](seen)); !reflect.DeepEqual(got, seen) {
		t.Errorf("of %+v arrives\n%+v", seen, got)
	}
	ask := OpenRequest{
		Space: Space{{Name: "a", Kind: Choice, Choices: []Value{Num(1)}, When: &When{"b", []Value{Str("c")}}}}, Trial: -1,
		Objective: Objective{Metric: MetricAccuracy, Direction: Maximize}, Extra: []Objective{{Metric: MetricError}},
		Constraints: []Constraint{{"x", 1, true}}, Priors: []Prior{{Params: p, Round: 3, Whole: true}}, Params: Params{},
	}
	if got := carried[OpenRequest](carried[*tunerv1.OpenRequest](ask)); !reflect.DeepEqual(got, ask) {
		t.Errorf("of %+v arrives\n%+v", ask, got)
	}
}
