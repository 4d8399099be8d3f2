package models

import (
	"fmt"
	"runtime"
	"testing"

	"github.com/fedfast/fedfast/kernels"
	"github.com/fedfast/fedfast/nn"
)

// BenchmarkTrain measures whole training steps with momentum and weight decay, in
// samples per second of the thread's processor time.
func BenchmarkTrain(b *testing.B) {
	for _, name := range Names() {
		m, err := New(name, Options{})
		if err != nil {
			b.Fatal(err)
		}
		_, flops := m.FLOPs()
		for _, n := range []int{8, 16, 64} {
			b.Run(fmt.Sprintf("model=%s/isa=%s/batch=%d", name, kernels.Current(), n), func(b *testing.B) {
				w, v := m.NewParams(), m.NewParams()
				m.Init(w, 1)
				ws := m.NewWorkspace()
				batch := torchBatch(m, n)
				sgd := nn.SGD{LR: 0.01, Momentum: 0.9, WeightDecay: 1e-4}
				step := uint32(0)
				runtime.LockOSThread()
				defer runtime.UnlockOSThread()
				start := threadTime()
				for b.Loop() {
					ws.Step(w, batch, nn.TrainOpts{Step: step, Dropout: -1}, sgd, v, nil, step == 0)
					step++
				}
				samples := float64(n) * float64(b.N) / (threadTime() - start).Seconds()
				b.ReportMetric(samples, "samples/s")
				b.ReportMetric(samples*float64(flops)/1e9, "GFLOPS")
			})
		}
	}
}
