package cluster

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/fedfast/fedfast/fl"
	"github.com/fedfast/fedfast/fl/study"
)

// A round is late when it takes lateFactor times as long as the median of the last
// paceRounds of its trial or, as long as that has none, of all trials.
const (
	lateFactor = 4
	paceRounds = 16
)

// mostPast is how many rounds are remembered for a copy of a trial.
const mostPast = 1000

// past are a trial's rounds since a state of it came here, as they were ordered: what a
// copy must run again.
type past struct {
	orders []order
	lost   bool // there were too many
}

func (p *past) add(o order) {
	if p.lost = p.lost || len(p.orders) == mostPast; p.lost {
		p.orders = nil
		return
	}
	p.orders = append(p.orders, o)
}

func (p *past) clear() { p.orders, p.lost = nil, false }

// since returns the orders from a round on, to which so many rounds were run, and
// whether all are known.
func (p *past) since(from, to int) ([]order, bool) {
	i := slices.IndexFunc(p.orders, func(o order) bool { return o.Rounds == from })
	if i < 0 {
		return nil, from == to
	}
	return p.orders[i:], len(p.orders)-i == to-from
}

// pace are the times of a few rounds.
type pace struct{ times []time.Duration }

func (p *pace) add(d time.Duration) {
	if len(p.times) == paceRounds {
		p.times = p.times[1:]
	}
	p.times = append(p.times, d)
}

// late returns after how long a round is late, 0 if that is not known.
func (p *pace) late(least time.Duration) time.Duration {
	if len(p.times) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(p.times))
	return max(least, lateFactor*sorted[len(sorted)/2])
}

// late returns after how long a round of a trial is late, 0 if nobody knows.
func (c *Coordinator) late(trial int) time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	if p := c.paces[trial]; p != nil {
		return p.late(c.options.Late)
	}
	return c.pace.late(c.options.Late)
}

// took remembers how long a round of a trial took.
func (c *Coordinator) took(trial int, d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	p := c.paces[trial]
	if p == nil {
		p = &pace{}
		c.paces[trial] = p
	}
	p.add(d)
	c.pace.add(d)
}

// race has the worker run a round and, if that is late and another worker is idle,
// that one too, from the newest state on. Who is first goes on with the trial. What
// the other one says is compared when it comes.
func (t *training) race(ctx context.Context, o *order) (*turn, error) {
	began := time.Now()
	if err := t.send(o); err != nil {
		return nil, err
	}
	timer := time.NewTimer(time.Hour)
	timer.Stop()
	defer timer.Stop()
	if after := t.coordinator.late(t.trial); after > 0 {
		timer.Reset(after)
	}
	arrived, gone := t.seat.arrived, t.seat.gone // nil when the worker is lost
	var second *rival
	for {
		select {
		case <-arrived:
			got, err := t.arrived(stateRound)
			if errors.Is(err, study.ErrLost) && second != nil {
				arrived, gone = nil, nil
				continue
			}
			if second != nil {
				err = errors.Join(err, t.outrun(second, o))
			}
			if err == nil {
				t.coordinator.took(t.trial, time.Since(began))
			}
			return t.ran(o, got, err)
		case <-gone:
			if second == nil {
				return nil, study.ErrLost
			}
			arrived, gone = nil, nil
		case <-timer.C:
			var err error
			if second, err = t.second(ctx, o); err != nil {
				return nil, err
			}
			if second == nil { // somebody may be idle later
				timer.Reset(t.coordinator.options.Beat)
				continue
			}
			t.coordinator.options.Notice(fmt.Sprintf("trial %d, round %d: %s has taken %v, longer than rounds do; %s trains it too",
				t.trial, t.rounds+1, t.seat.name, time.Since(began).Round(time.Millisecond), second.seat.name))
		case v := <-second.ends():
			switch {
			case v.err == nil:
				t.overtaken(&v, o)
				return t.ran(o, v.got, nil)
			case ctx.Err() != nil:
				return nil, ctx.Err()
			case gone == nil:
				return nil, study.ErrLost
			}
			second = nil // the first one may still do it
		case <-ctx.Done():
			if second != nil {
				second.cancel()
			}
			return nil, ctx.Err()
		}
	}
}

