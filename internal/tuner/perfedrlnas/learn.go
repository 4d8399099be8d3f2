package perfedrlnas

import (
	"context"
	"fmt"
	"math"

	"github.com/fedfast/fedfast/kernels/det"
	"github.com/fedfast/fedfast/tuners"
)

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
		return fmt.Errorf("perfedrlnas: observation of trial %d sent to the session of trial %d", o.Trial, s.req.Trial)
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
			return fmt.Errorf("perfedrlnas: round %d, slot %d: client_key is missing or invalid (%v)", o.Round, i, key)
		}
		wrong, ok := slot.Probes[errorProbe]
		if !ok {
			continue
		}
		if !det.Finite(wrong) {
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
