package tuners

import (
	"fmt"
	"math"

	tunerv1 "github.com/fedfast/fedfast/tuners/internal/proto"

	"github.com/fedfast/fedfast/internal/list"
)

// The functions here turn the SDK's types into protocol messages and back. Reading
// checks only that a message can be understood; whether its content is allowed is
// the host's business.

var kindToWire = map[DimKind]tunerv1.Dim_Kind{
	Uniform: tunerv1.Dim_UNIFORM, Log10: tunerv1.Dim_LOG10, Log10OneMinus: tunerv1.Dim_LOG10_1M,
	Int: tunerv1.Dim_INT, Log2: tunerv1.Dim_LOG2, Choice: tunerv1.Dim_CHOICE,
}

func valueToWire(v Value) *tunerv1.Value {
	switch v.kind {
	case NumValue:
		return &tunerv1.Value{Kind: &tunerv1.Value_Number{Number: v.num}}
	case StrValue:
		return &tunerv1.Value{Kind: &tunerv1.Value_Text{Text: v.str}}
	case BoolValue:
		return &tunerv1.Value{Kind: &tunerv1.Value_Truth{Truth: v.num == 1}}
	case NoneValue:
	}
	return &tunerv1.Value{}
}

func valueFromWire(v *tunerv1.Value) Value {
	switch k := v.GetKind().(type) {
	case *tunerv1.Value_Number:
		return Num(k.Number)
	case *tunerv1.Value_Text:
		return Str(k.Text)
	case *tunerv1.Value_Truth:
		return Bool(k.Truth)
	}
	return Value{}
}

func paramsToWire(p Params) *tunerv1.Params {
	if p == nil {
		return nil
	}
	m := make(map[string]*tunerv1.Value, len(p))
	for k, v := range p {
		m[k] = valueToWire(v)
	}
	return &tunerv1.Params{Values: m}
}

func paramsFromWire(p *tunerv1.Params) Params {
	if p == nil {
		return nil
	}
	m := make(Params, len(p.GetValues()))
	for k, v := range p.GetValues() {
		m[k] = valueFromWire(v)
	}
	return m
}

func dimsToWire(dims []Dim) []*tunerv1.Dim {
	var out []*tunerv1.Dim
	for _, d := range dims {
		if d.Step != 0 { // a tuner that knows no steps picks legal values
			for s := d.Lo; s <= d.Hi; s++ {
				d.Choices = append(d.Choices, d.Value(s))
			}
			d.Kind, d.Lo, d.Hi = Choice, 0, 0
		}
		w := &tunerv1.Dim{Name: d.Name, Kind: kindToWire[d.Kind], Lo: d.Lo, Hi: d.Hi}
		for _, v := range d.Choices {
			w.Choices = append(w.Choices, valueToWire(v))
		}
		if d.When != nil {
			w.When = &tunerv1.When{Parent: d.When.Parent}
			for _, v := range d.When.Values {
				w.When.Values = append(w.When.Values, valueToWire(v))
			}
		}
		out = append(out, w)
	}
	return out
}

func dimsFromWire(dims []*tunerv1.Dim) ([]Dim, error) {
	var out []Dim
	for _, w := range dims {
		d := Dim{Name: w.GetName(), Lo: w.GetLo(), Hi: w.GetHi()}
		for kind, wire := range kindToWire { // at most one matches
			if wire == w.GetKind() {
				d.Kind = kind
			}
		}
		for _, v := range w.GetChoices() {
			d.Choices = append(d.Choices, valueFromWire(v))
		}
		if when := w.GetWhen(); when != nil {
			d.When = &When{Parent: when.GetParent()}
			for _, v := range when.GetValues() {
				d.When.Values = append(d.When.Values, valueFromWire(v))
			}
		}
		if err := d.Check(); err != nil {
			return nil, err
		}
		out = append(out, d)
	}
	return out, nil
}

func spaceFromWire(s *tunerv1.Space) (Space, error) {
	dims, err := dimsFromWire(s.GetDims())
	if err != nil {
		return nil, err
	}
	space := Space(dims)
	return space, space.Check()
}

func objectiveToWire(o Objective) *tunerv1.Objective {
	return &tunerv1.Objective{Metric: o.Metric, Target: o.Target, Maximize: o.Direction == Maximize}
}

