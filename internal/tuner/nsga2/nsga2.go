// Package nsga2 is the built-in tuner `nsga2`: NSGA-II (Deb et al. 2002) over a search
// space, with the crossover and mutation of Optuna's sampler. Generation after generation
// of trials, each of which runs to the end, it keeps those that no other beats in all
// objectives, and of these the ones with the most room around them.
package nsga2

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/fedfast/fedfast/internal/pareto"
	"github.com/fedfast/fedfast/internal/tuner/internal/options"
	"github.com/fedfast/fedfast/internal/tuner/internal/points"
	"github.com/fedfast/fedfast/internal/tuner/internal/record"
	"github.com/fedfast/fedfast/tuners"
)

// The ends of the options.
const (
	maxTrials     = 10_000 // their points are sent with every answer
	maxPopulation = 1000
)

// Tuner is NSGA-II.
var Tuner = options.Tuner[settings]{About: options.About("nsga2"), Plan: read, Study: open}

// settings are the checked options.
type settings struct {
	trials, population        int
	crossover, swap, mutation float64
}

func read(r *options.Reader, req tuners.ValidateRequest) settings {
	s := settings{
		population: r.Whole("population", 0, maxPopulation), trials: r.Trials(req.Budget, maxTrials),
		crossover: r.Share("crossover"), swap: r.Share("swap"), mutation: r.Share("mutation"),
	}
	if s.population == 0 {
		s.population = 4
		for (s.population+1)*(s.population+1) <= s.trials {
			s.population++
		}
	}
	switch {
	case len(r.Problems) > 0:
	case s.population == 1:
		r.Problem("options.population", "a generation needs 2 trials or more, not 1")
	case s.population >= s.trials:
		r.Problem("options.population", "a generation of %d trials leaves none of %d for the next: lower options.population or raise budget.rounds", s.population, s.trials)
	}
	return s
}

// individual is a trial.
type individual struct {
	Trial int          `json:"trial"`
	Point points.Point `json:"point"`
	record.Outcome
}

// state is everything that calls change.
type state struct {
	Next       int          `json:"next"`       // number of the next trial
	Generation int          `json:"generation"` // that was sent last, from 1 on
	Trials     []individual `json:"trials"`     // of that one
	Parents    []individual `json:"parents"`    // survivors of those before it, the fittest first
	Best       *individual  `json:"best,omitempty"`
}

// session runs one study.
type session struct {
	tuners.TrialsOnly
	record.Record
	req   tuners.OpenRequest
	aims  tuners.Aims
	set   settings
	state state
}

func open(req tuners.OpenRequest, set settings) (tuners.Session, error) {
	s := &session{req: req, aims: req.Aims(), set: set}
	if set.mutation == 0 {
		s.set.mutation = 1 / float64(max(1, len(req.Space)))
	}
	if err := s.Begin("nsga2", req.State, &s.state); err != nil {
		return nil, err
	}
	for _, t := range slices.Concat(s.state.Parents, s.state.Trials) {
		if err := t.Point.Check(req.Space); err != nil {
			return nil, fmt.Errorf("nsga2: recorded state is damaged: trial %d has %w", t.Trial, err)
		}
	}
	return s, nil
}

// Suggest sends a generation once all of the one before have reported.
func (s *session) Suggest(context.Context, int) ([]tuners.Decision, error) {
	st := &s.state
	if slices.ContainsFunc(st.Trials, func(t individual) bool { return !t.Reported }) {
		return []tuners.Decision{{Kind: tuners.Wait}}, nil
	}
	n := min(s.set.population, s.set.trials-st.Next)
	if n == 0 {
		best := -1
		if st.Best != nil {
			best = st.Best.Trial
		}
		return []tuners.Decision{{Kind: tuners.Done, Best: best}}, nil
	}
	s.survive()
	out := make([]tuners.Decision, n)
	for i := range out {
		t := individual{Trial: st.Next, Point: s.point(st.Next)}
		st.Trials = append(st.Trials, t)
		st.Next++
		out[i] = tuners.Decision{Kind: tuners.Start, Trial: t.Trial, Params: t.Point.Params(s.req.Space), ToRound: s.req.Budget.TrialRounds}
	}
	st.Generation++
	return out, s.Save(st)
}

// survive picks the parents of the next generation among those of the last and their
// children: feasible trials first, then those that exceed constraints the least.
func (s *session) survive() {
	st := &s.state
	var feasible, others []individual
	var losses [][]float64
	for _, t := range slices.Concat(st.Parents, st.Trials) {
		switch {
		case t.Failed:
		case t.Violation > 0:
			others = append(others, t)
		default:
			feasible, losses = append(feasible, t), append(losses, s.losses(t))
		}
	}
	st.Parents, st.Trials = nil, nil
	for _, k := range pareto.Fittest(losses, s.set.population) {
		st.Parents = append(st.Parents, feasible[k])
	}
	slices.SortStableFunc(others, func(a, b individual) int {
		return cmp.Or(cmp.Compare(a.Violation, b.Violation), cmp.Compare(a.Trial, b.Trial))
	})
	st.Parents = append(st.Parents, others[:min(len(others), s.set.population-len(st.Parents))]...)
}

// losses of a trial, which with one objective is its score.
func (s *session) losses(t individual) []float64 {
	switch {
	case t.Losses != nil:
		return t.Losses
	case s.req.Objective.Direction == tuners.Maximize:
		return []float64{-t.Score}
	}
	return []float64{t.Score}
}

// point is the point of a new trial: at random in the first generation, and where all failed,
// else a child of the winners of tournaments of two.
func (s *session) point(trial int) points.Point {
	space, parents := s.req.Space, s.state.Parents
	fresh := points.Of(space, withoutConditions(space).Sample(tuners.NewDraws(s.req.Seed, trial, 0, "trial params")))
	if len(parents) == 0 {
		return fresh
	}
	d := tuners.NewDraws(s.req.Seed, trial, s.state.Generation, "nsga2 child")
	winner := func() points.Point {
		return parents[min(d.IntN(len(parents)), d.IntN(len(parents)))].Point
	}
	child := slices.Clone(winner())
	if other := winner(); d.Float64() < s.set.crossover {
		for i := range child {
			if d.Float64() < s.set.swap {
				child[i] = other[i]
			}
		}
	}
	for i := range child {
		if d.Float64() < s.set.mutation {
			child[i] = fresh[i]
		}
	}
	return child
}

// withoutConditions is the space of all dimensions: a child may inherit what its parent does
// not use.
func withoutConditions(s tuners.Space) tuners.Space {
	out := slices.Clone(s)
	for i := range out {
		out[i].When = nil
	}
	return out
}

// Report keeps what a trial came to. The best is that in the first objective among those
// that exceed constraints the least, of equal ones the lower number.
func (s *session) Report(_ context.Context, r tuners.TrialReport) error {
	st := &s.state
	i := slices.IndexFunc(st.Trials, func(t individual) bool { return t.Trial == r.Trial && !t.Reported })
	if i < 0 {
		return fmt.Errorf("nsga2: report for trial %d, which is not running", r.Trial)
	}
	t := &st.Trials[i]
	t.Outcome = record.OutcomeIn(s.aims, r)
	if best := st.Best; !t.Failed && (best == nil || t.Better(best.Outcome, s.req.Objective) || t.Trial < best.Trial && !best.Better(t.Outcome, s.req.Objective)) {
		st.Best = new(*t)
	}
	return s.Save(st)
}
