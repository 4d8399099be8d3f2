package clock

import (
	"context"
	"math"
	"slices"

	"github.com/fedfast/fedfast/fl/internal/order"
	"github.com/fedfast/fedfast/internal/nanos"
)

// Chooser chooses the clients that begin. It has a set of clients that may be chosen, all at
// first, which those leave that it chooses or finds away.
type Chooser interface {
	// Reset has all clients in the set but those that are out.
	Reset(out map[int32]bool)
	// Choose takes clients from the set that are there, in the order in which they begin: as
	// many as the choice has, or all. Its result is valid until the next call.
	Choose(ctx context.Context, c Choice) ([]int32, error)
	// Put brings a client back that did not begin.
	Put(client int32)
	// End brings back the client whose job of a number has ended.
	End(client int32, job uint64)
}

// Choice is how many clients may begin.
type Choice struct {
	// Number is how many begin at most.
	Number int
	// Draw keys the draws of the choice: it is another one in every choice of a trial in
	// which somebody began since.
	Draw     uint64
	schedule *Schedule // nil for clients that are always there
}

// There reports whether a client of the set is available. Put brings back one that is not,
// when it may be again.
func (c *Choice) There(client int32) bool {
	s := c.schedule
	if s == nil {
		return true
	}
	on, until := s.fleet.Available(int(client), s.state.Now)
	if !on {
		a := Away{int(client), max(until, nanos.Add(s.state.Now, 1))}
		s.state.Away, s.left = order.Push(s.state.Away, a, (*Away).before), append(s.left, a)
	}
	return on
}

// Away is an idle client that was found away.
type Away struct {
	Client int
	// Until is when it may be there again.
	Until int64
}

func (a *Away) before(b *Away) bool {
	return a.Until < b.Until || a.Until == b.Until && a.Client < b.Client
}

// choose has clients chosen, and returns when others may be there.
func (s *Schedule) choose(ctx context.Context, number int) (chosen []int32, change int64, err error) {
	for len(s.state.Away) > 0 && s.state.Away[0].Until <= s.state.Now {
		var a Away
		a, s.state.Away = order.Pop(s.state.Away, (*Away).before)
		s.back = append(s.back, a)
		s.chooser.Put(int32(a.Client))
	}
	asked := s.state.Now
	chosen, err = s.chooser.Choose(ctx, Choice{Number: number, Draw: s.state.Next, schedule: s})
	switch {
	case s.state.Now > asked: // where too few answered, others may
		change = s.state.Now
	case len(s.state.Away) > 0:
		change = s.state.Away[0].Until
	default:
		change = math.MaxInt64
	}
	return chosen, change, err
}

// Ask has clients do something before they are chosen, such as to evaluate the weights that
// they receive: the time goes on until all have answered or failed. It returns those that
// answered and are still available, until the next call. Only a Chooser calls it.
func (s *Schedule) Ask(clients []int32, work Work) []int32 {
	end := s.state.Now
	answered := s.order[:0]
	for place, client := range clients {
		j := Job{Client: int(client), Sequence: s.state.Next, Start: s.state.Now}
		o := s.run(&j, work(place, int(client), 0))
		s.state.Next++
		end = max(end, o.End)
		if !o.Failed {
			answered = append(answered, client)
		}
	}
	s.state.Now, s.order = end, answered
	return slices.DeleteFunc(answered, func(client int32) bool {
		on, _ := s.fleet.Available(int(client), end)
		return !on
	})
}
