package study

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/fedfast/fedfast/fl/study/internal/replay"
	"github.com/fedfast/fedfast/internal/store"
	"github.com/fedfast/fedfast/tuners"
)

// ErrWall is wrapped by the error of a Tune that stopped at budget.wall_seconds. The study
// is as after an interruption: it can be resumed.
var ErrWall = errors.New("stopped at budget.wall_seconds")

// wall ends the work on a study when its wall time is over and a round was trained. Nothing
// that is decided depends on it, except where the work stops.
type wall struct {
	seconds float64
	cancel  context.CancelCauseFunc
	timer   *time.Timer

	over, trained atomic.Bool
}

// newWall returns a context that ends when a limit does, 0 for none, from start on.
func newWall(ctx context.Context, seconds float64) (context.Context, *wall) {
	w := &wall{seconds: seconds}
	ctx, w.cancel = context.WithCancelCause(ctx)
	return ctx, w
}

// start begins to count, once the study is recorded and so can be resumed.
func (w *wall) start() {
	if w != nil && w.seconds > 0 {
		most := time.Duration(min(w.seconds, 1e9) * float64(time.Second))
		w.timer = time.AfterFunc(most, func() {
			w.over.Store(true)
			w.check()
		})
	}
}

// round takes note of a round that was trained; w may be nil.
func (w *wall) round() {
	if w != nil {
		w.trained.Store(true)
		w.check()
	}
}

// check ends the work when it is time.
func (w *wall) check() {
	if w.over.Load() && w.trained.Load() {
		w.cancel(ErrWall)
	}
}

// end stops counting.
func (w *wall) end() {
	if w.timer != nil {
		w.timer.Stop()
	}
	w.cancel(nil)
}

// stopped turns the error of a study that ended with its context into ErrWall, if that is
// why, and records it.
func (w *wall) stopped(ctx context.Context, past *replay.Past, err error) error {
	if !errors.Is(err, context.Canceled) || !errors.Is(context.Cause(ctx), ErrWall) {
		return err
	}
	if past != nil {
		if failed := past.Append(store.KindPause, tuners.StudySession, 0, map[string]float64{"wall_seconds": w.seconds}); failed != nil {
			return failed
		}
		if failed := past.Flush(); failed != nil {
			return failed
		}
	}
	return fmt.Errorf("%w = %g", ErrWall, w.seconds)
}
