package play

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"sync"

	"github.com/fedfast/fedfast/internal/list"
	"github.com/fedfast/fedfast/tuners"
)

// flight is the trials in flight.
type flight struct {
	study  *Study
	ctx    context.Context //nolint:containedctx // it ends with Play
	cancel context.CancelFunc
	now    int // simulated time: when the last report was made
	work   sync.WaitGroup

	mu       sync.Mutex
	changed  *sync.Cond
	segments []*segment // that are not reported, in the order in which they were sent
	busy     int        // lanes
}

// segment is a trial in flight.
type segment struct {
	Segment
	sent           int // in simulated time
	started, ended bool
	trained        int // rounds before the one that runs
	report         tuners.TrialReport
	err            error
}

func newFlight(ctx context.Context, s *Study) *flight {
	f := &flight{study: s}
	f.ctx, f.cancel = context.WithCancel(ctx)
	f.changed = sync.NewCond(&f.mu)
	return f
}

func (f *flight) len() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return len(f.segments)
}

// send takes a segment into the flight.
func (f *flight) send(s Segment) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.segments = append(f.segments, &segment{Segment: s, sent: f.now})
}

// finish is the earliest simulated time at which the segment can end, and when it
// did if it has ended. A segment takes one round at least: that in which a trial
// fails counts, and so does the look at one that has nothing left to do.
func (s *segment) finish() int {
	switch {
	case !s.ended:
		return s.sent + s.trained + 1
	case s.report.Failed:
		return s.sent + s.report.Round - s.From + 1
	}
	return s.sent + max(1, s.report.Round-s.From)
}

// before reports whether a is reported to the tuner before b.
func (f *flight) before(a, b *segment) int {
	if f.study.Parallel == 1 {
		return cmp.Compare(a.Trial, b.Trial)
	}
	return cmp.Or(cmp.Compare(a.finish(), b.finish()), cmp.Compare(a.Trial, b.Trial))
}

// next returns the segment of which the tuner is told next; it may still run.
func (f *flight) next() *segment {
	if f.study.Next == nil {
		return slices.MinFunc(f.segments, f.before)
	}
	running := list.Of(f.segments, func(s *segment) int { return s.Trial })
	return f.segments[f.study.Next(running)]
}

// first waits until it is certain of which trial the tuner is told next, and
// returns its report.
func (f *flight) first() (tuners.TrialReport, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	next := f.next()
	for !next.ended {
		f.start()
		if f.failed() {
			return tuners.TrialReport{}, f.cause()
		}
		if f.inline() {
			f.run(f.waiting())
		} else {
			f.changed.Wait()
		}
		if f.study.Next == nil {
			next = f.next()
		}
	}
	if f.failed() {
		return tuners.TrialReport{}, f.cause()
	}
	f.segments = slices.DeleteFunc(f.segments, func(s *segment) bool { return s == next })
	f.now = max(f.now, next.finish())
	return next.report, nil
}

func (f *flight) inline() bool { return f.study.Lanes <= 1 }

// waiting returns the first segment that has not been started, nil when all have.
func (f *flight) waiting() *segment {
	i := slices.IndexFunc(f.segments, func(s *segment) bool { return !s.started })
	if i < 0 {
		return nil
	}
	return f.segments[i]
}

// start fills the lanes.
func (f *flight) start() {
	for !f.inline() && f.busy < f.study.Lanes && f.ctx.Err() == nil {
		s := f.waiting()
		if s == nil {
			return
		}
		s.started = true
		f.busy++
		f.work.Go(func() {
			f.mu.Lock()
			defer f.mu.Unlock()
			f.run(s)
			f.busy--
			f.start()
		})
	}
}

// run runs a segment, without the lock.
func (f *flight) run(s *segment) {
	s.started = true
	f.mu.Unlock()
	report, err := f.study.Runner.Run(f.ctx, s.Segment, func(rounds int) {
		f.mu.Lock()
		defer f.mu.Unlock()
		s.trained = rounds - s.From
		f.changed.Signal()
	})
	f.mu.Lock()
	s.report, s.err, s.ended = report, err, true
	if err != nil {
		f.cancel() // the others end after their round
	}
	f.changed.Signal()
}

// failed reports whether a segment has ended the study, or its caller.
func (f *flight) failed() bool {
	return f.ctx.Err() != nil || slices.ContainsFunc(f.segments, func(s *segment) bool { return s.err != nil })
}

// cause waits for all and returns the first error, in the order in which they were
// sent, that is not just the others' being cancelled.
func (f *flight) cause() error {
	f.cancel()
	f.mu.Unlock()
	f.work.Wait()
	f.mu.Lock()
	var first error
	for _, s := range f.segments {
		if s.err != nil && !errors.Is(s.err, context.Canceled) {
			return s.err
		}
		first = cmp.Or(first, s.err)
	}
	if first == nil {
		first = context.Cause(f.ctx)
	}
	return first
}
