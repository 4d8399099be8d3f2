package cluster

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/fedfast/fedfast/fl"
	"github.com/fedfast/fedfast/fl/internal/shard"
	"github.com/fedfast/fedfast/fl/study"
)

var _ study.Sharer = (*Coordinator)(nil)

// share is a part of a round, the slots in [lo, hi), or a part of an evaluation, the
// clients starting at lo, with hi = 0.
type share struct{ trial, rounds, lo, hi int }

// String describes the share in notices.
func (s share) String() string {
	if s.hi == 0 {
		return "part of an evaluation"
	}
	return fmt.Sprintf("clients %d to %d of the cohort of trial %d after round %d", s.lo+1, s.hi, s.trial, s.rounds)
}

// Train trains a shard of a round on the next free worker, and on another one if that is
// lost.
func (c *Coordinator) Train(ctx context.Context, s shard.Round, read func(io.Reader) error) error {
	at := share{s.Trial, s.Round, s.Lo, s.Hi}
	worker, err := c.give(ctx, at, fl.Plan(s.Plan), task{Lo: at.lo, Hi: at.hi}, s.Weights, read)
	if err != nil {
		return err
	}
	return c.trained(at, worker)
}

// Measure evaluates a model on the next free worker likewise.
func (c *Coordinator) Measure(ctx context.Context, x shard.Exam, read func(io.Reader) error) error {
	plan, weights := fl.Plan{Server: x.Server, Clients: x.Params}, x.Weights
	x.Weights, x.Params, x.Server = nil, nil, fl.ServerParams{} // they travel apart
	first := 0
	if len(x.Clients) > 0 {
		first = x.Clients[0]
	}
	_, err := c.give(ctx, share{rounds: x.Round, lo: first}, plan, task{Exam: &x}, weights, read)
	return err
}

// unread is the maximum number of failed attempts at a task.
const unread = 5

// give gives a task to a worker and reads the result.
func (c *Coordinator) give(ctx context.Context, at share, p fl.Plan, work task, weights []float32, read func(io.Reader) error) (worker string, err error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer c.interrupted(cancel)()
	c.begins()
	wire, err := encodePlan(p)
	if err != nil {
		return "", err
	}
	name, done, err := c.broadcast(ctx, weights)
	if err != nil {
		return "", err
	}
	defer done()
	work.Weights = name
	for tries := 1; ; {
		s, err := c.take(ctx)
		if err != nil {
			return "", err
		}
		t := c.lend(s, at)
		got, err := t.call(ctx, order{Order: orderShare, Lease: t.lease, Trial: at.trial, Rounds: at.rounds, Plan: wire, Task: &work}, stateShared)
		t.End()
		switch {
		case errors.Is(err, errGivenUp) && tries < unread:
			tries++
			continue
		case errors.Is(err, study.ErrLost) && !errors.Is(err, errGivenUp):
			continue
		case err != nil:
			return "", err
		case got.Panic != "":
			return "", &shard.PanicError{Value: got.Panic, Stack: []byte(got.Stack)}
		}
		if err = c.result(ctx, got, read); err == nil {
			return s.name, nil
		}
		if tries++; tries > unread || ctx.Err() != nil {
			return "", fmt.Errorf("worker %s: %s: %w", s.name, at, err)
		}
	}
}

// lend gives a free worker a lease for a part of a round or of an evaluation. The lease
// lasts for one order, so it is not recorded: see trained.
func (c *Coordinator) lend(s *workerHandle, at share) *training {
	c.mu.Lock()
	defer c.mu.Unlock()
	s.taken = false
	c.lease++
	if !s.out {
		s.lease, s.trial, s.rounds, s.busy, s.share = c.lease, at.trial, at.rounds, false, &at
	}
	return &training{coordinator: c, handle: s, lease: c.lease, trial: at.trial, rounds: at.rounds}
}

// result reads the result of a task from the request, or from its blob.
func (c *Coordinator) result(ctx context.Context, t *request, read func(io.Reader) error) error {
	text := t.Result
	if t.Blob != "" {
		var err error
		if text, err = c.blobs.bytes(ctx, t.Blob); err != nil {
			return err
		}
	}
	if err := read(bytes.NewReader(text)); err != nil {
		return err
	}
	return c.forget(ctx, t.Blob) // only a valid result: another blob may still be needed
}

