package fl

import (
	"slices"

	"github.com/fedfast/fedfast/kernels"
	"github.com/fedfast/fedfast/nn"
)

// Trace receives how a client trains, see Trial.Trace. It changes no result.
type Trace struct {
	// Client is its index in the federation. Of several places in a cohort the first one counts.
	Client int
	// Step is called after each local step of the model that goes to the server, unless the method
	// takes its steps without Local.SGD.
	Step func(TracedStep)
	// Done is called with the norm of what the training changed, and with the weights that the server sent
	// and the client's own after it, which are valid until it returns.
	Done func(change float64, weights ...[]float32)

	slot int
}

// TracedStep is a local step.
type TracedStep struct {
	// Loss is the mean of the batch, in nats, before the step, LR the learning rate.
	Loss float64 `json:"loss"`
	LR   float64 `json:"lr"`
	// Gradient is the Euclidean norm of the gradient of the loss, before clipping, Change that of what
	// the step adds to the weights.
	Gradient float64 `json:"gradient_norm"`
	Change   float64 `json:"change_norm"`
	// Samples are the batch: indices of the client's training samples.
	Samples []int32 `json:"samples"`
}

// Trace has rounds from the next one on tell how a client trains; nil ends that.
func (t *Trial) Trace(tr *Trace) { t.trace = tr }

// step takes a local step and tells of it; nil only takes it.
func (tr *Trace) step(
	l *Local, w []float32, b *Batches, batch *nn.Batch, opts nn.TrainOpts, opt *nn.Optimizer,
) nn.Result {
	if tr == nil {
		return l.trainer().Step(w, batch, opts, opt)
	}
	alone := opts
	alone.Probe, alone.Held = nil, nil
	l.trainer().Gradient(w, batch, alone)
	s := TracedStep{
		LR: float64(opt.LR), Gradient: kernels.Norm(l.trainer().Grad()), Samples: slices.Clone(b.Positions()),
	}
	before := slices.Clone(w)
	r := l.trainer().Step(w, batch, opts, opt)
	s.Loss, s.Change = r.Loss/float64(max(1, r.Count)), delta(w, before)
	tr.Step(s)
	return r
}
