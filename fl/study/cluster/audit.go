package cluster

import (
	"bytes"
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"

	"github.com/fedfast/fedfast/fl"
	"github.com/fedfast/fedfast/fl/internal/shard"
	"github.com/fedfast/fedfast/fl/study"
	"github.com/fedfast/fedfast/fl/study/cluster/internal/wire"
	"github.com/fedfast/fedfast/fl/study/result"
	"github.com/fedfast/fedfast/internal/sys/oneline"
)

// auditor trains a share of the rounds and of the parts again, and decides between workers
// whose results differ: by what the coordinator's own process computes.
type auditor struct {
	setup  study.Setup
	share  float64
	secret string // that draws what is audited: no worker can tell it

	mu     sync.Mutex // guards what follows
	worker *study.Worker
	told   result.ClusterAudit
}

// draws decides whether a part of a round is trained twice. No result depends on it.
func (a *auditor) draws(at share) bool {
	text := []byte("audit" + a.secret)
	for _, n := range []int{at.trial, at.rounds, at.lo, at.hi} {
		text = binary.BigEndian.AppendUint64(text, uint64(n)) //nolint:gosec // it is not negative
	}
	sum := digest(text)
	return float64(binary.BigEndian.Uint64(sum[:])) < a.share*(1<<64)
}

// own returns the engine of the coordinator's own process.
func (a *auditor) own() (_ *study.Worker, err error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.worker == nil {
		a.worker, err = study.NewWorker(a.setup)
	}
	return a.worker, err
}

// twice counts a result that two processes agree on.
func (a *auditor) twice() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.told.Results++
}

// close ends the engine.
func (a *auditor) close() {
	if a.worker != nil {
		a.worker.Close()
	}
}

// Audited returns what was trained twice, and which workers were dismissed.
func (c *Coordinator) Audited() *result.ClusterAudit {
	c.auditor.mu.Lock()
	defer c.auditor.mu.Unlock()
	told := c.auditor.told
	if told.Share = c.auditor.share; told.Share == 0 && told.Dismissed == nil {
		return nil
	}
	return &told
}

// faultError is a report of a worker that cannot be right.
type faultError struct {
	handle *workerHandle
	why    error
}

// Error names the worker.
func (f *faultError) Error() string { return fmt.Sprintf("worker %s: %v", f.handle.name, f.why) }

// Unwrap returns the reason.
func (f *faultError) Unwrap() error { return f.why }

// errOther is the reason for which a worker is dismissed whose result is another one.
var errOther = errors.New("it computed other bits than the coordinator: its machine is faulty, or it lies")

// expel has a worker leave whose report was wrong. It must be called without pool.mu.
func (c *Coordinator) expel(s *workerHandle, why error) error {
	c.pool.mu.Lock()
	defer c.pool.mu.Unlock()
	if s.dismissed != "" {
		return study.ErrLost
	}
	s.dismissed = oneline.Of(fmt.Sprintf("dismissed %s on %s: %v", s.name, s.machine.Host, why))
	if !s.out {
		if s.pending != nil {
			s.answer(wire.Order{Order: wire.OrderLeave, Why: s.dismissed})
		}
		s.busy = s.lease != 0 // what was found counts where it was done
		c.lose(s, s.dismissed)
	} else {
		c.options.Notice(s.dismissed)
	}
	c.auditor.mu.Lock()
	defer c.auditor.mu.Unlock()
	c.auditor.told.Dismissed = append(c.auditor.told.Dismissed, s.dismissed)
	return study.ErrLost
}

// here runs the rounds since the trial's newest state in this process, the last one by an
// order, and returns what each comes to.
func (t *training) here(ctx context.Context, o *wire.Order) (all []wire.Request, err error) {
	from, orders, err := t.since(o)
	if err != nil || orders == nil {
		return nil, err
	}
	w, err := t.coordinator.auditor.own()
	if err != nil {
		return nil, err
	}
	job := w.Begin(t.trial)
	if from != nil {
		if job, err = w.Resume(from); err != nil {
			return nil, err
		}
	}
	for i := range orders {
		p, err := orders[i].Plan.Decode()
		if err != nil {
			return nil, err
		}
		record, err := job.Round(ctx, p, orders[i].Observed)
		if err != nil {
			return nil, err
		}
		all = append(all, wire.Request{Rounds: job.Rounds(), Record: record, Sum: wire.Sum(job.Weights())})
	}
	return all, nil
}