// sent holds weights in transit to workers.
type sent struct {
	read  chan struct{} // closed once the weights were read
	made  chan struct{} // closed once name or err is set
	name  string
	err   error
	users int
	stop  context.CancelFunc
}

// unused is the number of weights kept on the server although no task uses them: the
// next round may start with those of an evaluation.
const unused = 2

// broadcast uploads weights, once for all concurrent tasks that use them, and returns
// their digest. done is called when a task has ended. Weights are identified by their
// address, which may be reused as soon as all tasks have ended.
func (c *Coordinator) broadcast(ctx context.Context, weights []float32) (name string, done func(), err error) {
	key := &weights[0]
	c.mu.Lock()
	b := c.sent[key]
	if b == nil {
		put, stop := context.WithCancel(context.WithoutCancel(ctx)) // other tasks may need it, too
		b = &sent{read: make(chan struct{}), made: make(chan struct{}), stop: stop}
		c.sent[key] = b
		go b.put(put, c.blobs, weights)
	}
	b.users++
	c.mu.Unlock()
	done = func() { c.received(ctx, key, b) }
	select {
	case <-b.made:
		err = b.err
	case <-ctx.Done():
		<-b.read
		err = ctx.Err()
	}
	if err != nil {
		done()
		return "", nil, err
	}
	return b.name, done, nil
}

// put uploads the weights.
func (b *sent) put(ctx context.Context, blobs *blobs, weights []float32) {
	defer close(b.made)
	text, err := encode(&fl.Snapshot{Weights: weights})
	close(b.read)
	if b.err = err; err == nil {
		b.name, b.err = blobs.putBytes(ctx, text)
	}
}

// arrived reports whether the weights were uploaded.
func (b *sent) arrived() bool {
	select {
	case <-b.made:
		return b.err == nil
	default:
		return false
	}
}

// received removes weights that are no longer used, except the newest ones.
func (c *Coordinator) received(ctx context.Context, key *float32, b *sent) {
	c.mu.Lock()
	b.users--
	if b.users > 0 {
		c.mu.Unlock()
		return
	}
	delete(c.sent, key)
	b.stop()
	if !b.arrived() {
		c.mu.Unlock()
		return
	}
	c.unused = append(slices.DeleteFunc(c.unused, func(name string) bool { return name == b.name }), b.name)
	var old []string
	for len(c.unused) > unused {
		name := c.unused[0]
		c.unused = c.unused[1:]
		if !c.uses(name) {
			old = append(old, name)
		}
	}
	c.mu.Unlock()
	hurry, end := c.hurried(context.WithoutCancel(ctx))
	defer end()
	_ = c.forget(hurry, old...) // a leftover ends with the server
}

// uses reports whether some task uses the weights with a digest.
func (c *Coordinator) uses(name string) bool {
	for b := range maps.Values(c.sent) {
		select {
		case <-b.made:
			if b.name == name {
				return true
			}
		default: // it may turn out to be these
			return true
		}
	}
	return false
}

// trained notes that a worker has trained a part of a round. The workers that share a
// trial's rounds are recorded at the first shared round and whenever they change.
func (c *Coordinator) trained(at share, worker string) error {
	c.mu.Lock()
	p := c.costOf(at.trial)
	p.left--
	p.sharers[worker] = true
	names := slices.Sorted(maps.Keys(p.sharers))
	text := strings.Join(names, " ")
	if p.left > 0 || text == p.recorded {
		if p.left == 0 {
			p.ended(time.Now())
		}
		c.mu.Unlock()
		return nil
	}
	p.ended(time.Now())
	p.recorded = text
	c.lease++
	lease := c.lease
	c.mu.Unlock()
	return study.RecordLease(c.store, at.trial, at.rounds, study.LeaseRecord{Lease: lease, Workers: names})
}

// judgeShare compares a part of a round with another worker's result for it.
func (c *Coordinator) judgeShare(worker string, t *request) error {
	if t.Hi == 0 {
		return nil
	}
	at := share{t.Trial, t.Rounds, t.Lo, t.Hi}
	now := result{sum: digest([]byte(t.Blob), t.Result), worker: worker}
	then, known := c.shares[at]
	if !known {
		c.shares[at] = now
		return nil
	}
	return c.agree(at.String(), then, now)
}
