package cluster

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/fedfast/fedfast/fl"
	"github.com/fedfast/fedfast/fl/study"
	"github.com/fedfast/fedfast/fl/study/cluster/internal/wire"
)

// training is a trial that is leased to a worker. It is the study's Training.
type training struct {
	coordinator *Coordinator
	handle      *workerHandle
	lease       int64
	trial       int
	rounds      int
	keep        bool   // with the next order
	fetched     bool   // since the worker announced that it leaves
	sum         string // of the weights after the last round, as the worker reported; empty if unknown
	keptSum     string // of those that it keeps

	start func() (*fl.Snapshot, error)
	past  past
}

var _ study.Training = (*training)(nil)

// call gives the worker an order and waits for the outcome.
func (t *training) call(ctx context.Context, o wire.Order, want string) (*wire.Request, error) {
	if err := t.send(&o); err != nil {
		return nil, err
	}
	select {
	case <-t.handle.arrived:
		return t.arrived(want)
	case <-t.handle.gone:
		return nil, study.ErrLost
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// send gives the worker an order. The worker must be waiting for one.
func (t *training) send(o *wire.Order) error {
	c, s := t.coordinator, t.handle
	c.pool.mu.Lock()
	defer c.pool.mu.Unlock()
	switch {
	case c.pool.err != nil:
		return c.pool.err
	case s.out || s.lease != t.lease || s.pending == nil:
		return study.ErrLost
	}
	o.Keep, t.keep = o.Keep || t.keep, false
	o.Lease, o.Trial = t.lease, t.trial
	select {
	case <-s.arrived: // left by the request that is answered now
	default:
	}
	s.answer(*o)
	s.busy = true
	return nil
}

// arrived returns the worker's report.
func (t *training) arrived(want string) (*wire.Request, error) {
	c, s := t.coordinator, t.handle
	c.pool.mu.Lock()
	defer c.pool.mu.Unlock()
	s.busy = false
	got := s.pending
	switch {
	case got == nil || got.Lease != t.lease:
		return nil, errGivenUp
	case got.State == wire.StateFailed:
		return nil, &faultError{s, fmt.Errorf("trial %d, round %d: %s", t.trial, t.rounds+1, got.Problem)}
	case got.State != want:
		return nil, &faultError{s, fmt.Errorf("trial %d, round %d: reported state %q, want %q", t.trial, t.rounds+1,
			got.State, want)}
	}
	return got, nil
}

// Round runs a round on the worker.
func (t *training) Round(ctx context.Context, rounds int, p fl.Plan, observed []string, check func([]byte) error,
) ([]byte, error) {
	if t.Leaving() && t.fetched {
		return nil, study.ErrLost // as it will be
	}
	plan, err := wire.EncodePlan(p)
	if err != nil {
		return nil, err
	}
	o := wire.Order{Order: wire.OrderRound, Rounds: rounds, Plan: plan, Observed: observed}
	start := time.Now()
	got, err := t.speculate(ctx, &o)
	if err = t.checked(ctx, &o, got, err, check); err != nil {
		return nil, err
	}
	t.sum = got.Sum
	t.past.add(o)
	t.coordinator.pool.mu.Lock()
	t.rounds, t.handle.rounds = got.Rounds, got.Rounds
	t.coordinator.pool.mu.Unlock()
	t.coordinator.costs.tookWhole(t.trial, got.Rounds, time.Since(start))
	return got.Record, nil
}

// ran checks that a worker has run the round of an order.
func (t *training) ran(o *wire.Order, got *wire.Request, err error) (*wire.Request, error) {
	if err == nil && got.Panic == "" && (got.Trial != t.trial || got.Rounds != o.Rounds+1 || got.Record == nil) {
		return nil, &faultError{t.handle, fmt.Errorf("ran trial %d to round %d, want trial %d to round %d", got.Trial,
			got.Rounds, t.trial, o.Rounds+1)}
	}
	return got, err
}

// Keep tells the worker to keep the current model.
func (t *training) Keep() { t.keep, t.keptSum = true, t.sum }

// errGivenUp means that a worker could not carry out an order and has dropped its trial.
var errGivenUp = fmt.Errorf("%w: it dropped its trial", study.ErrLost)

// Fetch downloads the kept model and the state of the trial. Once the study is
// interrupted it may fail.
func (t *training) Fetch(ctx context.Context, kept, state bool, check func(model, trial *fl.Snapshot) error) (
	model, trial *fl.Snapshot, err error,
) {
	c, era := t.coordinator, t.coordinator.broker.Era()
	hurry, done := c.transit.interrupted.hurry(ctx)
	defer done()
	model, trial, err = t.bring(hurry, kept, state, check)
	if err != nil && hurry.Err() != nil && ctx.Err() == nil {
		err = fmt.Errorf("%w: %w", study.ErrLost, context.Canceled)
	}
	if err = c.excuse(era, err); err == nil || errors.Is(err, errGivenUp) {
		if c.ledger.sent(t.trial, err == nil) {
			return nil, nil, fmt.Errorf("trial %d, round %d: workers failed to send it %d times in a row; "+
				"check the workers' output, then resume the study", t.trial, t.rounds, maxUnsent)
		}
	}
	if fault, ok := errors.AsType[*faultError](err); ok && ctx.Err() == nil && !errors.Is(err, study.ErrLost) {
		err = c.expel(fault.handle, fault)
	}
	return model, trial, err
}

// bring implements Fetch.
func (t *training) bring(ctx context.Context, kept, state bool, check func(model, trial *fl.Snapshot) error) (
	model, trial *fl.Snapshot, err error,
) {
	got, err := t.call(ctx, wire.Order{Order: wire.OrderFetch, Model: kept, State: state}, wire.StateFetched)
	if err != nil {
		return nil, nil, err
	}
	if kept {
		model, err = t.coordinator.transit.fetch(ctx, got.Model)
	}
	if state && err == nil {
		trial, err = t.coordinator.transit.fetch(ctx, got.Snapshot)
	}
	if err == nil {
		err = t.brought(model, trial, check)
	}
	if err == nil {
		err = t.coordinator.transit.forget(ctx, got.Model, got.Snapshot)
	}
	if err != nil {
		return nil, nil, &faultError{t.handle, err}
	}
	if state {
		t.past.clear()
		t.coordinator.ledger.settle(t.trial, t.rounds)
	}
	t.fetched = t.fetched || state && t.Leaving()
	return model, trial, nil
}

// Leaving reports whether the worker was asked to leave.
func (t *training) Leaving() bool {
	t.coordinator.pool.mu.Lock()
	defer t.coordinator.pool.mu.Unlock()
	return t.handle.leaving
}

// End ends the worker's lease.
func (t *training) End() {
	c, s := t.coordinator, t.handle
	c.pool.mu.Lock()
	defer c.pool.mu.Unlock()
	if s.out || s.lease != t.lease {
		return
	}
	shared := s.share != nil
	s.leased = leased{trial: s.trial, rounds: s.rounds}
	switch {
	case s.pending == nil:
	case shared && s.pending.State == wire.StateShared && !s.leaving:
		c.pool.offer(s) // it has nothing to drop
	default:
		s.answer(wire.Order{Order: wire.OrderDrop})
	}
}

// transit is the study's blobs, and when they are given up.
type transit struct {
	*wire.Blobs
	interrupted interruption
}

// fetch downloads a snapshot.
func (t *transit) fetch(ctx context.Context, name string) (*fl.Snapshot, error) {
	if name == "" {
		return nil, errors.New("sent no blob")
	}
	return t.Get(ctx, name)
}

// forget removes downloaded blobs. The kept model and the state of a trial may be the
// same bytes, so it is called after both were fetched.
func (t *transit) forget(ctx context.Context, names ...string) error {
	for _, name := range names {
		if name == "" {
			continue
		}
		if err := t.Remove(ctx, name); err != nil {
			return err
		}
	}
	return nil
}

// transferTimes are the seconds that uploading and downloading a model takes.
type transferTimes struct{ put, get float64 }

// measure uploads and downloads the weights of a model.
func (t *transit) measure(ctx context.Context, weights []float32) (took transferTimes, err error) {
	start := time.Now()
	name, err := t.Put(ctx, &fl.Snapshot{Weights: weights})
	if err != nil {
		return took, err
	}
	took.put = time.Since(start).Seconds()
	start = time.Now()
	if _, err = t.Get(ctx, name); err == nil {
		took.get = time.Since(start).Seconds()
		err = t.Remove(ctx, name)
	}
	return took, err
}

// interruption calls a function when the study is interrupted, unless it is stopped.
type interruption func(do func()) (stop func() bool)

// haste bounds blob transfers once the study is interrupted.
const haste = 2 * time.Second

// hurry returns a context that ends soon after the study is interrupted, even if ctx does
// not; done releases it.
func (i interruption) hurry(ctx context.Context) (_ context.Context, done func()) {
	ctx, cancel := context.WithCancel(ctx)
	stop := i(func() { time.AfterFunc(haste, cancel) })
	return ctx, func() {
		stop()
		cancel()
	}
}
