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

func newSession(req tuners.OpenRequest, set settings) (tuners.Session, error) {
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

// add makes room for a choice with a number of options.
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
		return tuners.Plan{}, fmt.Errorf("perfedrlnas: plan of %d slots for trial %d requested from the session of trial %d", r.Slots, r.Trial, s.req.Trial)
	case len(r.ClientKeys) != r.Slots:
		return tuners.Plan{}, fmt.Errorf("perfedrlnas: plan of %d slots has %d client keys", r.Slots, len(r.ClientKeys))
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

// notes show people what the policies have come to. Over all policies and choices they
// are sureness, the mean largest probability, entropy, the mean entropy in nats, and
// divergence, by how much the entropy of the mean policy is larger than that: 0 where all
// clients have the same one. By the names of the choices they are the mean of each
// option's probability and, behind "spread of ", its standard deviation over policies.
func (s *session) notes() map[string][]float64 {
	if len(s.policies) == 0 || s.set.uniform {
		return nil
	}
	n := float64(len(s.policies))
	most, entropy := 0.0, 0.0
	mean, square := make([]float64, s.logits), make([]float64, s.logits)
	for _, p := range s.policies {
		for _, of := range s.choices {
			chances := softmax(p.alpha[of.lo:of.hi])
			for j, q := range chances {
				mean[of.lo+j] += q / n
				square[of.lo+j] += float64(q*q) / n
			}
			most += slices.Max(chances)
			entropy += entropyOf(chances)
		}
	}
	pooled := 0.0
	for _, of := range s.choices {
		pooled += entropyOf(mean[of.lo:of.hi])
	}
	spread := square
	for j, q := range mean {
		spread[j] = round(math.Sqrt(max(0, square[j]-float64(q*q))))
		mean[j] = round(q)
	}
	per := float64(len(s.choices))
	notes := map[string][]float64{"sureness": {round(most / per / n)}, "entropy": {round(entropy / per / n)}}
	several := len(s.policies) > 1
	if several {
		notes["divergence"] = []float64{round((pooled - entropy/n) / per)}
	}
	for d, of := range s.choices {
		if len(notes)+2 > tuners.MaxNotes || 2*of.hi > tuners.MaxNoteNumbers-3 {
			break
		}
		notes[s.dims[d].Name] = mean[of.lo:of.hi]
		if several {
			notes["spread of "+s.dims[d].Name] = spread[of.lo:of.hi]
		}
	}
	return notes
}

// round keeps what people look at.
func round(x float64) float64 { return math.Round(x*1e4) / 1e4 }

// entropyOf is the entropy of a distribution in nats.
func entropyOf(chances []float64) float64 {
	h := 0.0
	for _, q := range chances {
		if q > 0 {
			h -= float64(q * det.Log(q))
		}
	}
	return h
}

// choices are where the numbers of each choice's options lie in a policy's vectors, one
// choice after the other.
type choices []span

type span struct{ lo, hi int }

// policy is what is known of a client. All vectors have a number for each option of
// each choice.
type policy struct {
	key          uint64
	steps        int     // of Adam
	best         float64 // the client's best accuracy
	mean         float64 // moving mean of its accuracy
	seen         bool    // it has had an accuracy
	alpha        []float64
	first, other []float64 // Adam's first and second moments
}

func newPolicy(key uint64, logits int) *policy {
	v := make([]float64, 3*logits)
	return &policy{key: key, alpha: v[:logits], first: v[logits : 2*logits], other: v[2*logits:]}
}

// softmax returns the distribution that logits stand for.
func softmax(z []float64) []float64 {
	p := make([]float64, len(z))
	all := det.LogSumExp(z)
	for j := range z {
		p[j] = det.Exp(z[j] - all)
	}
	return p
}

// reinforce adds the gradient of -reward log p(pick) to g: reward (p - onehot).
func (p *policy) reinforce(g []float64, all choices, pick []int, reward float64) {
	for d, of := range all {
		for j, q := range softmax(p.alpha[of.lo:of.hi]) {
			if j == pick[d] {
				q--
			}
			g[of.lo+j] += float64(reward * q)
		}
	}
}

// step is a step of Adam (Kingma and Ba 2015) without weight decay.
func (p *policy) step(g []float64, s settings) {
	p.steps++
	fix1, fix2 := 1-power(s.beta1, p.steps), 1-power(s.beta2, p.steps)
	for i, x := range g {
		p.first[i] = float64(s.beta1*p.first[i]) + float64((1-s.beta1)*x)
		p.other[i] = float64(s.beta2*p.other[i]) + float64((1-s.beta2)*float64(x*x))
		p.alpha[i] -= float64(s.lr*p.first[i]/fix1) / (math.Sqrt(p.other[i]/fix2) + 1e-8)
	}
}

// power returns x to the nth power, the same on every machine.
func power(x float64, n int) float64 {
	y := 1.0
	for range n {
		y *= x
	}
	return y
}
