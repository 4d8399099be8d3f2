package dehb

import (
	"context"
	"fmt"
	"slices"

	"github.com/fedfast/fedfast/internal/tuner/internal/record"
	"github.com/fedfast/fedfast/tuners"
)

// session runs one study, a rung at a time: all trials of a rung are decided before the first of
// them reports, so that the order of reports changes nothing.
type session struct {
	tuners.TrialsOnly
	record.Record
	*plan
	req   tuners.OpenRequest
	state state
}

// state is everything that calls change.
type state struct {
	Bracket     int          `json:"bracket"` // index into the schedule
	Rung        int          `json:"rung"`    // index into the bracket's rungs
	Next        int          `json:"next"`    // number of the next trial
	Running     bool         `json:"running"` // the rung's trials are out
	Arms        []arm        `json:"arms"`
	Populations []population `json:"populations"`
	Best        int          `json:"best"` // the best trial of the last rung, -1: none yet
	Score       float64      `json:"score"`
}

// arm is a trial of the running rung.
type arm struct {
	Trial  int       `json:"trial"`
	At     []float64 `json:"at"`
	Parent int       `json:"parent"` // whose place in the rung's population it may take
	record.Outcome
}

// open starts or continues a session.
func open(req tuners.OpenRequest, p *plan) (tuners.Session, error) {
	s := &session{plan: p, req: req, state: state{Best: -1}}
	if req.State == nil {
		s.state.Populations = populations(p.pass, req.Seed, len(req.Space))
	}
	return s, s.Begin("dehb", req.State, &s.state)
}

// Suggest returns all trials of a rung together.
func (s *session) Suggest(context.Context, int) ([]tuners.Decision, error) {
	var out []tuners.Decision
	if s.state.Running {
		if slices.ContainsFunc(s.state.Arms, func(a arm) bool { return !a.Reported }) {
			return []tuners.Decision{{Kind: tuners.Wait}}, nil
		}
		out = s.closeRung()
	}
	for s.state.Bracket < len(s.schedule) {
		if send := s.openRung(); len(send) > 0 {
			s.state.Running = true
			return append(out, send...), s.Save(&s.state)
		}
		s.advance() // all trials below failed
	}
	out = append(out, s.stopPaused()...)
	return append(out, tuners.Decision{Kind: tuners.Done, Best: s.state.Best}), s.Save(&s.state)
}

// openRung returns the decisions of the current rung.
func (s *session) openRung() []tuners.Decision {
	b := s.schedule[s.state.Bracket]
	var out []tuners.Decision
	if b.evolved {
		out = s.stopPaused() // of the first pass
	}
	own, n := s.at(b.Rungs[s.state.Rung]), b.Arms[s.state.Rung]
	p := &s.state.Populations[own]
	s.state.Arms = nil
	if s.state.Rung > 0 && !b.evolved {
		for _, m := range s.promoted(own-1, n) {
			s.state.Arms = append(s.state.Arms, arm{Trial: m.Trial, At: m.At, Parent: p.next()})
			out = append(out, tuners.Decision{Kind: tuners.Resume, Trial: m.Trial, ToRound: p.Rung})
		}
		return out
	}
	below := own
	if s.state.Rung > 0 {
		below--
	}
	for range n {
		a := arm{Trial: s.state.Next, Parent: p.next()}
		s.state.Next++
		if parent := &p.Members[a.Parent]; parent.Reported {
			d := tuners.NewDraws(s.req.Seed, a.Trial, 0, "dehb child")
			a.At = s.child(parent.At, s.pool(s.state.Populations, below, n, s.req.Objective, d), d)
		} else {
			a.At = parent.At
		}
		s.state.Arms = append(s.state.Arms, a)
		out = append(out, tuners.Decision{Kind: tuners.Start, Trial: a.Trial, ToRound: p.Rung, Params: s.params(a.At)})
	}
	return out
}

// promoted returns the best n of a population whose trials wait there, and has them go on.
func (s *session) promoted(below, n int) []member {
	var out []member
	p := &s.state.Populations[below]
	for _, i := range p.ranked(s.req.Objective) {
		if m := &p.Members[i]; m.Paused && len(out) < n {
			out = append(out, *m)
			m.Paused = false
		}
	}
	slices.SortFunc(out, func(a, b member) int { return a.Trial - b.Trial })
	return out
}

// at returns the index of the population of a rung.
func (s *session) at(rung int) int {
	return slices.IndexFunc(s.state.Populations, func(p population) bool { return p.Rung == rung })
}

// params returns the params of a point of the unit cube.
func (s *session) params(at []float64) tuners.Params {
	p := make(tuners.Params, len(at))
	for i, d := range s.req.Space {
		p[d.Name] = d.Sample(at[i])
	}
	return s.req.Space.Active(p)
}

// closeRung has each trial of a rung compete with its parent, and stops those that are of no
// more use.
func (s *session) closeRung() []tuners.Decision {
	var out []tuners.Decision
	b := s.schedule[s.state.Bracket]
	own := s.at(b.Rungs[s.state.Rung])
	p := &s.state.Populations[own]
	last := own == len(s.state.Populations)-1
	for _, a := range s.state.Arms {
		parent := &p.Members[a.Parent]
		wins := parent.loses(a.Outcome, s.req.Objective)
		if wins {
			if parent.Paused {
				out = append(out, stop(parent.Trial)...)
			}
			*parent = member{At: a.At, Trial: a.Trial, Outcome: a.Outcome, Paused: !b.evolved && !last && !a.Failed}
		}
		switch {
		case wins && parent.Paused:
		case last && !a.Failed && (s.state.Best < 0 || s.req.Objective.Better(a.Score, s.state.Score)):
			if s.state.Best >= 0 {
				out = append(out, stop(s.state.Best)...)
			}
			s.state.Best, s.state.Score = a.Trial, a.Score
		default:
			out = append(out, stop(a.Trial)...)
		}
	}
	s.advance()
	return out
}

// advance goes to the next rung or bracket.
func (s *session) advance() {
	s.state.Arms, s.state.Running = nil, false
	if s.state.Rung++; s.state.Rung == len(s.schedule[s.state.Bracket].Rungs) {
		s.state.Rung = 0
		s.state.Bracket++
	}
}

// stopPaused stops the trials that waited to go on.
func (s *session) stopPaused() []tuners.Decision {
	var out []tuners.Decision
	for i := range s.state.Populations {
		for k := range s.state.Populations[i].Members {
			if m := &s.state.Populations[i].Members[k]; m.Paused {
				out = append(out, stop(m.Trial)...)
				m.Paused = false
			}
		}
	}
	return out
}

func stop(trial int) []tuners.Decision {
	return []tuners.Decision{{Kind: tuners.Stop, Trial: trial}, {Kind: tuners.Release, Trial: trial}}
}

// Report keeps a trial's score.
func (s *session) Report(_ context.Context, r tuners.TrialReport) error {
	i := slices.IndexFunc(s.state.Arms, func(a arm) bool { return a.Trial == r.Trial })
	if i < 0 || !s.state.Running || s.state.Arms[i].Reported {
		return fmt.Errorf("dehb: report for trial %d, which is not running", r.Trial)
	}
	s.state.Arms[i].Outcome = record.OutcomeOf(r)
	return s.Save(&s.state)
}