// doubt trains a round here whose report cannot be right. It returns why if it comes to the
// same here, else it dismisses the worker.
func (t *training) doubt(ctx context.Context, o *wire.Order, got *wire.Request, why error) error {
	c := t.coordinator
	all, err := t.here(ctx, o)
	_, panics := errors.AsType[*shard.PanicError](err)
	switch {
	case got != nil && got.Panic != "" && panics:
		return why
	case err != nil:
		return err
	case all == nil: // it cannot be trained here
		return why
	}
	if now := all[len(all)-1]; got != nil && bits(got) == bits(&now) {
		return c.confirmed(ctx, t.handle, o, why)
	}
	return c.expel(t.handle, cmp.Or(why, errOther))
}

// confirmed returns the error of a round that comes to the same here, nil for none. Where the
// study's record has another one, that is the fault of the worker that it is from.
func (c *Coordinator) confirmed(ctx context.Context, s *workerHandle, o *wire.Order, why error) error {
	fault, ok := errors.AsType[*faultError](why)
	if !ok {
		c.auditor.twice()
		return why
	}
	name, err := result.TrainedBy(ctx, c.journal.store, o.Trial, o.Rounds+1)
	if err != nil || name == "" {
		return fault.why
	}
	return fmt.Errorf("trial %d, round %d: what worker %s reported, and the study has recorded, is not what %s and the coordinator "+
		"compute: the machine of %s is faulty, or it lies; start the study again without it", o.Trial, o.Rounds+1, name, s.name, name)
}

// bits is the digest of a report on a round.
func bits(t *wire.Request) [32]byte { return digest(t.Record, []byte(t.Sum)) }

// decide settles which of two workers was right that came to different bits of a round: the
// other one is dismissed.
func (t *training) decide(ctx context.Context, o *wire.Order, d *dispute) error {
	all, err := t.here(ctx, o)
	if err != nil {
		return err
	}
	i := slices.IndexFunc(all, func(x wire.Request) bool { return x.Rounds == d.at.rounds+1 })
	if i < 0 {
		return d
	}
	for _, r := range []trained{d.one, d.other} {
		if r.sum == bits(&all[i]) {
			continue
		}
		if lost := t.coordinator.expel(r.worker, fmt.Errorf("%s: %w", d.at, errOther)); r.worker == t.handle {
			err = lost
		}
	}
	return err
}

// audit has another worker train a round again, or the coordinator where none is idle.
func (t *training) audit(ctx context.Context, o *wire.Order, got *wire.Request) error {
	c := t.coordinator
	second, err := t.second(ctx, o)
	if err != nil {
		return err
	}
	if second != nil {
		v := <-second.done
		if v.copy != nil {
			v.copy.End()
		}
		if v.err == nil { // if they differ, the ledger has noticed
			if bits(v.got) == bits(got) {
				c.auditor.twice()
			}
			return nil
		}
	}
	return t.doubt(ctx, o, got, nil)
}

// checked returns the report on a round if it can be right: it passes the study's checks,
// and audits.
func (t *training) checked(ctx context.Context, o *wire.Order, got *wire.Request, err error, check func([]byte) error,
) error {
	c := t.coordinator
	fault, _ := errors.AsType[*faultError](err)
	switch {
	case fault != nil:
		return t.doubt(ctx, o, nil, fault)
	case err != nil:
		return err
	case got.Panic != "":
		return t.doubt(ctx, o, got, &shard.PanicError{Value: got.Panic, Stack: []byte(got.Stack)})
	}
	if c.auditor.draws(share{trial: t.trial, rounds: o.Rounds}) {
		err = t.audit(ctx, o, got)
	}
	if d := c.ledger.disputed(t.trial); d != nil && err == nil {
		err = t.decide(ctx, o, d)
	}
	if err == nil && check != nil {
		if why := check(got.Record); why != nil {
			err = t.doubt(ctx, o, got, &faultError{t.handle, why})
		}
	}
	return err
}

// verify does a task here. It returns nil if its result is the same, and dismisses the
// worker if it is another one.
func (c *Coordinator) verify(s *workerHandle, text []byte, fault error, do func(w *study.Worker, to io.Writer) error) error {
	w, err := c.auditor.own()
	var now bytes.Buffer
	if err == nil {
		err = do(w, &now)
	}
	if err != nil {
		return err
	}
	if fault == nil && bytes.Equal(text, now.Bytes()) {
		return nil
	}
	return c.expel(s, cmp.Or(fault, errOther))
}

// brought checks fetched weights against those that the worker reported, and by the study's
// own check.
func (t *training) brought(kept, state *fl.Snapshot, check func(model, trial *fl.Snapshot) error) error {
	for _, x := range []struct {
		s   *fl.Snapshot
		sum string
	}{{kept, t.keptSum}, {state, t.sum}} {
		if x.s != nil && x.sum != "" && wire.Sum(x.s.Weights) != x.sum {
			return fmt.Errorf("trial %d: it sent other weights than those that it reported after the round", t.trial)
		}
	}
	if check == nil {
		return nil
	}
	return check(kept, state)
}
