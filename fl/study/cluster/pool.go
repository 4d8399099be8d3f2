package cluster

import (
	"context"
	"slices"
	"sync"

	"github.com/fedfast/fedfast/internal/sys/oneline"
)

// pool holds the workers of a study, and the placements that wait for one.
type pool struct {
	mu      sync.Mutex // guards what follows, and all handles; locked before all others but the hub's
	handles map[string]*workerHandle
	waiting []chan *workerHandle // placements, the first come first
	placing int                  // trials that wait for a worker
	joined  int                  // workers so far, of all processes
	alone   vigil                // without a worker
	err     error                // ends the study
}

func newPool() *pool { return &pool{handles: map[string]*workerHandle{}, alone: newVigil()} }

// placed waits for a free worker for a whole trial.
func (p *pool) placed(ctx context.Context) (*workerHandle, error) {
	p.mu.Lock()
	p.placing++
	p.mu.Unlock()
	defer func() {
		p.mu.Lock()
		p.placing--
		p.mu.Unlock()
	}()
	return p.take(ctx)
}

// take waits for a free worker.
func (p *pool) take(ctx context.Context) (*workerHandle, error) {
	p.mu.Lock()
	if p.err != nil {
		defer p.mu.Unlock()
		return nil, p.err
	}
	if s := p.spare(); s != nil {
		p.mu.Unlock()
		return s, nil
	}
	p.endCopy()
	w := make(chan *workerHandle, 1)
	p.waiting = append(p.waiting, w)
	p.mu.Unlock()
	select {
	case s, ok := <-w:
		if !ok {
			p.mu.Lock()
			defer p.mu.Unlock()
			return nil, p.err
		}
		return s, nil
	case <-ctx.Done():
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.waiting = slices.DeleteFunc(p.waiting, func(o chan *workerHandle) bool { return o == w })
	select {
	case s, ok := <-w: // it arrived in the meantime
		if ok {
			s.taken = false
			p.offer(s)
		}
	default:
	}
	return nil, ctx.Err()
}

// release gives back a worker that was taken.
func (p *pool) release(s *workerHandle) {
	p.mu.Lock()
	defer p.mu.Unlock()
	s.taken = false
	p.offer(s)
}

// The methods below are called with mu locked.

// spare takes a free worker, nil if there is none.
func (p *pool) spare() *workerHandle { return p.spareBut(nil) }

// spareBut takes a free worker but the given one.
func (p *pool) spareBut(not *workerHandle) *workerHandle {
	for _, s := range p.handles {
		if s.free() && s != not {
			s.taken = true
			return s
		}
	}
	return nil
}

// offer gives a free worker to the placement that has waited longest.
func (p *pool) offer(s *workerHandle) {
	if s.free() && len(p.waiting) > 0 {
		s.taken = true
		p.waiting[0] <- s
		p.waiting = p.waiting[1:]
	}
}

// endCopy cancels one backup task, to free a worker for a trial that waits.
func (p *pool) endCopy() {
	for _, s := range p.handles {
		if s.copies != nil {
			s.copies()
			s.copies = nil
			return
		}
	}
}

// count counts the workers for which a condition holds.
func (p *pool) count(holds func(*workerHandle) bool) int {
	n := 0
	for _, s := range p.handles {
		if holds(s) {
			n++
		}
	}
	return n
}

// here returns the number of workers.
func (p *pool) here() int { return p.count(func(s *workerHandle) bool { return !s.out }) }

// inWords returns the number of workers in words.
func (p *pool) inWords() string { return oneline.Count(p.here(), "worker") }

// fail ends the study with an error, unless it is nil.
func (p *pool) fail(err error) {
	if err == nil || p.err != nil {
		return
	}
	p.err = err
	for _, w := range p.waiting {
		close(w)
	}
	p.waiting = nil
}

// supply is the number of workers for the rounds of a trial: those that are idle, including
// the one that trains it, those that are not about to leave, and the trials that wait for
// one.
type supply struct{ idle, staying, placing int }

// supply locks mu itself.
func (p *pool) supply(trial int) supply {
	p.mu.Lock()
	defer p.mu.Unlock()
	return supply{
		idle: p.count(func(s *workerHandle) bool {
			return s.free() || s.lease != 0 && s.share == nil && s.trial == trial && !s.leaving
		}),
		staying: p.count(func(s *workerHandle) bool { return !s.out && !s.leaving }),
		placing: p.placing,
	}
}
