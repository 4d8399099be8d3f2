package cluster

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/fedfast/fedfast/fl"
	"github.com/fedfast/fedfast/fl/study"
	"github.com/fedfast/fedfast/fl/study/cluster/internal/wire"
	"github.com/fedfast/fedfast/fl/study/result"
)

// maxPast is the maximum number of orders kept for a backup task.
const maxPast = 1000

// past holds the orders of a trial since its last state was fetched: what a backup task
// has to repeat.
type past struct {
	orders []wire.Order
	lost   bool // there were too many
}

func (p *past) add(o wire.Order) {
	if p.lost = p.lost || len(p.orders) == maxPast; p.lost {
		p.orders = nil
		return
	}
	p.orders = append(p.orders, o)
}

func (p *past) clear() { p.orders, p.lost = nil, false }

// since returns the orders of the rounds in [from, to), and whether all are known.
func (p *past) since(from, to int) ([]wire.Order, bool) {
	i := slices.IndexFunc(p.orders, func(o wire.Order) bool { return o.Rounds == from })
	if i < 0 {
		return nil, from == to
	}
	return p.orders[i:], len(p.orders)-i == to-from
}

// speculate runs a round on the worker. If the round is late and another worker is idle,
// a backup task trains it there too, starting from the newest state. The first one to
// finish keeps the trial; the result of the other one is compared when it arrives.
func (t *training) speculate(ctx context.Context, o *wire.Order) (*wire.Request, error) {
	began := time.Now()
	if err := t.send(o); err != nil {
		return nil, err
	}
	timer := time.NewTimer(time.Hour)
	timer.Stop()
	defer timer.Stop()
	if after := t.coordinator.paces.late(t.trial); after > 0 {
		timer.Reset(after)
	}
	arrived, gone := t.handle.arrived, t.handle.gone // nil when the worker is lost
	var second *backup
	for {
		select {
		case <-arrived:
			got, err := t.arrived(wire.StateRound)
			if errors.Is(err, study.ErrLost) && second != nil {
				arrived, gone = nil, nil
				continue
			}
			if second != nil {
				err = errors.Join(err, t.outrun(second, o))
			}
			if err == nil {
				t.coordinator.paces.took(t.trial, time.Since(began))
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
			if second == nil { // a worker may be idle later
				timer.Reset(t.coordinator.options.Heartbeat)
				continue
			}
			t.coordinator.options.Notice(fmt.Sprintf("trial %d, round %d: slow on %s (%v so far); %s trains it too",
				t.trial, t.rounds+1, t.handle.name, time.Since(began).Round(time.Millisecond), second.handle.name))
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
			second = nil // the first one may still finish
		case <-ctx.Done():
			if second != nil {
				second.cancel()
			}
			return nil, ctx.Err()
		}
	}
}

// backup is a second training of the same round on another worker.
type backup struct {
	handle *workerHandle
	cancel context.CancelFunc
	done   chan verdict
}

// verdict is the outcome of a backup task: the worker's report of the last round, or an
// error.
type verdict struct {
	copy *training
	got  *wire.Request
	err  error
}

// ends returns the channel of the verdict.
func (r *backup) ends() <-chan verdict {
	if r == nil {
		return nil
	}
	return r.done
}

// second starts a backup task on an idle worker. It returns nil if there is none, or if
// the trial's past is unknown.
func (t *training) second(ctx context.Context, o *wire.Order) (*backup, error) {
	c := t.coordinator
	c.pool.mu.Lock()
	var s *workerHandle
	if !t.past.lost && c.pool.err == nil && len(c.pool.waiting) == 0 {
		s = c.pool.spare()
	}
	c.pool.mu.Unlock()
	if s == nil {
		return nil, nil
	}
	from, orders, err := t.since(o)
	if err != nil || orders == nil {
		c.pool.release(s)
		return nil, err
	}
	ctx, cancel := context.WithCancel(ctx)
	r := &backup{handle: s, cancel: cancel, done: make(chan verdict, 1)}
	c.pool.mu.Lock()
	s.copies = cancel
	c.pool.mu.Unlock()
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
		c.pool.mu.Lock()
		s.copies = nil
		c.pool.mu.Unlock()
		r.done <- v
	}()
	return r, nil
}

