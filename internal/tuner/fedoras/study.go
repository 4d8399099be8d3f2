package fedoras

import (
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/fedfast/fedfast/internal/list"
	"github.com/fedfast/fedfast/internal/tuner/internal/record"
	"github.com/fedfast/fedfast/kernels/det"
	"github.com/fedfast/fedfast/tuners"
)

// network is a sub-network that was scored.
type network struct {
	Pick  []int    `json:"pick"`
	Score *float64 `json:"score,omitempty"` // nil where it is not finite
	FLOPs float64  `json:"flops"`
}

// state is everything that calls change. Trial 0 trains the supernet, the others what
// was found in it.
type state struct {
	Started    int       `json:"started"` // trials
	Reported   int       `json:"reported"`
	Generation int       `json:"generation"` // that were scored
	Asked      [][]int   `json:"asked"`      // sub-networks whose scores are to come
	Seen       []network `json:"seen"`
	Parents    []int     `json:"parents"` // in Seen
	Over       bool      `json:"over"`    // the supernet failed, or nothing is left to be done
	Best       int       `json:"best"`    // -1: none yet
	Score      float64   `json:"score"`
}

// study is the session that decides.
type study struct {
	tuners.TrialsOnly
	record.Record
	req   tuners.OpenRequest
	set   settings
	dims  tuners.Space
	start tuners.Params // of trial 0
	state state
}

func openStudy(req tuners.OpenRequest, set settings) (tuners.Session, error) {
	s := &study{req: req, set: set, dims: req.Space.Matching(picks), state: state{Best: -1}}
	whole := list.Made(len(s.dims), func(d int) int { return len(s.dims[d].Choices) - 1 })
	s.start = req.Space.Sample(tuners.NewDraws(req.Seed, 0, 0, "trial params")).Merge(params(s.dims, whole))
	return s, s.Begin("fedoras", req.State, &s.state)
}

// Suggest trains the supernet, has generation after generation scored, and trains the
// best network of each tier on.
func (s *study) Suggest(context.Context, int) ([]tuners.Decision, error) {
	st := &s.state
	switch {
	case st.Started == 0:
		st.Started = 1
		return []tuners.Decision{{Kind: tuners.Start, ToRound: s.set.supernet, Params: s.start}}, s.Save(st)
	case st.Reported < st.Started || len(st.Asked) > 0:
		return []tuners.Decision{{Kind: tuners.Wait}}, nil
	case st.Over || st.Started > 1:
		return []tuners.Decision{{Kind: tuners.Done, Best: st.Best}}, nil
	}
	if st.Generation < s.set.generations {
		if st.Asked = s.children(); len(st.Asked) > 0 {
			d := tuners.Decision{Kind: tuners.Score}
			for _, pick := range st.Asked {
				d.Points = append(d.Points, params(s.dims, pick))
			}
			return []tuners.Decision{d}, s.Save(st)
		}
	}
	var decisions []tuners.Decision
	for _, n := range s.found() {
		decisions = append(decisions, tuners.Decision{
			Kind: tuners.Fork, Trial: st.Started, Params: s.start.Merge(params(s.dims, n.Pick)), ToRound: s.req.Budget.TrialRounds,
		})
		st.Started++
	}
	if len(decisions) == 0 {
		return []tuners.Decision{{Kind: tuners.Done, Best: st.Best}}, nil
	}
	return decisions, s.Save(st)
}

// Report takes the scores of a generation in, or that of a trial.
func (s *study) Report(_ context.Context, r tuners.TrialReport) error {
	st := &s.state
	switch {
	case r.Trial < 0 || r.Trial >= st.Started:
		return fmt.Errorf("fedoras: report for trial %d, which is not running", r.Trial)
	case len(st.Asked) > 0:
		if r.Failed {
			st.Asked, st.Over = nil, true
			break
		}
		if len(r.Measured) != len(st.Asked) {
			return fmt.Errorf("fedoras: asked for scores of %d sub-networks, got %d", len(st.Asked), len(r.Measured))
		}
		for i, m := range r.Measured {
			n := network{Pick: st.Asked[i], FLOPs: m.FLOPs}
			if det.Finite(m.Score) {
				n.Score = &m.Score
			}
			st.Parents = append(st.Parents, len(st.Seen))
			st.Seen = append(st.Seen, n)
		}
		st.Asked = nil
		st.Generation++
		st.Parents = s.fittest(st.Parents)
	default:
		st.Reported++
		if r.Trial == 0 {
			st.Over = r.Failed
			if !r.Unusable() {
				st.Best, st.Score = 0, r.Score
			}
			break
		}
		if !r.Unusable() && (st.Best <= 0 || s.req.Objective.Better(r.Score, st.Score) || r.Score == st.Score && r.Trial < st.Best) {
			st.Best, st.Score = r.Trial, r.Score
		}
	}
	return s.Save(st)
}

