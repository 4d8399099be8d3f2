package perfedrlnas

import (
	"context"
	"fmt"
	"math"
	"strconv"

	"github.com/fedfast/fedfast/kernels/det"
	"github.com/fedfast/fedfast/plugins/internal/finite"
	"github.com/fedfast/fedfast/tuners"
)

// session is one trial's policies.
type session struct {
	tuners.RoundsOnly
	req      tuners.OpenRequest
	set      settings
	dims     tuners.Space
	choices  []int // options of each dimension
	logits   int   // of all
	policies []*policy
	state    []byte
}

var _ tuners.Prober = (*session)(nil)

func newSession(req tuners.OpenRequest, set settings) (*session, error) {
	s := &session{req: req, set: set, dims: req.Space.Matching(picks)}
	for _, d := range s.dims {
		s.choices = append(s.choices, len(d.Choices))
		s.logits += len(d.Choices)
	}
	if req.State != nil {
		if err := s.read(req.State); err != nil {
			return nil, err
		}
	}
	s.write()
	return s, nil
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
	at := 0
	for d, n := range s.choices {
		weights := make([]float64, n)
		if p == nil || s.set.uniform {
			for j := range weights {
				weights[j] = 1 / float64(n)
			}
		} else {
			weights = softmax(p.alpha[at : at+n])
		}
		pick[d] = draws.Pick(weights)
		at += n
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
	at := 0
	for d, n := range s.choices {
		most := math.Inf(-1)
		for _, x := range alpha[at : at+n] {
			most = max(most, x)
		}
		ties := make([]float64, n)
		for j, x := range alpha[at : at+n] {
			if x == most {
				ties[j] = 1
			}
		}
		pick[d] = draws.Pick(ties)
		at += n
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
		at := 0
		for _, n := range s.choices {
			top := 0.0
			for j, q := range softmax(p.alpha[at : at+n]) {
				top = max(top, q)
				if q > 0 {
					entropy -= float64(q * det.Log(q))
				}
				likely[at+j] += q / float64(len(s.policies))
			}
			most += top
			at += n
		}
	}
	all := float64(len(s.policies) * len(s.choices))
	notes := map[string][]float64{"sureness": {round(most / all)}, "entropy": {round(entropy / all)}}
	at := 0
	for d, n := range s.choices {
		if len(notes) == tuners.MaxNotes || at+n > tuners.MaxNoteNumbers-2 {
			break
		}
		for j := range likely[at : at+n] {
			likely[at+j] = round(likely[at+j])
		}
		notes[s.dims[d].Name] = likely[at : at+n]
		at += n
	}
	return notes
}

// visit is what a slot showed of its client.
type visit struct {
	client            uint64
	accuracy, seconds float64
}

// ObserveRound takes the step that the round's rewards give. Slots that were dropped,
// and clients without validation examples, do not count; an error that is not finite
// counts as 1.
func (s *session) ObserveRound(_ context.Context, o tuners.Observation) error {
	if o.Trial != s.req.Trial {
		return fmt.Errorf("perfedrlnas: an observation of trial %d reached the session of trial %d", o.Trial, s.req.Trial)
	}
	if s.set.uniform {
		return nil
	}
	var round []visit
	for i, slot := range o.Slots {
		if slot.Dropped {
			continue
		}
		key, ok := slot.Probes[tuners.ScalarClientKey]
		if !ok || key < 0 || key != math.Trunc(key) || key >= 1<<53 {
			return fmt.Errorf("perfedrlnas: round %d, slot %d: client_key is missing or no key (%v)", o.Round, i, key)
		}
		wrong, ok := slot.Probes[errorProbe]
		if !ok {
			continue
		}
		if !finite.Is(wrong) {
			wrong = 1
		}
		round = append(round, visit{uint64(key), 1 - wrong, slot.Probes[secondsProbe]})
	}
	if len(round) == 0 {
		return nil
	}
	s.learn(o.Round, round)
	s.write()
	return nil
}

// learn moves the policies by a round.
func (s *session) learn(number int, round []visit) {
	fastest, cohort := math.Inf(1), 0.0
	for _, v := range round {
		fastest = min(fastest, v.seconds)
		cohort += v.accuracy / float64(len(round))
	}
	clients, any := s.bests()
	rewards := make([]float64, len(round))
	for i, v := range round {
		base := cohort
		switch p := s.find(s.of(v.client)); {
		case s.set.baseline == OfOwn && p != nil && p.seen:
			base = p.mean
		case s.set.baseline == OfOwn:
			base = v.accuracy
		case s.set.baseline == OfClients && any && !s.set.shared:
			base = clients
		}
		rewards[i] = v.accuracy - base - float64(s.set.latency*(v.seconds-fastest))
	}
	// All gradients are of the policies that the round was drawn from, and in the
	// first round the mean of the best ones is the cohort's own mean.
	gradients := map[uint64][]float64{}
	var order []uint64
	for i, v := range round {
		key := s.of(v.client)
		p := s.ensure(key)
		if gradients[key] == nil {
			gradients[key] = make([]float64, s.logits)
			order = append(order, key)
		}
		p.reinforce(gradients[key], s.choices, s.draw(number, v.client), rewards[i])
	}
	for _, key := range order {
		g := gradients[key]
		if s.set.shared {
			for j := range g {
				g[j] /= float64(len(round))
			}
		}
		s.ensure(key).step(g, s.set)
	}
	for _, v := range round {
		p := s.ensure(s.of(v.client))
		if !p.seen {
			p.best, p.mean, p.seen = v.accuracy, v.accuracy, true
			continue
		}
		p.best = max(p.best, v.accuracy)
		p.mean += float64(s.set.own * (v.accuracy - p.mean))
	}
}

// bests returns the mean of the best accuracies of the clients seen so far.
func (s *session) bests() (mean float64, any bool) {
	n := 0
	for _, p := range s.policies {
		if p.seen {
			mean += p.best
			n++
		}
	}
	return mean / float64(max(n, 1)), n > 0
}
