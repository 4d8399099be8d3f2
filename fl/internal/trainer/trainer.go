// Package trainer is the seam at which tests put other trainers into an engine.
package trainer

import "github.com/fedfast/fedfast/nn"

// Trainer computes losses and gradients for one worker, as the methods of
// nn.Workspace of these names do: a *nn.Workspace is one. Another one can compute
// those of a function that is no network, or elsewhere; see fl.Config.NewTrainer.
type Trainer interface {
	// Step takes a step of an optimizer along the gradient.
	Step(w []float32, b *nn.Batch, o nn.TrainOpts, opt *nn.Optimizer) nn.Result
	// Gradient computes the gradient that Grad returns.
	Gradient(w []float32, b *nn.Batch, o nn.TrainOpts) nn.Result
	Grad() []float32
	// Hessian writes the product of the Hessian at w and v to dst.
	Hessian(dst, w, v []float32, b *nn.Batch, o nn.TrainOpts)
	// Evaluate measures w.
	Evaluate(w []float32, b *nn.Batch) nn.Result
	// Begin announces at most the given number of steps, on batches of up to batch examples,
	// and End comes after them. In between only Step reads w, so steps may be applied late.
	Begin(w []float32, batch, steps int, o nn.TrainOpts, opt *nn.Optimizer)
	End()
}
