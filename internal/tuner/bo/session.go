package bo

import (
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/fedfast/fedfast/internal/tuner/internal/gp"
	"github.com/fedfast/fedfast/internal/tuner/internal/record"
	"github.com/fedfast/fedfast/tuners"
)

// session runs one study. What it proposes depends on the reports so far, in any
// order in which they came, and on the trials in flight.
type session struct {
	tuners.TrialsOnly
	record.Record
	plan
	req   tuners.OpenRequest
	scale scale
	state state

	process *gp.Process // of the last proposals, whose work the next ones need not do again
}

// state is everything that calls change.
type state struct {
	Trials []trial `json:"trials"` // by number
	Model  *model  `json:"model,omitempty"`
}

// model is the result of the last fit.
type model struct {
	Scores int      `json:"scores"` // the number of scores that it was fitted to
	Hyper  gp.Hyper `json:"hyper"`
}

// stale says whether a number of scores calls for a new fit: up to 30, every new score
// does, then a tenth more. A fit's time grows with the cube of the number of scores,
// and the more there are, the less the hyperparameters move.
func (m *model) stale(scores int) bool {
	return m == nil || scores != m.Scores && (scores <= 30 || scores >= m.Scores+(m.Scores+9)/10)
}

// trial is what became of one trial.
type trial struct {
	Point    point   `json:"point"`
	Reported bool    `json:"reported,omitempty"`
	Failed   bool    `json:"failed,omitempty"`
	Score    float64 `json:"score,omitempty"`
}

func newSession(req tuners.OpenRequest, p plan) (*session, error) {
	s := &session{plan: p, req: req, scale: scale{req.Space}}
	if req.State != nil {
		if err := record.Read("bo", req.State, &s.state); err != nil {
			return nil, err
		}
		for i, t := range s.state.Trials {
			if len(t.Point) != len(req.Space) {
				return nil, fmt.Errorf("bo: recorded state is damaged: trial %d has %d coordinates, the space has %d dimensions", i, len(t.Point), len(req.Space))
			}
		}
	}
	return s, s.Save(&s.state)
}

// Suggest returns the random trials together, then fills the places in flight with
// proposals.
func (s *session) Suggest(_ context.Context, n int) ([]tuners.Decision, error) {
	var out []tuners.Decision
	if len(s.state.Trials) == 0 {
		for i := range s.initial {
			params := s.req.Space.Sample(tuners.NewDraws(s.req.Seed, i, 0, "trial params"))
			out = append(out, s.start(s.scale.point(params), params))
		}
		return out, s.Save(&s.state)
	}
	flying := 0
	for _, t := range s.state.Trials {
		if !t.Reported {
			flying++
		}
	}
	if free := min(max(1, n)-flying, s.trials-len(s.state.Trials)); free > 0 {
		points, err := s.propose(free)
		if err != nil {
			return nil, fmt.Errorf("bo: %w", err)
		}
		for _, p := range points {
			out = append(out, s.start(p, s.scale.params(p)))
		}
		flying += free
	}
	switch {
	case flying == 0:
		return []tuners.Decision{{Kind: tuners.Done, Best: s.best()}}, nil
	case len(out) == 0:
		return []tuners.Decision{{Kind: tuners.Wait}}, nil
	}
	return out, s.Save(&s.state)
}

// start records a new trial.
func (s *session) start(p point, params tuners.Params) tuners.Decision {
	s.state.Trials = append(s.state.Trials, trial{Point: p})
	return tuners.Decision{
		Kind: tuners.Start, Trial: len(s.state.Trials) - 1, Params: params, ToRound: s.req.Budget.TrialRounds,
	}
}

// fitIterations bounds each search of a fit.
const fitIterations = 50

// propose returns the points of the next trials: random ones while no trial has a
// score.
func (s *session) propose(n int) ([]point, error) {
	var x, flying []point
	var y []float64
	for _, t := range s.state.Trials {
		switch {
		case !t.Reported:
			flying = append(flying, t.Point)
		case t.Failed:
			x, y = append(x, t.Point), append(y, math.NaN())
		default:
			x, y = append(x, t.Point), append(y, s.lower(t.Score))
		}
	}
	out := make([]point, 0, n)
	first := len(s.state.Trials)
	if !tame(y) {
		for i := range n {
			out = append(out, s.scale.draw(tuners.NewDraws(s.req.Seed, first+i, 0, "trial params")))
		}
		return out, nil
	}
	features := make([][]float64, len(x))
	for i, p := range x {
		features[i] = s.scale.features(p)
	}
	if s.state.Model.stale(len(x)) {
		s.state.Model, s.process = &model{Scores: len(x), Hyper: gp.Fit(features, y, fitIterations)}, nil
	}
	if s.process == nil {
		s.process = gp.Prior(s.state.Model.Hyper)
	}
	var err error
	if s.process, err = s.process.Given(features, y); err != nil {
		return nil, err
	}
	r := newProposer(s.scale, s.process, x)
	for _, p := range flying {
		if err := r.launch(p); err != nil {
			return nil, err
		}
	}
	for i := range n {
		p := r.choose(s.scale.candidates(s.req.Seed, first+i, s.candidates))
		if err := r.launch(p); err != nil {
			return nil, err
		}
		out = append(out, p)
	}
	return out, nil
}

// tame bounds outcomes, lower ones being better, so that trials that diverged do
// not hide the differences between the others: none stays farther from the best
// than five times the median does, and failed trials (NaN) count as the worst. It
// says whether there is a number.
func tame(y []float64) bool {
	var sorted []float64
	for _, v := range y {
		if v == v {
			sorted = append(sorted, v)
		}
	}
	if len(sorted) == 0 {
		return false
	}
	slices.Sort(sorted)
	best, median, worst := sorted[0], sorted[len(sorted)/2], sorted[len(sorted)-1]
	if median > best {
		worst = min(worst, best+float64(5*(median-best)))
	}
	for i, v := range y {
		if !(v < worst) { // NaN, too
			y[i] = worst
		}
	}
	return true
}

// lower turns a score into one that is better when lower.
func (s *session) lower(score float64) float64 {
	if s.req.Objective.Direction == tuners.Maximize {
		return -score
	}
	return score
}

// best returns the trial of the best score, the lower number of a tie, -1 when all
// failed.
func (s *session) best() int {
	best := -1
	for i, t := range s.state.Trials {
		if t.Reported && !t.Failed && (best < 0 || s.req.Objective.Better(t.Score, s.state.Trials[best].Score)) {
			best = i
		}
	}
	return best
}

// Report keeps a trial's score.
func (s *session) Report(_ context.Context, r tuners.TrialReport) error {
	if r.Trial < 0 || r.Trial >= len(s.state.Trials) || s.state.Trials[r.Trial].Reported {
		return fmt.Errorf("bo: report for trial %d, which is not running", r.Trial)
	}
	t := &s.state.Trials[r.Trial]
	t.Reported = true
	if t.Failed = r.Unusable(); !t.Failed {
		t.Score = r.Score
	}
	return s.Save(&s.state)
}
