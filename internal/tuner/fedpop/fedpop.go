// Package fedpop is the built-in tuner `fedpop`: FedPop (Chen et al. 2023), which
// evolves a population of client configurations while the federation trains. Each
// client of a round trains with a member; every few rounds the members with the
// highest validation losses become perturbed copies of those with the lowest.
//
// FedPop is a client tuner. Its population starts around the configuration that the
// study or a wrapper's trial has; under `pbt` it is the paper's FedPop with both
// levels. Alone it runs one trial of budget.trial_rounds rounds.
package fedpop

import (
	"cmp"
	"context"
	"fmt"
	"math"

	"github.com/fedfast/fedfast/internal/list"
	"github.com/fedfast/fedfast/internal/tuner/internal/options"
	"github.com/fedfast/fedfast/internal/tuner/internal/record"
	"github.com/fedfast/fedfast/internal/tuner/internal/start"
	"github.com/fedfast/fedfast/internal/tuner/sha"
	"github.com/fedfast/fedfast/kernels/det"
	"github.com/fedfast/fedfast/tuners"
)

// maxPopulation bounds what is sent with every answer.
const maxPopulation = 1000

// controls are the dimensions that FedPop tunes.
const controls = "client.*"

// What members are compared by: a mean over slots that have validation samples.
const (
	valLoss    = "val_loss_after"
	valSamples = "examples_val"
)

// Tuner is FedPop.
var Tuner = options.Tuner[plan]{About: options.About("fedpop"), Plan: newPlan, Trial: newSession}

// plan is what the options say.
type plan struct {
	population, interval              int
	quantile, eps, resample, discount float64
}

func newPlan(r *options.Reader, req tuners.ValidateRequest) plan {
	p := plan{
		population: r.Whole("population", 0, maxPopulation), interval: r.Whole("interval", 1, 1_000_000),
		quantile: r.Real("quantile", "greater than 0 and at most 0.5", func(x float64) bool { return x > 0 && x <= 0.5 }),
		eps:      r.Share("eps"), resample: r.Share("resample"), discount: r.Share("discount"),
	}
	if len(req.Space.Matching(controls)) == 0 {
		r.Problem("space", "fedpop tunes client.* dimensions, but the space has none")
	}
	return p
}

// session is one trial's FedPop.
type session struct {
	tuners.RoundsOnly
	record.Record
	req   tuners.OpenRequest
	plan  plan
	space tuners.Space // what members set
	state state
}

var _ tuners.Prober = (*session)(nil)

// state is everything that calls change.
type state struct {
	Members []member `json:"members"` // none before the first round
	Leader  int      `json:"leader"`  // the best at the last comparison, -1 before the first
}

// member is a client configuration with its losses since the last comparison: their
// sum and that of their weights.
type member struct {
	Params tuners.Params `json:"params"`
	Sum    float64       `json:"sum,omitempty"`
	Weight float64       `json:"weight,omitempty"`
	Lost   bool          `json:"lost,omitempty"` // a client's result or its loss was not finite
}

func newSession(req tuners.OpenRequest, p plan) (tuners.Session, error) {
	space, err := start.Dims("fedpop", req, controls)
	if err != nil {
		return nil, err
	}
	s := &session{req: req, plan: p, space: space, state: state{Leader: -1}}
	return s, s.Begin("fedpop", req.State, &s.state)
}

// Probes names what members are compared by.
func (s *session) Probes() []string { return []string{valLoss} }

// PlanRound hands the members to the slots, in an order that is drawn after each
// comparison. Before the first round it makes the population. An evaluation scores
// the leader.
func (s *session) PlanRound(_ context.Context, r tuners.PlanRequest) (tuners.Plan, error) {
	if r.Trial != s.req.Trial || r.Slots < 1 {
		return tuners.Plan{}, fmt.Errorf("fedpop: plan of %d slots for trial %d requested from the session of trial %d", r.Slots, r.Trial, s.req.Trial)
	}
	if r.Purpose == tuners.Test {
		return tuners.Plan{Clients: []tuners.Params{s.leader()}}, nil
	}
	if s.state.Members == nil {
		n := cmp.Or(s.plan.population, min(r.Slots, maxPopulation))
		draws := tuners.NewDraws(s.req.Seed, s.req.Trial, 0, "fedpop population")
		for range n {
			s.state.Members = append(s.state.Members, member{Params: s.space.Perturb(s.req.Params, s.plan.eps, draws)})
		}
	}
	p := tuners.Plan{Clients: make([]tuners.Params, r.Slots), Notes: s.notes()}
	for i, m := range s.taken(r.Round, r.Slots) {
		p.Clients[i] = s.state.Members[m].Params
	}
	return p, s.Save(&s.state)
}

