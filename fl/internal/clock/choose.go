package clock

import (
	"math"
	"slices"
)

// Choice is which clients may begin, and how many are to.
type Choice struct {
	// Clients are available and do not work, in ascending order.
	Clients []int32
	// Number is how many of them begin at most.
	Number int
	// Draw keys the draws of the choice: it is another one in every choice of a trial in
	// which somebody began since.
	Draw uint64
	// Taken and Lost are the jobs that have ended since the last step.
	Taken, Lost []Job
}

// Pick chooses the clients that begin, in their order.
type Pick func(c Choice) ([]int32, error)

// choose has some of the clients picked that are there.
func (s *Schedule) choose(there []int32, number int, pick Pick) ([]int32, error) {
	return pick(Choice{Clients: there, Number: min(number, len(there)), Draw: s.state.Next, Taken: s.step.Taken, Lost: s.step.Lost})
}

// there lists the idle clients that are available, and returns when more may be.
func (s *Schedule) there() (change int64) {
	s.order, change = s.order[:0], math.MaxInt64
	for client := range s.cfg.Clients {
		if s.cfg.Async && !s.idle.has[client] {
			continue
		}
		on, until := s.fleet.Available(client, s.state.Now)
		if on {
			s.order = append(s.order, int32(client))
			continue
		}
		change = min(change, until)
	}
	return change
}

// Ask has clients do something before they are chosen, such as to evaluate the weights that
// they receive: the time goes on until all have answered or failed. It returns those that
// answered and are still available. Only a Pick calls it.
func (s *Schedule) Ask(clients []int32, work Work) []int32 {
	end := s.state.Now
	answered := make([]int32, 0, len(clients))
	for place, client := range clients {
		j := Job{Client: int(client), Sequence: s.state.Next, Start: s.state.Now}
		o := s.run(&j, work(place, int(client), 0))
		s.state.Next++
		end = max(end, o.End)
		if !o.Failed {
			answered = append(answered, client)
		}
	}
	s.state.Now = end
	return slices.DeleteFunc(answered, func(client int32) bool {
		on, _ := s.fleet.Available(int(client), end)
		return !on
	})
}
