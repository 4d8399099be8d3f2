package perfedrlnas

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strconv"

	"github.com/fedfast/fedfast/kernels/det"
	"github.com/fedfast/fedfast/tuners"
)

// session is one trial's policies.
type session struct {
	tuners.RoundsOnly
	req      tuners.OpenRequest
	set      settings
	dims     tuners.Space
	choices  choices
	logits   int // of all choices
	policies []*policy
	state    []byte
}

var _ tuners.Prober = (*session)(nil)

func newSession(req tuners.OpenRequest, set settings) (*session, error) {
	s := &session{req: req, set: set, dims: req.Space.Matching(picks)}
	for _, d := range s.dims {
		s.add(len(d.Choices))
	}
	if req.State != nil {
		if err := s.read(req.State); err != nil {
			return nil, err
		}
	}
	s.write()
	return s, nil
}

// add makes room for a choice of so many options.
func (s *session) add(options int) {
	s.choices = append(s.choices, span{s.logits, s.logits + options})
	s.logits += options
}

// State returns the policies.
func (s *session) State() []byte { return s.state }

// Probes names what rewards are made of.
func (s *session) Probes() []string {
	switch {
	case s.set.uniform:
		return nil
	case s.set.latency == 0:
		return []string{errorProbe}
	}
	return []string{secondsProbe, errorProbe}
}

// PlanRound draws a sub-network for each slot, by the policy of its client. In a test
// each client has the likeliest one; one that has never trained, that of the mean of
// all policies.
func (s *session) PlanRound(_ context.Context, r tuners.PlanRequest) (tuners.Plan, error) {
	switch {
	case r.Trial != s.req.Trial || r.Slots < 1:
		return tuners.Plan{}, fmt.Errorf("perfedrlnas: a plan of %d slots for trial %d was asked of the session of trial %d", r.Slots, r.Trial, s.req.Trial)
	case len(r.ClientKeys) != r.Slots:
		return tuners.Plan{}, fmt.Errorf("perfedrlnas: a plan of %d slots came with %d client keys", r.Slots, len(r.ClientKeys))
	}
	plan := tuners.Plan{Clients: make([]tuners.Params, r.Slots)}
	mean := s.mean()
	for i, key := range r.ClientKeys {
		pick := s.draw(r.Round, key)
		if r.Purpose == tuners.Test {
			pick = s.best(mean, key)
		}
		p := make(tuners.Params, len(s.dims))
		for d, j := range pick {
			p[s.dims[d].Name] = s.dims[d].Choices[j]
		}
		plan.Clients[i] = p
	}
	if r.Purpose == tuners.Train {
		plan.Notes = s.notes()
	}
	return plan, nil
}

// of returns the key of the policy that a client goes by.
func (s *session) of(client uint64) uint64 {
	if s.set.shared {
		return 0
	}
	return client
}

// draw picks the options of a client in a round. The draws are keyed, so ObserveRound
// finds the same ones again.
func (s *session) draw(round int, client uint64) []int {
	draws := tuners.NewDraws(s.req.Seed, s.req.Trial, round, "perfedrlnas client "+strconv.FormatUint(client, 10))
	p := s.find(s.of(client))
	pick := make([]int, len(s.choices))
	for d, of := range s.choices {
		weights := make([]float64, of.hi-of.lo)
		if p == nil || s.set.uniform {
			for j := range weights {
				weights[j] = 1 / float64(len(weights))
			}
		} else {
			weights = softmax(p.alpha[of.lo:of.hi])
		}
		pick[d] = draws.Pick(weights)
	}
	return pick
}

// best returns a client's likeliest options. Of equally likely ones, as all are without
// any training, one is drawn, the same in every test.
func (s *session) best(mean []float64, client uint64) []int {
	alpha := mean
	if p := s.find(s.of(client)); p != nil {
		alpha = p.alpha
	}
	draws := tuners.NewDraws(s.req.Seed, s.req.Trial, 0, "perfedrlnas test of client "+strconv.FormatUint(client, 10))
	pick := make([]int, len(s.choices))
	for d, of := range s.choices {
		logits := alpha[of.lo:of.hi]
		most, ties := slices.Max(logits), make([]float64, len(logits))
		for j, x := range logits {
			if x == most {
				ties[j] = 1
			}
		}
		pick[d] = draws.Pick(ties)
	}
	return pick
}

// mean returns that of the logits of all policies.
func (s *session) mean() []float64 {
	sum := make([]float64, s.logits)
	for _, p := range s.policies {
		for i, x := range p.alpha {
			sum[i] += x / float64(len(s.policies))
		}
	}
	return sum
}

// notes show people how sure the policies are: the mean over them and their choices of
// the largest probability and of the entropy in nats, and how likely each option is on
// average, by the names of the choices.
func (s *session) notes() map[string][]float64 {
	if len(s.policies) == 0 || s.set.uniform {
		return nil
	}
	round := func(x float64) float64 { return math.Round(x*1e4) / 1e4 }
	most, entropy := 0.0, 0.0
	likely := make([]float64, s.logits)
	for _, p := range s.policies {
		for _, of := range s.choices {
			top := 0.0
			for j, q := range softmax(p.alpha[of.lo:of.hi]) {
				top = max(top, q)
				if q > 0 {
					entropy -= float64(q * det.Log(q))
				}
				likely[of.lo+j] += q / float64(len(s.policies))
			}
			most += top
		}
	}
	all := float64(len(s.policies) * len(s.choices))
	notes := map[string][]float64{"sureness": {round(most / all)}, "entropy": {round(entropy / all)}}
	for d, of := range s.choices {
		if len(notes) == tuners.MaxNotes || of.hi > tuners.MaxNoteNumbers-2 {
			break
		}
		for j := of.lo; j < of.hi; j++ {
			likely[j] = round(likely[j])
		}
		notes[s.dims[d].Name] = likely[of.lo:of.hi]
	}
	return notes
}
