package perfedrlnas

import (
	"cmp"
	"encoding/binary"
	"errors"
	"math"
	"slices"
)

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
