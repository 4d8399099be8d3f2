// Package probe has training steps on random samples, to time them.
package probe

import (
	"github.com/fedfast/fedfast/kernels"
	"github.com/fedfast/fedfast/nn"
)

// TrainSteps returns a function that runs the given number of training steps of a model
// on n random samples, the same each time, in memory of its own: as a new client in each
// call, with the steps of local training. Of the optimizer it uses the settings only. A
// proximal term pulls towards the weights themselves.
func TrainSteps(m *nn.Model, n, steps int, opt nn.Optimizer) func() {
	ws, w, b := m.NewWorkspace(), Start(m), RandomBatch(m, n)
	opt.Velocity = m.NewParams()
	if opt.Mu != 0 {
		opt.Anchor = w
	}
	if opt.Adam.On {
		opt.Second = m.NewParams()
	}
	return func() {
		opt.Steps = 0
		ws.Begin(w, n, steps, nn.TrainOpts{}, &opt)
		for step := range steps {
			ws.Step(w, b, nn.TrainOpts{Key: 1, Step: uint32(step), Dropout: -1}, &opt)
		}
		ws.End()
	}
}

// Start returns weights as training starts from them, the same each time.
func Start(m *nn.Model) []float32 {
	w := m.NewParams()
	m.Init(w, 1)
	return w
}

// RandomBatch returns n samples with uniform inputs and labels.
func RandomBatch(m *nn.Model, n int) *nn.Batch {
	s, in := kernels.NewStream(1, 2), m.Input()
	b := &nn.Batch{N: n, Labels: make([]int32, n*m.LabelsPerExample()), Targets: make([]float32, n*m.TargetsPerExample())}
	for i := range b.Labels {
		b.Labels[i] = int32(s.IntN(m.Classes()))
	}
	if in.Seq > 0 {
		b.Tokens = make([]int32, n*in.Seq)
		for i := range b.Tokens {
			b.Tokens[i] = int32(s.IntN(in.Vocab))
		}
		return b
	}
	b.X = make([]float32, n*in.Size())
	for i := range b.X {
		b.X[i] = s.Float32()
	}
	return b
}