func objectiveFromWire(o *tunerv1.Objective) Objective {
	out := Objective{Metric: o.GetMetric(), Target: o.GetTarget()}
	if o.GetMaximize() {
		out.Direction = Maximize
	}
	return out
}

func objectivesToWire(all []Objective) []*tunerv1.Objective {
	return list.Of(all, objectiveToWire)
}

func objectivesFromWire(all []*tunerv1.Objective) []Objective {
	return list.Of(all, objectiveFromWire)
}

func constraintsToWire(all []Constraint) []*tunerv1.Constraint {
	var out []*tunerv1.Constraint
	for _, c := range all {
		out = append(out, &tunerv1.Constraint{Metric: c.Metric, Bound: c.Bound, Least: c.Least})
	}
	return out
}

func constraintsFromWire(all []*tunerv1.Constraint) []Constraint {
	var out []Constraint
	for _, w := range all {
		out = append(out, Constraint{Metric: w.GetMetric(), Bound: w.GetBound(), Least: w.GetLeast()})
	}
	return out
}

func priorsToWire(all []Prior) []*tunerv1.Prior {
	var out []*tunerv1.Prior
	for _, p := range all {
		out = append(out, &tunerv1.Prior{Params: paramsToWire(p.Params), Round: int64(p.Round), Whole: p.Whole, Values: p.Values})
	}
	return out
}

func priorsFromWire(all []*tunerv1.Prior) []Prior {
	var out []Prior
	for _, w := range all {
		out = append(out, Prior{Params: paramsFromWire(w.GetParams()), Round: int(w.GetRound()), Whole: w.GetWhole(), Values: w.GetValues()})
	}
	return out
}

func budgetToWire(b Budget) *tunerv1.Budget {
	return &tunerv1.Budget{Rounds: int64(b.Rounds), TrialRounds: int64(b.TrialRounds), Seconds: b.Seconds, Updates: b.Updates}
}

func budgetFromWire(b *tunerv1.Budget) Budget {
	return Budget{Rounds: int(b.GetRounds()), TrialRounds: int(b.GetTrialRounds()), Seconds: b.GetSeconds(), Updates: b.GetUpdates()}
}

func descriptionToWire(d Description) *tunerv1.DescribeReply {
	w := &tunerv1.DescribeReply{
		Name: d.Name, Version: d.Version, Doc: d.Doc,
		Trials: d.Trials, Rounds: d.Rounds, Tables: d.Tables, Architectures: d.Architectures, Fork: d.Fork, Prepare: d.Prepare, Free: d.Free, Seconds: d.Seconds, Jobs: d.Jobs,
		Multi: d.Multi, Constraints: d.Constraints, Priors: d.Priors, NeedsPriors: d.NeedsPriors, Conditions: d.Conditions, Local: d.Local,
		Controls: d.Controls, Adds: dimsToWire(d.Adds), Probes: d.Probes, Scalars: d.Scalars,
	}
	for _, o := range d.Options {
		w.Options = append(w.Options, &tunerv1.DescribeReply_Option{Name: o.Name, Default: valueToWire(o.Default), Doc: o.Doc, Scaled: o.Scaled})
	}
	return w
}

func descriptionFromWire(w *tunerv1.DescribeReply) (Description, error) {
	adds, err := dimsFromWire(w.GetAdds())
	if err != nil {
		return Description{}, fmt.Errorf("added dimension: %w", err)
	}
	d := Description{
		Name: w.GetName(), Version: w.GetVersion(), Doc: w.GetDoc(),
		Trials: w.GetTrials(), Rounds: w.GetRounds(), Tables: w.GetTables(), Architectures: w.GetArchitectures(),
		Fork: w.GetFork(), Prepare: w.GetPrepare(), Free: w.GetFree(), Seconds: w.GetSeconds(), Jobs: w.GetJobs(),
		Multi: w.GetMulti(), Constraints: w.GetConstraints(), Priors: w.GetPriors(), NeedsPriors: w.GetNeedsPriors(), Conditions: w.GetConditions(), Local: w.GetLocal(),
		Controls: w.GetControls(), Adds: adds, Probes: w.GetProbes(), Scalars: w.GetScalars(),
	}
	for _, o := range w.GetOptions() {
		d.Options = append(d.Options, Option{Name: o.GetName(), Default: valueFromWire(o.GetDefault()), Doc: o.GetDoc(), Scaled: o.GetScaled()})
	}
	return d, nil
}

