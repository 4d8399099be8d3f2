package clock

import "math/bits"

// idle is a set of clients from which the one of a rank can be taken: a Fenwick tree of
// their numbers, so that it depends on its members alone.
type idle struct {
	sums []int32 // of the members among the clients below, from 1
	has  []bool
	n    int
}

// newIdle returns the set of all clients.
func newIdle(clients int) idle {
	s := idle{sums: make([]int32, clients+1), has: make([]bool, clients), n: clients}
	for i := 1; i <= clients; i++ {
		s.sums[i], s.has[i-1] = int32(i&-i), true
	}
	return s
}

func (s *idle) add(client int)    { s.change(client, 1) }
func (s *idle) remove(client int) { s.change(client, -1) }

func (s *idle) change(client int, by int32) {
	s.n += int(by)
	s.has[client] = by > 0
	for i := client + 1; i < len(s.sums); i += i & -i {
		s.sums[i] += by
	}
}

// at returns the member of a rank, from 0, in the order of clients.
func (s *idle) at(rank int) int {
	i, left := 0, int32(rank)
	for bit := 1 << (bits.Len(uint(len(s.sums))) - 1); bit > 0; bit >>= 1 {
		if k := i + bit; k < len(s.sums) && s.sums[k] <= left {
			i, left = k, left-s.sums[k]
		}
	}
	return i
}
