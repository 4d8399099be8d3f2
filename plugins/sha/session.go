package sha

import (
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/fedfast/fedfast/plugins/internal/record"
	"github.com/fedfast/fedfast/tuners"
)

// session runs one study. Its params are keyed draws, so the state holds the arms
// of the running rung only.
type session struct {
	tuners.TrialsOnly
	record.Record
	req   tuners.OpenRequest
	eta   int
	rungs []int
	state state
}

// state is everything that calls change.
type state struct {
	Stage   int   `json:"stage"`   // index into rungs
	Running bool  `json:"running"` // the stage's decisions are out
	Arms    []arm `json:"arms"`    // of the stage, by trial number; after the last stage the survivor, or none
}

// arm is one trial of the running stage.
type arm struct {
	Trial    int     `json:"trial"`
	Reported bool    `json:"reported,omitempty"`
	Failed   bool    `json:"failed,omitempty"`
	Score    float64 `json:"score,omitempty"`
}

func newSession(req tuners.OpenRequest, eta int, rungs []int) (*session, error) {
	s := &session{req: req, eta: eta, rungs: rungs}
	if req.State != nil {
		if err := record.Read("sha", req.State, &s.state); err != nil {
			return nil, err
		}
		return s, s.Save(&s.state)
	}
	s.state.Arms = make([]arm, s.width(0))
	for i := range s.state.Arms {
		s.state.Arms[i].Trial = i
	}
	return s, s.Save(&s.state)
}

// width is the number of arms that stage i has when no trial failed: eta^(R-i).
func (s *session) width(i int) int {
	n := 1
	for range len(s.rungs) - 1 - i {
		n *= s.eta
	}
	return n
}

// Suggest returns all trials of a rung together: they depend on no outstanding
// report.
func (s *session) Suggest(context.Context, int) ([]tuners.Decision, error) {
	var out []tuners.Decision
	if s.state.Running {
		if slices.ContainsFunc(s.state.Arms, func(a arm) bool { return !a.Reported }) {
			return []tuners.Decision{{Kind: tuners.Wait}}, nil
		}
		out = s.eliminate()
	}
	if s.state.Stage == len(s.rungs) || len(s.state.Arms) == 0 {
		best := -1
		if len(s.state.Arms) > 0 {
			best = s.state.Arms[0].Trial
		}
		return append(out, tuners.Decision{Kind: tuners.Done, Best: best}), s.Save(&s.state)
	}
	for _, a := range s.state.Arms {
		d := tuners.Decision{Kind: tuners.Resume, Trial: a.Trial, ToRound: s.rungs[s.state.Stage]}
		if s.state.Stage == 0 {
			d.Kind = tuners.Start
			d.Params = s.req.Space.Sample(tuners.NewDraws(s.req.Seed, a.Trial, 0, "trial params"))
		}
		out = append(out, d)
	}
	s.state.Running = true
	return out, s.Save(&s.state)
}

// eliminate closes the running stage: the best go on, see Keep.
func (s *session) eliminate() []tuners.Decision {
	scores := make([]float64, len(s.state.Arms))
	for i, a := range s.state.Arms {
		if scores[i] = a.Score; a.Failed {
			scores[i] = math.NaN()
		}
	}
	s.state.Stage++
	width := 1 // the survivor of the last stage
	if s.state.Stage < len(s.rungs) {
		width = s.width(s.state.Stage)
	}
	kept := Keep(s.req.Objective, scores, width)
	var out []tuners.Decision
	var next []arm
	for i, a := range s.state.Arms {
		if slices.Contains(kept, i) {
			next = append(next, arm{Trial: a.Trial})
		} else {
			out = append(out, tuners.Decision{Kind: tuners.Stop, Trial: a.Trial}, tuners.Decision{Kind: tuners.Release, Trial: a.Trial})
		}
	}
	s.state.Arms, s.state.Running = next, false
	return out
}

// Report keeps an arm's score.
func (s *session) Report(_ context.Context, r tuners.TrialReport) error {
	i := slices.IndexFunc(s.state.Arms, func(a arm) bool { return a.Trial == r.Trial })
	if i < 0 || !s.state.Running || s.state.Arms[i].Reported {
		return fmt.Errorf("sha: report for trial %d, which is not running", r.Trial)
	}
	a := &s.state.Arms[i]
	a.Reported = true
	if a.Failed = r.Unusable(); !a.Failed {
		a.Score = r.Score
	}
	return s.Save(&s.state)
}
