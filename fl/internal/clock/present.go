package clock

import (
	"math"

	"github.com/fedfast/fedfast/fl/internal/order"
)

// present are the clients that are there, for draws where nearly all are away: a client is
// looked at once until that may change. It follows from the time, and is no part of a State.
type present struct {
	fleet     Fleet
	there     order.Bag[int32]
	come, out []Away // heaps: until when clients are there, and are away
}

// look returns those that are there now. It looks at all clients the first time.
func (s *Schedule) look() *present {
	p := s.present
	if p == nil {
		p = &present{fleet: s.fleet, there: order.NewBag[int32](s.cfg.Clients, nil, func(int) bool { return true })}
		for client := range s.cfg.Clients {
			p.add(client, s.state.Now)
		}
		s.present = p
	}
	for _, heap := range []*[]Away{&p.come, &p.out} {
		for len(*heap) > 0 && (*heap)[0].Until <= s.state.Now {
			var a Away
			if a, *heap = order.Pop(*heap, (*Away).before); heap == &p.come {
				p.there.Take(a.Client)
			}
			p.add(a.Client, s.state.Now)
		}
	}
	return p
}

// add sorts in a client.
func (p *present) add(client int, now int64) {
	on, until := p.fleet.Available(client, now)
	heap := &p.out
	if on {
		heap = &p.come
		p.there.Put(client)
	}
	if until < math.MaxInt64 {
		*heap = order.Push(*heap, Away{client, max(until, now+1)}, (*Away).before)
	}
}

// any reports whether one of them is in a set.
func (p *present) any(in func(client int) bool) bool {
	for i := range p.there.Len() {
		if in(p.there.At(int32(i))) {
			return true
		}
	}
	return false
}

// change returns when another one may come, math.MaxInt64 for never.
func (p *present) change() int64 {
	if len(p.out) == 0 {
		return math.MaxInt64
	}
	return p.out[0].Until
}
