package fltest

import (
	"sync/atomic"

	"github.com/fedfast/fedfast/nn"
)

// CountedSteps is a trainer that counts the steps it takes.
type CountedSteps struct {
	*nn.Workspace
	Steps *atomic.Int64
}

// Step counts a step and takes it.
func (c CountedSteps) Step(w []float32, b *nn.Batch, o nn.TrainOpts, opt *nn.Optimizer) nn.Result {
	c.Steps.Add(1)
	return c.Workspace.Step(w, b, o, opt)
}