// rival is a copy of a training at another worker, on its way to the same round.
type rival struct {
	seat   *seat
	cancel context.CancelFunc
	done   chan verdict
}

// verdict is how a copy ended: as what the worker said of the last round, or in an
// error.
type verdict struct {
	copy *training
	got  *turn
	err  error
}

// ends returns what tells the verdict.
func (r *rival) ends() <-chan verdict {
	if r == nil {
		return nil
	}
	return r.done
}

// second begins a copy at an idle worker, nil when there is none, or none can be made.
func (t *training) second(ctx context.Context, o *order) (*rival, error) {
	c := t.coordinator
	c.mu.Lock()
	var s *seat
	if !t.past.lost && c.err == nil && len(c.waiting) == 0 {
		s = c.spare()
	}
	c.mu.Unlock()
	if s == nil {
		return nil, nil
	}
	from, err := t.start()
	at := 0
	if err == nil && from != nil {
		at = from.Round
	}
	orders, known := t.past.since(at, t.rounds)
	if err != nil || !known { // known is false if the newest state is older than what is remembered
		t.past.lost = true
		c.mu.Lock()
		defer c.mu.Unlock()
		s.taken = false
		c.offer(s)
		return nil, err
	}
	orders = append(slices.Clone(orders), *o)
	ctx, cancel := context.WithCancel(ctx)
	r := &rival{seat: s, cancel: cancel, done: make(chan verdict, 1)}
	c.mu.Lock()
	s.copies = cancel
	c.mu.Unlock()
	go func() {
		defer cancel()
		v := verdict{}
		if v.copy, v.err = c.begin(ctx, s, t.trial, func() (*fl.Snapshot, error) { return from, nil }); v.err == nil {
			v.copy.start = t.start
			v.got, v.err = v.copy.repeat(ctx, orders)
		}
		if v.err != nil && v.copy != nil {
			v.copy.End()
		}
		c.mu.Lock()
		s.copies = nil
		c.mu.Unlock()
		r.done <- v
	}()
	return r, nil
}

// repeat runs the rounds of some orders and returns what the worker says of the last.
func (t *training) repeat(ctx context.Context, orders []order) (got *turn, err error) {
	for i := range orders {
		o := orders[i]
		got, err = t.call(ctx, o, stateRound)
		if got, err = t.ran(&o, got, err); err != nil || i == len(orders)-1 {
			return got, err
		}
		t.rounds = got.Rounds
		t.past.add(o)
	}
	return got, err
}

// endCopy ends a copy, for a trial that nobody trains.
func (c *Coordinator) endCopy() {
	for _, s := range c.seats {
		if s.copies != nil {
			s.copies()
			s.copies = nil
			return
		}
	}
}

// expect has what two workers train compared whenever the second one says it.
func (c *Coordinator) expect(p place) {
	if r, known := c.rounds[p]; known {
		r.due = true
		c.rounds[p] = r
	}
}

// outrun ends the copy of a training that was faster.
func (t *training) outrun(r *rival, o *order) error {
	c := t.coordinator
	r.cancel()
	go func() {
		if v := <-r.done; v.copy != nil {
			v.copy.End()
		}
	}()
	c.mu.Lock()
	c.expect(place{t.trial, o.Rounds})
	c.mu.Unlock()
	c.options.Notice(fmt.Sprintf("trial %d, round %d: %s was first after all", t.trial, t.rounds+1, t.seat.name))
	return study.RecordLease(c.store, t.trial, o.Rounds, study.LeaseRecord{Lease: t.lease, Worker: t.seat.name})
}

// overtaken goes on with the copy.
func (t *training) overtaken(v *verdict, o *order) {
	c, slow := t.coordinator, t.seat
	c.mu.Lock()
	defer c.mu.Unlock()
	if !slow.out && slow.lease == t.lease {
		slow.lease, slow.busy = 0, false
		if slow.pending != nil {
			slow.answer(order{Order: orderDrop})
		}
	}
	c.expect(place{t.trial, o.Rounds})
	t.seat, t.lease, t.past, t.fetched = v.copy.seat, v.copy.lease, v.copy.past, false
	c.options.Notice(fmt.Sprintf("trial %d, round %d: %s was first and goes on; %s drops it", t.trial, t.rounds+1, t.seat.name, slow.name))
}