func decisionToWire(d Decision) *tunerv1.Decision {
	return &tunerv1.Decision{
		Kind: tunerv1.Decision_Kind(d.Kind), Trial: int64(d.Trial), Source: int64(d.Source), Params: paramsToWire(d.Params),
		ToRound: int64(d.ToRound), Best: int64(d.Best), Environment: environmentToWire(d.Environment),
		Points: pointsToWire(d.Points), Local: localToWire(d.LocalSearch), Table: cellsToWire(d.Table),
	}
}

func localToWire(l *LocalSearch) *tunerv1.Local {
	if l == nil {
		return nil
	}
	return &tunerv1.Local{Epochs: l.Epochs, Clients: int64(l.Clients), Votes: int64(l.Votes)}
}

func localFromWire(w *tunerv1.Local) *LocalSearch {
	if w == nil {
		return nil
	}
	return &LocalSearch{Epochs: w.GetEpochs(), Clients: int(w.GetClients()), Votes: int(w.GetVotes())}
}

func pointsToWire(points []Params) []*tunerv1.Params {
	var out []*tunerv1.Params
	for _, p := range points {
		if p == nil {
			p = Params{}
		}
		out = append(out, paramsToWire(p))
	}
	return out
}

func pointsFromWire(points []*tunerv1.Params) []Params {
	return list.Of(points, paramsFromWire)
}

func measuredToWire(all []Measured) []*tunerv1.Measured {
	var out []*tunerv1.Measured
	for _, m := range all {
		out = append(out, &tunerv1.Measured{Score: m.Score, Flops: m.FLOPs, Params: m.Params, Votes: m.Votes, Clients: m.Clients})
	}
	return out
}

func measuredFromWire(all []*tunerv1.Measured) []Measured {
	var out []Measured
	for _, m := range all {
		out = append(out, Measured{Score: m.GetScore(), FLOPs: m.GetFlops(), Params: m.GetParams(), Votes: m.GetVotes(), Clients: m.GetClients()})
	}
	return out
}

// wholeToWire and wholeFromWire convert counts.
func wholeToWire(all []int) []int64 {
	return list.Of(all, func(n int) int64 { return int64(n) })
}

func wholeFromWire(all []int64) []int {
	return list.Of(all, func(n int64) int { return int(n) })
}

func environmentToWire(e *Environment) *tunerv1.Environment {
	if e == nil {
		return nil
	}
	return &tunerv1.Environment{Kind: e.Kind, Hi: e.HI, Samples: int64(e.Samples), Clients: int64(e.Clients), Cohort: int64(e.Cohort), Seed: e.Seed}
}

func environmentFromWire(w *tunerv1.Environment) *Environment {
	if w == nil {
		return nil
	}
	return &Environment{Kind: w.GetKind(), HI: w.GetHi(), Samples: int(w.GetSamples()), Clients: int(w.GetClients()), Cohort: int(w.GetCohort()), Seed: w.GetSeed()}
}

func decisionFromWire(w *tunerv1.Decision) Decision {
	return Decision{
		Kind: DecisionKind(w.GetKind()), Trial: int(w.GetTrial()), Source: int(w.GetSource()), Params: paramsFromWire(w.GetParams()),
		ToRound: int(w.GetToRound()), Best: int(w.GetBest()), Environment: environmentFromWire(w.GetEnvironment()),
		Points: pointsFromWire(w.GetPoints()), LocalSearch: localFromWire(w.GetLocal()), Table: cellsFromWire(w.GetTable()),
	}
}

func openToWire(tuner string, r OpenRequest, seq uint64) *tunerv1.OpenRequest {
	return &tunerv1.OpenRequest{
		Tuner: tuner, Study: r.Study, Space: &tunerv1.Space{Dims: dimsToWire(r.Space)}, Options: paramsToWire(r.Options),
		Budget: budgetToWire(r.Budget), Objective: objectiveToWire(r.Objective), Seed: r.Seed, Trial: int64(r.Trial),
		Params: paramsToWire(r.Params), State: r.State, Resume: r.State != nil, Seq: seq,
		Extra: objectivesToWire(r.Extra), Constraints: constraintsToWire(r.Constraints), Priors: priorsToWire(r.Priors),
	}
}