// leader returns the best member's configuration, before the first comparison the
// trial's own.
func (s *session) leader() tuners.Params {
	if s.state.Leader >= 0 {
		return s.state.Members[s.state.Leader].Params
	}
	own := tuners.Params{}
	for _, d := range s.space {
		own[d.Name] = s.req.Params[d.Name]
	}
	return own
}

// taken returns the member of each slot. Plan and observation of a round draw the
// same.
func (s *session) taken(round, slots int) []int {
	stretch := round - round%s.plan.interval
	order := tuners.NewDraws(s.req.Seed, s.req.Trial, stretch, "fedpop slots").Perm(len(s.state.Members))
	return list.Made(slots, func(i int) int { return order[i%len(order)] })
}

// notes show people the mean of each number over the population.
func (s *session) notes() map[string][]float64 {
	notes := map[string][]float64{}
	for _, d := range s.space {
		sum := 0.0
		for _, m := range s.state.Members {
			x, ok := m.Params[d.Name].Float()
			if !ok {
				sum = math.NaN()
			}
			sum += x / float64(len(s.state.Members))
		}
		if det.Finite(sum) && len(notes) < tuners.MaxNotes {
			notes["mean "+d.Name] = []float64{sum}
		}
	}
	return notes
}

// ObserveRound adds the slots' losses to their members, and compares at the end of a
// stretch. A client without validation samples does not count.
func (s *session) ObserveRound(_ context.Context, o tuners.Observation) error {
	if o.Trial != s.req.Trial || s.state.Members == nil {
		return fmt.Errorf("fedpop: observation of trial %d sent to the session of trial %d", o.Trial, s.req.Trial)
	}
	for i := range s.state.Members {
		m := &s.state.Members[i]
		m.Sum, m.Weight = float64(m.Sum*s.plan.discount), float64(m.Weight*s.plan.discount)
	}
	for i, at := range s.taken(o.Round, len(o.Slots)) {
		m, slot := &s.state.Members[at], o.Slots[i]
		loss, ok := slot.Probes[valLoss]
		samples, counted := slot.Probes[valSamples]
		switch {
		case slot.Dropped:
			m.Lost = true
		case !ok || !counted:
			return fmt.Errorf("fedpop: round %d, slot %d: %s or %s is missing", o.Round, i, valLoss, valSamples)
		case samples > 0 && !det.Finite(loss):
			m.Lost = true
		case samples > 0:
			m.Sum += loss
			m.Weight++
		}
	}
	if (o.Round+1)%s.plan.interval == 0 {
		s.evolve(o.Round)
	}
	return s.Save(&s.state)
}

// evolve replaces the members of the highest mean losses, lost ones first, by
// perturbed copies of those of the lowest.
func (s *session) evolve(round int) {
	all := s.state.Members
	scores := make([]float64, len(all))
	var lost []int
	for i, m := range all {
		scores[i] = math.NaN()
		if m.Lost {
			lost = append(lost, i)
		} else if m.Weight > 0 {
			scores[i] = m.Sum / m.Weight
		}
	}
	ranked := sha.Rank(tuners.Objective{}, scores)
	n := int(math.Ceil(float64(s.plan.quantile * float64(len(all)))))
	best := ranked[:min(n, len(ranked))]
	worst := ranked[len(best):]
	worst = append(worst[max(0, len(worst)-max(0, n-len(lost))):], lost...)
	if len(best) > 0 {
		s.state.Leader = best[0]
		draws := tuners.NewDraws(s.req.Seed, s.req.Trial, round, "fedpop copies")
		for _, i := range worst {
			from := all[best[draws.IntN(len(best))]].Params
			if draws.Float64() < s.plan.resample {
				from = s.req.Params
			}
			all[i].Params = s.space.Perturb(from, s.plan.eps, draws)
		}
	}
	for i := range all {
		all[i] = member{Params: all[i].Params}
	}
}
