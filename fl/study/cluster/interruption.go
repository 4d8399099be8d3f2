package cluster

import (
	"context"
	"time"
)

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