// since returns the trial's newest state and the orders since then, the last one being the
// given one; nil for none if they are unknown, as the state is older than those that are kept.
func (t *training) since(o *wire.Order) (from *fl.Snapshot, orders []wire.Order, err error) {
	if from, err = t.start(); err != nil {
		return nil, nil, err
	}
	at := 0
	if from != nil {
		at = from.Round
	}
	orders, known := t.past.since(at, t.rounds)
	if t.past.lost = t.past.lost || !known; t.past.lost {
		return nil, nil, nil
	}
	return from, append(slices.Clone(orders), *o), nil
}

// repeat runs the rounds of some orders and returns the worker's report of the last one.
func (t *training) repeat(ctx context.Context, orders []wire.Order) (got *wire.Request, err error) {
	for i := range orders {
		o := orders[i]
		got, err = t.call(ctx, o, wire.StateRound)
		if got, err = t.ran(&o, got, err); err != nil || i == len(orders)-1 {
			return got, err
		}
		t.rounds = got.Rounds
		t.past.add(o)
	}
	return got, err
}

// outrun ends the backup task of a training that was faster.
func (t *training) outrun(r *backup, o *wire.Order) error {
	c := t.coordinator
	r.cancel()
	go func() {
		if v := <-r.done; v.copy != nil {
			v.copy.End()
		}
	}()
	c.ledger.expect(place{t.trial, o.Rounds})
	c.options.Notice(fmt.Sprintf("trial %d, round %d: %s finished first", t.trial, t.rounds+1, t.handle.name))
	return c.journal.leased(t.trial, o.Rounds, result.LeaseRecord{Lease: t.lease, Worker: t.handle.name})
}

// overtaken continues with the backup task.
func (t *training) overtaken(v *verdict, o *wire.Order) {
	c, slow := t.coordinator, t.handle
	c.pool.mu.Lock()
	defer c.pool.mu.Unlock()
	if !slow.out && slow.lease == t.lease {
		slow.lease, slow.busy = 0, false
		if slow.pending != nil {
			slow.answer(wire.Order{Order: wire.OrderDrop})
		}
	}
	c.ledger.expect(place{t.trial, o.Rounds})
	t.handle, t.lease, t.past, t.fetched = v.copy.handle, v.copy.lease, v.copy.past, false
	c.options.Notice(fmt.Sprintf("trial %d, round %d: %s finished first and keeps the trial; %s drops it", t.trial,
		t.rounds+1, t.handle.name, slow.name))
}

// A round is late when it takes lateFactor times as long as the median of the last
// paceRounds rounds of its trial or, if that has none yet, of all trials.
const (
	lateFactor = 4
	paceRounds = 16
)

// pace holds the durations of a few rounds.
type pace []time.Duration

// and returns the pace after one more round.
func (p pace) and(d time.Duration) pace { return append(p[max(0, len(p)+1-paceRounds):], d) }

// paces holds the durations of rounds, to tell which are late.
type paces struct {
	least time.Duration // before a round is late

	mu     sync.Mutex // guards what follows
	all    pace
	trials map[int]pace
}

func newPaces(least time.Duration) *paces { return &paces{least: least, trials: map[int]pace{}} }

// late returns the time after which a round of a trial is late, 0 if unknown.
func (p *paces) late(trial int) time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	sorted := slices.Sorted(slices.Values(p.trials[trial]))
	if len(sorted) == 0 {
		sorted = slices.Sorted(slices.Values(p.all))
	}
	if len(sorted) == 0 {
		return 0
	}
	return max(p.least, lateFactor*sorted[len(sorted)/2])
}

// took records the duration of a round of a trial.
func (p *paces) took(trial int, d time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.trials[trial], p.all = p.trials[trial].and(d), p.all.and(d)
}