func openFromWire(w *tunerv1.OpenRequest) (OpenRequest, error) {
	space, err := spaceFromWire(w.GetSpace())
	if err != nil {
		return OpenRequest{}, err
	}
	r := OpenRequest{
		Study: w.GetStudy(), Space: space, Options: paramsFromWire(w.GetOptions()), Budget: budgetFromWire(w.GetBudget()),
		Objective: objectiveFromWire(w.GetObjective()), Seed: w.GetSeed(), Trial: int(w.GetTrial()), Params: paramsFromWire(w.GetParams()),
		Extra: objectivesFromWire(w.GetExtra()), Constraints: constraintsFromWire(w.GetConstraints()), Priors: priorsFromWire(w.GetPriors()),
	}
	if w.GetResume() {
		r.State = append([]byte{}, w.GetState()...)
	}
	return r, nil
}

func cellsToWire(table []Cell) []*tunerv1.Cell {
	var out []*tunerv1.Cell
	for _, c := range table {
		out = append(out, &tunerv1.Cell{Keys: c.Keys, Params: paramsToWire(c.Params)})
	}
	return out
}

func cellsFromWire(table []*tunerv1.Cell) []Cell {
	var out []Cell
	for _, c := range table {
		out = append(out, Cell{Keys: c.GetKeys(), Params: paramsFromWire(c.GetParams())})
	}
	return out
}

func planToWire(p Plan) *tunerv1.PlanRoundReply {
	w := &tunerv1.PlanRoundReply{Server: paramsToWire(p.Server), Likeliest: paramsToWire(p.Likeliest), Probability: p.Probability}
	w.Clients = pointsToWire(p.Clients)
	w.Table = cellsToWire(p.Table)
	for name, values := range p.Notes {
		if w.Notes == nil {
			w.Notes = make(map[string]*tunerv1.Note, len(p.Notes))
		}
		w.Notes[name] = &tunerv1.Note{Values: values}
	}
	return w
}

func planFromWire(w *tunerv1.PlanRoundReply) Plan {
	p := Plan{Server: paramsFromWire(w.GetServer()), Likeliest: paramsFromWire(w.GetLikeliest()), Probability: w.GetProbability()}
	p.Clients = pointsFromWire(w.GetClients())
	p.Table = cellsFromWire(w.GetTable())
	for name, note := range w.GetNotes() {
		if p.Notes == nil {
			p.Notes = make(map[string][]float64, len(w.GetNotes()))
		}
		p.Notes[name] = note.GetValues()
	}
	return p
}

func slotsToWire(slots []Slot) []*tunerv1.Slot {
	out := make([]*tunerv1.Slot, len(slots))
	for i, s := range slots {
		out[i] = &tunerv1.Slot{Probes: s.Probes, Dropped: s.Dropped}
		if j := s.Job; j != nil {
			out[i].Job = &tunerv1.Job{Round: int64(j.Round), Slot: int64(j.Slot), Staleness: int64(j.Staleness), Weight: j.Weight, Fate: j.Fate}
		}
	}
	return out
}

func slotsFromWire(slots []*tunerv1.Slot) []Slot {
	out := make([]Slot, len(slots))
	for i, s := range slots {
		out[i] = Slot{Probes: s.GetProbes(), Dropped: s.GetDropped()}
		if j := s.GetJob(); j != nil {
			out[i].Job = &Job{Round: int(j.GetRound()), Slot: int(j.GetSlot()), Staleness: int(j.GetStaleness()), Weight: j.GetWeight(), Fate: j.GetFate()}
		}
	}
	return out
}

func workToWire(k Work) *tunerv1.ValidateReply_Work {
	w := &tunerv1.ValidateReply_Work{Trials: int32(min(k.Trials, math.MaxInt32)), Rounds: int32(k.Rounds), Clients: int32(k.Clients), Examples: k.Examples}
	w.Points = pointsToWire(k.Points)
	return w
}

// workFromWire takes what a tuner tells of its work; what cannot be is nothing.
func workFromWire(w *tunerv1.ValidateReply_Work) Work {
	k := Work{Trials: max(0, int(w.GetTrials())), Rounds: max(0, int(w.GetRounds())), Clients: max(0, int(w.GetClients())), Examples: w.GetExamples()}
	if !(k.Examples >= 0 && k.Examples <= math.MaxInt32) {
		k.Examples = 0
	}
	k.Points = pointsFromWire(w.GetPoints())
	return k
}
