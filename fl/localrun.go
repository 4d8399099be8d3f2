package fl

import (
	"github.com/fedfast/fedfast/fl/internal/trainer"
	"github.com/fedfast/fedfast/nn"
)

// LocalRun is a run of local steps, see Local.SGD. Its zero value stands for
// FedAvg.
type LocalRun struct {
	// Params are the hyperparameters of the run; nil is the client's.
	Params *ClientParams
	// Weights are trained in place; nil is the client's.
	Weights []float32
	// Mu is the weight of a proximal term that pulls towards the broadcast weights.
	Mu float64
	// Only, when not empty, is the span of the parameters that are trained; the
	// others are frozen.
	Only nn.Span
	// Hold are places, ascending, that are frozen, too.
	Hold []nn.Span
	// Held, when not nil, gets at each step the gradient at the places of Hold, one after
	// the other.
	Held []float32
	// Drawn has each step run one drawn input of every mixed operation, see
	// nn.TrainOpts.Drawn. The client's operations are still counted as those of all inputs.
	Drawn bool
	// Shift, when not nil, is added to each gradient: a vector of the model's size.
	Shift []float32
	// Before, when not nil, is called with the batch of each step before it is taken, and
	// Aside adds a term of the logits to the loss of the step, Features one of what the last
	// layer takes, see nn.TrainOpts.
	Before          func(b *nn.Batch)
	Aside, Features nn.Aside
	// Each, when not nil, is called after each step with its number in the run,
	// from 0.
	Each func(step int)
	// Memory is the number of the run's memory where clients keep what their optimizers
	// remember, below Method.Memories: runs of one number go on from one another. Afresh has
	// the run remember nothing all the same.
	Memory int
	Afresh bool
	// Other says that the model is another one than that which the method trains:
	// its losses and its steps' cosines do not count as the client's.
	Other bool
}

// SGD takes the client's local steps: SGD with momentum, or client.optimizer, whose
// buffers start afresh unless client.optimizer_state says otherwise, clipping and
// weight decay. The training examples are
// shuffled anew for each pass. The error names examples which cannot be read.
func (l *Local) SGD(r LocalRun) error {
	p, w := l.Params, l.Weights
	if r.Params != nil {
		p = *r.Params
	}
	if r.Weights != nil {
		w = r.Weights
	}
	velocity, start := l.worker.velocity, l.Broadcast
	if s := l.subnet; s != nil {
		w, velocity, start = s.weights, s.velocity, s.start
	}
	opt := &l.worker.optimizer
	*opt = l.Optimizer(p, nn.Span{Hi: l.model().Size()})
	opt.Mu, opt.Velocity = float32(r.Mu), velocity
	memory := l.memory(r, p)
	if memory != nil {
		recall(opt, memory)
	} else if opt.Adam.On {
		opt.Second = l.second()
	}
	if r.Mu != 0 {
		opt.Anchor = start
	}
	opts := l.trainOpts(p)
	opts.Only, opts.Hold, opts.Shift = r.Only, r.Hold, r.Shift
	opts.Held, opts.Drawn, opts.Aside, opts.Features = r.Held, r.Drawn, r.Aside, r.Features
	if (l.wantPhi || l.wantPrior) && !r.Other {
		opts.Probe = &l.worker.probe
		opts.Probe.Anchor, opts.Probe.Prior = start, l.wantPrior
	}
	if l.engine.cfg.Privacy.noises(SampleNoise) {
		if err := l.privateSteps(p, w, opts, opt); err != nil {
			return err
		}
		if memory != nil {
			remember(opt, memory)
		}
		return nil
	}
	batches, steps, trace := l.Batches(0, p), p.LocalSteps(l.Train.Len()), l.trace
	if r.Other {
		trace = nil
	}
	if memory == nil && r.Each == nil && r.Before == nil && trace == nil {
		l.trainer().Begin(w, p.Batch, steps, opts, opt)
		defer l.trainer().End()
	}
	for step := range steps {
		opt.LR = float32(p.RateAt(step, steps))
		b, err := batches.Next()
		if err != nil {
			return err
		}
		if r.Before != nil {
			r.Before(b)
		}
		opts.Step = uint32(l.Steps)
		if opts.Probe != nil {
			opts.Probe.Reset()
		}
		result := trace.step(l, w, batches, b, opts, opt)
		if opts.Probe != nil {
			l.phi = min(l.phi, opts.Probe.Cosine())
			if cos, ok := opts.Probe.PriorCosine(); ok { // before the first step nothing is displaced
				l.prior = min(l.prior, cos)
			}
		}
		if r.Other {
			l.Steps++
		} else {
			l.Count(result)
		}
		if r.Each != nil {
			r.Each(step)
		}
		if memory == nil && l.lost(r, w, opts.Probe != nil, result.Loss) {
			batches.skip(steps - step - 1)
			break
		}
	}
	if memory != nil {
		remember(opt, memory)
	}
	return nil
}

// Optimizer returns the rule of local steps by p for vectors of the parameters of a span
// alone. It has no memory yet for what it remembers, Velocity and Second.
func (l *Local) Optimizer(p ClientParams, of nn.Span) nn.Optimizer {
	opt := nn.Optimizer{SGD: nn.SGD{
		LR: float32(p.LR), Momentum: float32(p.Momentum), WeightDecay: float32(p.WeightDecay), Nesterov: p.Nesterov, ClipNorm: float32(p.ClipNorm),
	}}
	if p.Adaptive() {
		opt.Adam = nn.Adam{On: true, Decoupled: p.Optimizer == "adamw", Beta1: p.Beta1, Beta2: p.Beta2, Eps: p.Eps}
	}
	if p.BiasDecay >= 0 {
		opt.BiasDecay = float32(p.BiasDecay)
		opt.Biases = []nn.Span{} // not nil: biases decay apart
		for _, b := range l.model().Biases() {
			if b.Lo >= of.Lo && b.Hi <= of.Hi {
				opt.Biases = append(opt.Biases, nn.Span{Lo: b.Lo - of.Lo, Hi: b.Hi - of.Lo})
			}
		}
	}
	return opt
}

