package nn

import (
	"fmt"
	"runtime"
	"testing"

	"github.com/fedfast/fedfast/kernels"
)

// benchNets are convolutional networks of the federated literature.
var benchNets = []struct {
	name   string
	layers []Layer
}{
	{"reddi-emnist", []Layer{
		Conv2D{Filters: 32, Kernel: 3},
		ReLU{},
		Conv2D{Filters: 64, Kernel: 3},
		ReLU{},
		MaxPool{Size: 2},
		Dropout{Rate: 0.25},
		Flatten{},
		Dense{Units: 128},
		ReLU{},
		Dropout{Rate: 0.5},
		Dense{Units: 62},
	}},
	{"leaf-femnist", []Layer{
		Conv2D{Filters: 32, Kernel: 5, Same: true},
		ReLU{},
		MaxPool{Size: 2},
		Conv2D{Filters: 64, Kernel: 5, Same: true},
		ReLU{},
		MaxPool{Size: 2},
		Flatten{},
		Dense{Units: 2048},
		ReLU{},
		Dense{Units: 62},
	}},
}

// BenchmarkStep measures local SGD steps, with the model's own dropout, in
// samples and floating-point operations per second of processor time.
func BenchmarkStep(b *testing.B) {
	for _, net := range benchNets {
		m, err := NewModel(net.name, Shape{H: 28, W: 28, C: 1}, 62, net.layers...)
		if err != nil {
			b.Fatal(err)
		}
		_, flops := m.FLOPs()
		for _, n := range []int{10, 20} {
			b.Run(fmt.Sprintf("net=%s/batch=%d/isa=%v", net.name, n, kernels.Current()), func(b *testing.B) {
				w := m.NewParams()
				m.Init(w, 1)
				ws := m.NewWorkspace()
				batch := images(m, n)
				runtime.LockOSThread()
				defer runtime.UnlockOSThread()
				start, k := threadTime(), 0
				for b.Loop() {
					ws.Step(w, batch, TrainOpts{Key: 1, Step: uint32(k), Dropout: -1}, SGD{LR: 0.01}, nil, nil, k == 0)
					k++
				}
				samples := float64(n*b.N) / (threadTime() - start).Seconds()
				b.ReportMetric(samples, "samples/s")
				b.ReportMetric(samples*float64(flops)/1e9, "GFLOPS")
			})
		}
	}
}
