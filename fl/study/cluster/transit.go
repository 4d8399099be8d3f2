package cluster

import (
	"context"
	"errors"
	"time"

	"github.com/fedfast/fedfast/fl"
	"github.com/fedfast/fedfast/fl/study/cluster/internal/wire"
)

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
