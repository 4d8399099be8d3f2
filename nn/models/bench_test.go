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
				opt := &nn.Optimizer{SGD: sgd, Velocity: v}
				for b.Loop() {
					ws.Step(w, batch, nn.TrainOpts{Step: step, Dropout: -1}, opt)
					step++
				}
				samples := float64(n) * float64(b.N) / (threadTime() - start).Seconds()
				b.ReportMetric(samples, "samples/s")
				b.ReportMetric(samples*float64(flops)/1e9, "GFLOPS")
			})
		}
	}
}

// BenchmarkDisplacement measures what FATHOM's cosine adds to a step of plain SGD,
// at the batch sizes of its paper for the first two networks. The two kinds of step
// take turns, so that the machine's moods meet both.
func BenchmarkDisplacement(b *testing.B) {
	for _, c := range []struct {
		model string
		batch int
	}{
		{"reddi-emnist-cnn", 20},
		{"so-nwp-lstm", 16},
		{"leaf-femnist-cnn", 10},
		{"fedex-cifar-cnn", 16},
		{"tff-char-lstm", 4},
		{"logistic", 10},
	} {
		m, err := New(c.model, Options{})
		if err != nil {
			b.Fatal(err)
		}
		b.Run(fmt.Sprintf("model=%s/isa=%s/batch=%d", c.model, kernels.Current(), c.batch), func(b *testing.B) {
			w := m.NewParams()
			m.Init(w, 1)
			probe := &nn.Displacement{Anchor: m.NewParams()}
			copy(probe.Anchor, w)
			ws := m.NewWorkspace()
			batch := torchBatch(m, c.batch)
			runtime.LockOSThread()
			defer runtime.UnlockOSThread()
			var took [2]float64
			step := uint32(0)
			for b.Loop() {
				for with, p := range []*nn.Displacement{nil, probe} {
					start := threadTime()
					ws.Step(w, batch, nn.TrainOpts{Step: step, Dropout: -1, Probe: p}, &nn.Optimizer{SGD: nn.SGD{LR: 1e-3}})
					took[with] += (threadTime() - start).Seconds()
					step++
				}
			}
			b.ReportMetric(100*(took[1]/took[0]-1), "%overhead")
			b.ReportMetric(1e3*took[0]/float64(b.N), "ms/step")
		})
	}
}

// BenchmarkPrecision measures training steps of plain SGD in bf16 against those in
// fp32, which take turns with them.
func BenchmarkPrecision(b *testing.B) {
	if kernels.Current() == kernels.Generic {
		b.Skip("no assembly")
	}
	for _, name := range Names() {
		m, err := New(name, Options{})
		if err != nil {
			b.Fatal(err)
		}
		for _, n := range []int{10, 16} {
			b.Run(fmt.Sprintf("model=%s/batch=%d", name, n), func(b *testing.B) {
				var w [2][]float32
				var ws [2]*nn.Workspace
				for i, p := range []nn.Precision{nn.FP32, nn.BF16} {
					w[i], ws[i] = m.NewParams(), m.WithPrecision(p).NewWorkspace()
					m.Init(w[i], 1)
				}
				batch := torchBatch(m, n)
				runtime.LockOSThread()
				defer runtime.UnlockOSThread()
				var took [2]float64
				step := uint32(0)
				for b.Loop() {
					for i := range took {
						start := threadTime()
						ws[i].Step(w[i], batch, nn.TrainOpts{Step: step, Dropout: -1}, &nn.Optimizer{SGD: nn.SGD{LR: 1e-3}})
						took[i] += (threadTime() - start).Seconds()
					}
					step++
				}
				b.ReportMetric(float64(n*b.N)/took[0], "fp32/s")
				b.ReportMetric(float64(n*b.N)/took[1], "bf16/s")
				b.ReportMetric(took[0]/took[1], "ratio")
			})
		}
	}
}

// BenchmarkSubnet cuts the largest and a small sub-network of mbv3-cifar.
func BenchmarkSubnet(b *testing.B) {
	m, err := New("mbv3-cifar", Options{})
	if err != nil {
		b.Fatal(err)
	}
	places, least, most := m.Places(), map[string]int{}, map[string]int{"stage1.width": 16, "stage3.kernel": 3}
	for _, c := range m.Choices() {
		least[c.Name] = c.Options[0]
	}
	for name, pick := range map[string]map[string]int{"whole": nil, "large": most, "least": least} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				sub, err := m.Sub(pick)
				if err != nil {
					b.Fatal(err)
				}
				if _, err := places.Of(sub); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