// score is NaN for a network whose score is not finite.
func (n *network) score() float64 {
	if n.Score == nil {
		return math.NaN()
	}
	return *n.Score
}

// found returns the best network of each tier that has one. Tiers part the operations
// between the least and the most that were seen evenly on a logarithmic scale.
func (s *study) found() []network {
	least, most := math.Inf(1), 0.0
	for _, n := range s.state.Seen {
		least, most = min(least, n.FLOPs), max(most, n.FLOPs)
	}
	extent := det.Log(most / least)
	best := make([]*network, s.set.tiers)
	for i := range s.state.Seen {
		n := &s.state.Seen[i]
		if n.Score == nil {
			continue
		}
		at := 0
		if extent > 0 {
			at = min(int(float64(s.set.tiers)*det.Log(n.FLOPs/least)/extent), s.set.tiers-1)
		}
		if best[at] == nil || s.req.Objective.Better(*n.Score, *best[at].Score) {
			best[at] = n
		}
	}
	found := list.Where(best, func(n *network) bool { return n != nil })
	return list.Of(found, func(n *network) network { return *n })
}

// seen says whether a sub-network was scored or is about to be.
func (s *study) seen(pick []int, asked [][]int) bool {
	return slices.ContainsFunc(s.state.Seen, func(n network) bool { return slices.Equal(n.Pick, pick) }) ||
		slices.ContainsFunc(asked, func(p []int) bool { return slices.Equal(p, pick) })
}

// rounds is the session about one trial. It learns nothing, so it has no state.
type rounds struct {
	tuners.RoundsOnly
	req  tuners.OpenRequest
	set  settings
	dims tuners.Space
}

var _ tuners.Prober = (*rounds)(nil)

// Probes returns nothing.
func (s *rounds) Probes() []string { return nil }

// PlanRound draws a sub-network for each slot as long as the supernet trains; from then
// on, and in a test, clients have the trial's own.
func (s *rounds) PlanRound(_ context.Context, r tuners.PlanRequest) (tuners.Plan, error) {
	if r.Trial != s.req.Trial || r.Slots < 1 {
		return tuners.Plan{}, fmt.Errorf("fedoras: plan of %d slots for trial %d requested from the session of trial %d", r.Slots, r.Trial, s.req.Trial)
	}
	if r.Purpose == tuners.Test || r.Round >= s.set.supernet {
		return tuners.Plan{Clients: []tuners.Params{{}}}, nil
	}
	draws := tuners.NewDraws(s.req.Seed, r.Trial, r.Round, "fedoras sub-networks")
	plan := tuners.Plan{Clients: make([]tuners.Params, r.Slots)}
	for i := range plan.Clients {
		plan.Clients[i] = params(s.dims, drawn(s.dims, draws))
	}
	return plan, nil
}

// ObserveRound changes nothing.
func (s *rounds) ObserveRound(_ context.Context, o tuners.Observation) error {
	if o.Trial != s.req.Trial {
		return fmt.Errorf("fedoras: observation of trial %d sent to the session of trial %d", o.Trial, s.req.Trial)
	}
	return nil
}

// State says that there is no state.
func (s *rounds) State() []byte { return []byte("{}") }

// drawn draws an option for each choice, each as likely.
func drawn(dims tuners.Space, draws *tuners.Draws) []int {
	return list.Made(len(dims), func(d int) int { return draws.IntN(len(dims[d].Choices)) })
}

// params names the options that were picked.
func params(dims tuners.Space, pick []int) tuners.Params {
	p := make(tuners.Params, len(dims))
	for d, j := range pick {
		p[dims[d].Name] = dims[d].Choices[j]
	}
	return p
}
