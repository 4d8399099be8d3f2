package perfedrlnas

import (
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"slices"

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

// A state is, with little-endian numbers: the version of this form, the number of
// logits and that of policies, four bytes each; then of each policy, in the order of
// keys, its key (8 bytes), its steps (4), whether it was seen (4) and, 8 bytes each, its
// best and its mean accuracy, its logits and their moments.
const stateVersion = 1

// write makes the session's state.
func (s *session) write() {
	b := s.state[:0]
	for _, n := range []int{stateVersion, s.logits, len(s.policies)} {
		b = binary.LittleEndian.AppendUint32(b, uint32(n))
	}
	for _, p := range s.policies {
		b = binary.LittleEndian.AppendUint64(b, p.key)
		b = binary.LittleEndian.AppendUint32(b, uint32(p.steps))
		seen := uint32(0)
		if p.seen {
			seen = 1
		}
		b = binary.LittleEndian.AppendUint32(b, seen)
		for _, v := range [][]float64{{p.best, p.mean}, p.alpha, p.first, p.other} {
			for _, x := range v {
				b = binary.LittleEndian.AppendUint64(b, math.Float64bits(x))
			}
		}
	}
	s.state = b
}

var errState = errors.New("perfedrlnas: recorded state does not match this tuner and space")

// read goes on from a state.
func (s *session) read(b []byte) error {
	const head = 12
	if len(b) < head {
		return errState
	}
	var n [3]int
	for i := range n {
		n[i] = int(binary.LittleEndian.Uint32(b[4*i:]))
	}
	each := 16 + 8*(2+3*s.logits)
	if n[0] != stateVersion || n[1] != s.logits || len(b) != head+n[2]*each {
		return errState
	}
	for b = b[head:]; len(b) > 0; b = b[each:] {
		p := newPolicy(binary.LittleEndian.Uint64(b), s.logits)
		p.steps, p.seen = int(binary.LittleEndian.Uint32(b[8:])), binary.LittleEndian.Uint32(b[12:]) == 1
		at := b[16:]
		next := func() float64 {
			x := math.Float64frombits(binary.LittleEndian.Uint64(at))
			at = at[8:]
			return x
		}
		p.best, p.mean = next(), next()
		for _, v := range [][]float64{p.alpha, p.first, p.other} {
			for i := range v {
				v[i] = next()
			}
		}
		if k := len(s.policies); k > 0 && s.policies[k-1].key >= p.key {
			return errState
		}
		s.policies = append(s.policies, p)
	}
	return nil
}

// find returns a client's policy, nil if it has none yet.
func (s *session) find(key uint64) *policy {
	if i, ok := s.search(key); ok {
		return s.policies[i]
	}
	return nil
}

// ensure returns a client's policy, a new one if there is none.
func (s *session) ensure(key uint64) *policy {
	i, ok := s.search(key)
	if !ok {
		s.policies = slices.Insert(s.policies, i, newPolicy(key, s.logits))
	}
	return s.policies[i]
}

func (s *session) search(key uint64) (int, bool) {
	return slices.BinarySearchFunc(s.policies, key, func(p *policy, key uint64) int { return cmp.Compare(p.key, key) })
}

// Policy is what a client's sub-networks are drawn from.
type Policy struct {
	// Client is the client's key; with the option shared it is 0, and everybody's.
	Client uint64
	// Chances holds, for each choice, how likely each of its options is.
	Chances [][]float64
}

// Policies returns those that a session's state holds, in the order of keys. options is
// how many each choice has, in the order of the space.
func Policies(state []byte, options []int) ([]Policy, error) {
	s := &session{}
	for _, n := range options {
		s.add(n)
	}
	if err := s.read(state); err != nil {
		return nil, err
	}
	var all []Policy
	for _, p := range s.policies {
		told := Policy{Client: p.key}
		for _, of := range s.choices {
			told.Chances = append(told.Chances, softmax(p.alpha[of.lo:of.hi]))
		}
		all = append(all, told)
	}
	return all, nil
}
