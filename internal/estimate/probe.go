// Package estimate says how long federated training will take on this machine
// before it starts: the training examples that it will see, over the throughput
// that a short probe of training steps measures. It is for people to read: nothing
// of it may reach a result.
package estimate

import (
	"context"
	"fmt"
	"math"
	"runtime"
	"time"

	"github.com/fedfast/fedfast/nn"
)

// How long a probe measures: Rough is enough to tell whether work is worth a better
// figure, Fine is for one model and batch, and Most for all of one estimate. A
// single step of a large model may take longer.
const (
	Rough = 20 * time.Millisecond
	Fine  = 300 * time.Millisecond
	Most  = 900 * time.Millisecond
)

// Probe measures how many training examples a second one thread takes, and
// remembers it for each model and batch. Use New. It must not be used by several
// goroutines at a time.
type Probe struct {
	// steps returns a function that runs the given number of training steps of a
	// client on a batch of random examples, the same each time.
	steps func(m *nn.Model, batch, steps int, opt nn.Optimizer) func()
	now   func() time.Time
	known map[subject]measured

	// The last model, whose steps all take the same memory: drawing its weights takes
	// longer than a rough measurement.
	last *trainee
}

// New returns a probe that knows nothing yet.
func New() *Probe {
	p := &Probe{now: time.Now, known: map[subject]measured{}}
	p.steps = p.trainSteps
	return p
}

// trainSteps is TrainSteps in memory that earlier steps of the model had, whose weights
// those of measure leave nearly as they were.
func (p *Probe) trainSteps(m *nn.Model, batch, steps int, opt nn.Optimizer) func() {
	if p.last == nil || p.last.model != m {
		p.last = newTrainee(m)
	}
	return p.last.steps(batch, steps, opt)
}

// subject is what a throughput belongs to. Of the optimizer it matters which
// vectors a step reads, and in how many passes; of a client's steps how many layers
// defer, 1 for none.
type subject struct {
	model                       *nn.Model
	batch, steps                int
	momentum, weightDecay, near bool
	nesterov, clip, adam        bool
}

// mostSteps bounds the deferred steps that are measured at a time.
const mostSteps = 16

// subjectOf returns the subject for clients that take the given number of steps; a
// number too small to be deferred counts as one.
func subjectOf(m *nn.Model, batch, steps int, opt nn.Optimizer) subject {
	batch, momentum := max(1, batch), opt.Momentum != 0
	together := 1
	if opt.ClipNorm == 0 && !opt.Adam.On && m.Defers(batch, steps, momentum) {
		together = min(steps, mostSteps)
	}
	return subject{m, batch, together, momentum, opt.WeightDecay != 0, opt.Mu != 0, opt.Nesterov, opt.ClipNorm != 0, opt.Adam.On}
}

// measured is a throughput and how long it was meant to be measured.
type measured struct {
	rate  float64 // examples a second
	spent time.Duration
}

// throughput returns how many training examples a second one thread takes. It measures
// for about a time, unless it has been done for as long before. Its errors are those of
// the context.
func (p *Probe) throughput(ctx context.Context, s subject, length time.Duration) (float64, error) {
	if k, ok := p.known[s]; ok && k.spent >= length {
		return k.rate, nil
	}
	rate, err := p.measure(ctx, s, length)
	if err == nil {
		p.known[s] = measured{rate, length}
	}
	return rate, err
}

// measure repeats steps. What one example takes says how large a batch fits into
// the time; larger ones are no slower an example.
func (p *Probe) measure(ctx context.Context, s subject, length time.Duration) (float64, error) {
	opt := nn.Optimizer{SGD: nn.SGD{LR: 1e-6, Nesterov: s.nesterov}} // so low that the weights stay as they are
	if s.momentum {
		opt.Momentum = 0.9
	}
	if s.weightDecay {
		opt.WeightDecay = 1e-4
	}
	if s.near {
		opt.Mu = 1e-3
	}
	if s.adam {
		opt.Adam = nn.Adam{On: true, Beta1: 0.9, Beta2: 0.999, Eps: 1e-8}
	}
	if s.clip {
		opt.ClipNorm = 1e-3
	}
	batch := s.batch
	if batch > 1 && s.steps == 1 { // deferred steps are on small batches
		one := p.steps(s.model, 1, 1, opt)
		one() // touches the memory
		if took := p.time(one); took > 0 {
			batch = int(max(1, min(float64(batch), math.Floor(float64(length/2)/float64(took)))))
		}
	}
	steps := p.steps(s.model, batch, s.steps, opt)
	if batch > 1 {
		steps() // what a larger batch touches
	}
	var spent time.Duration
	n := 0
	for n == 0 || spent < length {
		if err := ctx.Err(); err != nil {
			return 0, fmt.Errorf("estimate: %w", err)
		}
		spent += p.time(steps)
		n++
	}
	return float64(n*batch*s.steps) / max(spent, time.Nanosecond).Seconds(), nil
}

func (p *Probe) time(f func()) time.Duration {
	start := p.now()
	f()
	return p.now().Sub(start)
}

// workersOf returns the number of workers for a setting: 0 means one per processor.
func workersOf(n int) int {
	if n > 0 {
		return n
	}
	return runtime.GOMAXPROCS(0)
}
