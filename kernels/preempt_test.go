package kernels_test

import (
	"runtime"
	"slices"
	"testing"
	"time"

	"github.com/fedfast/fedfast/internal/test/kernelstest"
	"github.com/fedfast/fedfast/kernels"
)

// TestGemmIsInterruptible stops the world while another goroutine is inside
// products that last much longer. Assembly can't be interrupted, so this takes as
// long as a whole product unless the products are split into short calls.
func TestGemmIsInterruptible(t *testing.T) {
	if kernelstest.Small() {
		t.Skip("times the runtime")
	}
	if runtime.GOMAXPROCS(0) < 2 {
		t.Skip("needs two processors")
	}
	const m, n, k = 8192, 1024, 512
	nn := kernels.NN{M: m, N: n, K: k, A: ones(m * k), Lda: k, B: ones(n * k), C: ones(m * n), Ldc: n}
	tn := kernels.TN{M: m, N: n, K: k, A: nn.A, Lda: k, G: nn.C, Ldg: n, C: ones(n * k)}
	kernelstest.ForEachLevel(t, func(t *testing.T) {
		if kernels.Current() == kernels.Generic {
			t.Skip("Go code is interruptible")
		}
		for name, product := range map[string]func(){
			"nn": func() { kernels.GemmNN(&nn) },
			"tn": func() { kernels.GemmTN(&tn) },
		} {
			start := time.Now()
			product()
			whole := time.Since(start)

			done := make(chan struct{})
			go func() {
				defer close(done)
				for range 4 {
					product()
				}
			}()
			var stops []time.Duration
			for running := true; running; {
				select {
				case <-done:
					running = false
				default:
					start := time.Now()
					runtime.ReadMemStats(new(runtime.MemStats)) // stops the world
					stops = append(stops, time.Since(start))
					time.Sleep(time.Millisecond)
				}
			}
			slices.Sort(stops)
			// The lower quartile: on a busy machine the other half waits for a
			// processor.
			if quartile := stops[len(stops)/4]; quartile > whole/50 {
				t.Errorf("%s: stopping the world took %v (lower quartile of %d) during products of %v", name, quartile, len(stops),
					whole)
			}
		}
	})
}
