package fl

import (
	"context"
	"math"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/fedfast/fedfast/fl/hyper"
	"github.com/fedfast/fedfast/fl/internal/trainer"
	"github.com/fedfast/fedfast/internal/test/fltest"
	"github.com/fedfast/fedfast/kernels"
	"github.com/fedfast/fedfast/kernels/det"
	"github.com/fedfast/fedfast/nn"
)

// TestDelta compares the change and its norm, which are computed block by block,
// with those of whole vectors: the same bits.
func TestDelta(t *testing.T) {
	for _, n := range []int{0, 16, deltaBlock - 16, deltaBlock, 3*deltaBlock + 48} {
		broadcast, local, want := make([]float32, n), make([]float32, n), make([]float32, n)
		s := kernels.NewStream(1, uint64(n))
		for i := range local {
			broadcast[i], local[i] = s.Float32(), s.Float32()
		}
		kernels.Sub(want, broadcast, local)
		if norm := delta(broadcast, local); norm != kernels.Norm(want) {
			t.Errorf("%d weights: norm %v, want %v", n, norm, kernels.Norm(want))
		}
		for i := range want {
			if local[i] != want[i] {
				t.Fatalf("%d weights: change %d is %v, want %v", n, i, local[i], want[i])
			}
		}
	}
	if norm := delta([]float32{1, 2}, []float32{0, float32(math.NaN())}); det.Finite(norm) {
		t.Errorf("the norm of a change that is not finite is %v", norm)
	}
}

// TestWaitingRoundsHoldNoSums holds that the memory of many trials at once is
// the sum of their weights: rounds that wait for workers have no sums yet.
func TestWaitingRoundsHoldNoSums(t *testing.T) {
	fed := fltest.OpenGlyphs(t, 8, 120)
	const trials = 32
	plan := Plan{Server: hyper.DefaultServer(), Clients: []ClientParams{hyper.DefaultClient()}}
	least := trials // a busy machine may let rounds that have ended wait, too
	for range 5 {
		e := newEngine(t, Config{Method: average(), Model: fltest.SmallCNN(t, fed), Data: fed, Cohort: 4, Workers: 2})
		start := make(chan struct{})
		var wg sync.WaitGroup
		for i := range trials {
			wg.Go(func() {
				tr := e.NewTrial(i)
				<-start
				if _, err := tr.Round(t.Context(), plan); err != nil {
					t.Error(err)
				}
			})
		}
		close(start)
		wg.Wait()
		if least = min(least, len(e.pool.sums)); least <= trials/2 {
			break
		}
	}
	if least < 1 || least > trials/2 {
		t.Errorf("%d rounds at once took %d sums or more; there are 2 workers", trials, least)
	}
}

// TestPoolSharesRuns holds that a run does not wait for a worker that is at work
// elsewhere, and that its tasks start in their order.
func TestPoolSharesRuns(t *testing.T) {
	m, err := nn.NewModel("small", nn.Shape{H: 1, W: 1, C: 3}, 2, nn.Dense{Units: 2})
	if err != nil {
		t.Fatal(err)
	}
	p := newPool(m, 2, func() trainer.Trainer { return m.NewWorkspace() })
	defer p.close()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	release, busy, long := make(chan struct{}), make(chan struct{}), make(chan error, 1)
	go func() {
		long <- p.run(1, func(int, *worker) error {
			close(busy)
			select {
			case <-release:
			case <-ctx.Done():
			}
			return ctx.Err()
		})
	}()
	<-busy
	var started atomic.Int64
	err = p.run(100, func(i int, _ *worker) error {
		if n := started.Add(1) - 1; int(n) != i {
			t.Errorf("task %d started as number %d", i, n)
		}
		return ctx.Err()
	})
	if err != nil || started.Load() != 100 {
		t.Errorf("%d tasks ran, error %v", started.Load(), err)
	}
	close(release)
	if err := <-long; err != nil {
		t.Errorf("the long run: %v", err)
	}
	if err := p.run(0, nil); err != nil {
		t.Error(err)
	}
}
