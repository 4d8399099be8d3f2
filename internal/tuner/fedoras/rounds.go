package fedoras

import (
	"context"
	"fmt"

	"github.com/fedfast/fedfast/internal/list"
	"github.com/fedfast/fedfast/tuners"
)

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