// model returns what the client trains.
func (l *Local) model() *nn.Model {
	if l.subnet != nil {
		return l.subnet.model
	}
	return l.engine.cfg.Model
}

// second returns memory for the second moments of what the client trains.
func (l *Local) second() []float32 {
	if s := l.subnet; s != nil {
		return room(&s.second, len(s.weights))
	}
	return room(&l.worker.second, len(l.Weights))
}

// Count counts a local step with what it measured. SGD counts its own.
func (l *Local) Count(r nn.Result) {
	l.Steps++
	l.Loss += r.Loss
	l.Labels += r.Count
	if r.Count > 0 {
		l.squares += float64(r.Loss / float64(r.Count) * r.Loss)
	}
	l.labelWeight += r.Weight
}

// trainLoss returns the mean loss of what was counted.
func (l *Local) trainLoss() float64 {
	r := outcome{Result: nn.Result{Loss: l.Loss, Count: l.Labels, Weight: l.labelWeight}}
	if l.engine.cfg.Model.Loss().Numbers() {
		r.Fit.Count = r.Count // for its bounds
	}
	return scoreOf(r).Loss
}

// trainer computes gradients of what the client trains.
func (l *Local) trainer() trainer.Trainer {
	if l.subnet != nil {
		return l.subnet.ws
	}
	return l.worker.ws
}

// Gradient computes the gradient at w of the mean loss of a batch, in memory that
// the next Gradient overwrites. step numbers the passes of the client's training:
// it keys the dropout masks, with the rate of p. It counts nothing, see Count.
func (l *Local) Gradient(w []float32, b *nn.Batch, p ClientParams, step int) (grad []float32, r nn.Result) {
	o := l.trainOpts(p)
	o.Step, o.Still = uint32(step), &w[0] == &l.Broadcast[0] // which others read
	r = l.trainer().Gradient(w, b, o)
	return l.trainer().Grad(), r
}

// SpanGradient is Gradient for the parameters of a span of the last layers, without LogitBias,
// at weights of the method's own: elsewhere grad is of no use. It counts the operations of a
// forward pass.
func (l *Local) SpanGradient(of nn.Span, w []float32, b *nn.Batch, p ClientParams, step int) (grad []float32) {
	o := l.trainOpts(p)
	o.Step, o.Only, o.LogitBias, o.Still = uint32(step), of, nil, true
	l.trainer().Gradient(w, b, o)
	l.flops += float64(b.N) * l.engine.forwardFLOPs
	return l.trainer().Grad()[of.Lo:of.Hi]
}

// MixingGradient is Gradient for the weights of mixed operations alone, see
// nn.Model.Mixing, which spares the products for all others: elsewhere grad is of no use.
func (l *Local) MixingGradient(w []float32, b *nn.Batch, p ClientParams, step int) (grad []float32, r nn.Result) {
	o := l.trainOpts(p)
	o.Step, o.Mixing = uint32(step), true
	r = l.trainer().Gradient(w, b, o)
	return l.trainer().Grad(), r
}

// Hessian writes H v to dst, where H is the Hessian at w of the mean loss of a
// batch, by two gradients with the dropout masks of a Gradient of that step, see
// nn.Workspace.Hessian. Methods that call it say so by Method.SecondOrder.
func (l *Local) Hessian(dst, w, v []float32, b *nn.Batch, p ClientParams, step int) {
	o := l.trainOpts(p)
	o.Step = uint32(step)
	l.trainer().Hessian(dst, w, v, b, o)
	l.flops += 2 * float64(b.N) * l.engine.trainFLOPs
}

// Step takes one step of an optimizer along the gradient at w of the mean loss of a
// batch, faster than Gradient and the step by hand. step is as for Gradient, and it
// counts nothing either.
func (l *Local) Step(w []float32, b *nn.Batch, opt *nn.Optimizer, p ClientParams, step int) nn.Result {
	o := l.trainOpts(p)
	o.Step = uint32(step)
	return l.trainer().Step(w, b, o, opt)
}

// Outputs writes what the network with the weights w gives of the examples of a batch to
// out, as many numbers for each as it has outputs, without dropout, and counts the
// operations.
func (l *Local) Outputs(out, w []float32, b *nn.Batch) {
	seen := *b
	seen.Outputs = out
	l.look(w, &seen)
}

// Features writes what the last layer takes of the examples of a batch with the weights w to
// out, nn.Model.Features numbers for each, as Outputs does.
func (l *Local) Features(out, w []float32, b *nn.Batch) {
	seen := *b
	seen.Features = out
	l.look(w, &seen)
}

func (l *Local) look(w []float32, b *nn.Batch) {
	l.trainer().Evaluate(w, b)
	l.flops += float64(b.N) * l.engine.forwardFLOPs
}

// Again counts the operations of passes over a number of examples, beyond the one pass
// over each batch that Batches.Next counts.
func (l *Local) Again(examples int) { l.flops += float64(examples) * l.exampleFLOPs }
