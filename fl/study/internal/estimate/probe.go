// Package estimate says how long federated training will take on this machine
// before it starts: the training examples that it will see, over the throughput
// that a few timed steps of training have. It is for people to read: nothing
// of it may reach a result.
package estimate

import (
	"context"
	"fmt"
	"math"
	"runtime"
	"time"

	"github.com/fedfast/fedfast/data"
	"github.com/fedfast/fedfast/fl"
	"github.com/fedfast/fedfast/fl/fleet"
	"github.com/fedfast/fedfast/fl/study/config"
	"github.com/fedfast/fedfast/internal/probe"
	"github.com/fedfast/fedfast/kernels"
	"github.com/fedfast/fedfast/nn"
)

// Least is how long steps are timed: two of them, and more until this time is over.
const Least = 60 * time.Millisecond

// Efficiency is the share of a worker's time that goes into training steps: the
// rest of a round (drawing batches, aggregation, waiting for the last client) took
// 14 to 18 % beside them (bench/results/scale.json, reddi-emnist-cnn).
const Efficiency = 0.85

// mostSteps bounds the deferred steps that are timed together, mostFLOP the operations of
// a step: larger batches are no slower an example.
const (
	mostSteps = 16
	mostFLOP  = 2e9
)

// Work is a number of training examples that a model sees in batches.
type Work struct {
	Step
	// Examples are the examples of all steps. An example that is only evaluated counts as
	// much as its operations do, see Evaluated.
	Examples float64
	// Tasks is how many clients can train at a time; 0 is at least as many as there
	// are workers.
	Tasks int
}

// Step is how clients train. Equal ones take equally long.
type Step struct {
	Model *nn.Model
	// Batch is the number of examples of a step.
	Batch int
	// Steps is how many a client takes with these weights, in the mean: enough of them
	// may be faster together. 0 is one.
	Steps int
	// SGD and Adam are what the optimizer does.
	SGD  nn.SGD
	Adam bool
}

// Estimate is how long work takes.
type Estimate struct {
	// Seconds of wall-clock time.
	Seconds float64
	// Rate is the number of examples that a worker trains in a second while it does
	// nothing else, the mean over the work.
	Rate float64
	// Workers is the number of workers that both are for.
	Workers int
}

// Probe times steps, and remembers how long they took. Use New. It must not be used by
// several goroutines at a time.
type Probe struct {
	steps func(m *nn.Model, batch, steps int, opt nn.Optimizer) func() // probe.TrainSteps
	now   func() time.Time
	rates map[Step]float64 // examples a second of one thread
}

// New returns a probe that has timed nothing yet.
func New() *Probe { return &Probe{steps: probe.TrainSteps, now: time.Now, rates: map[Step]float64{}} }

// Seconds estimates how long work takes on a number of workers; 0 means one per
// processor. Its errors come from the context.
func (p *Probe) Seconds(ctx context.Context, workers int, work ...Work) (Estimate, error) {
	e := Estimate{Workers: workers}
	if workers == 0 {
		e.Workers = runtime.GOMAXPROCS(0)
	}
	examples, alone := 0.0, 0.0
	for _, w := range work {
		if w.Examples <= 0 {
			continue
		}
		rate, err := p.rate(ctx, w)
		if err != nil {
			return Estimate{}, err
		}
		examples += w.Examples
		alone += w.Examples / rate
		e.Seconds += w.Examples / rate / (w.lanes(e.Workers) * Efficiency)
	}
	if alone > 0 {
		e.Rate = examples / alone
	}
	return e, nil
}

// lanes returns how many workers have a client to train, on average, when clients
// take equally long.
func (w *Work) lanes(workers int) float64 {
	if w.Tasks < 1 {
		return float64(workers)
	}
	return float64(w.Tasks) / math.Ceil(float64(w.Tasks)/float64(workers))
}

// rate times steps and returns how many examples a second one thread trains on.
func (p *Probe) rate(ctx context.Context, w Work) (float64, error) {
	if rate, ok := p.rates[w.Step]; ok {
		return rate, nil
	}
	opt := nn.Optimizer{SGD: w.SGD, Adam: nn.Adam{On: w.Adam, Beta1: 0.9, Beta2: 0.999, Eps: 1e-8}}
	opt.LR = 1e-6 // so low that the weights stay as they are
	batch, together := max(1, w.Batch), 1
	if opt.ClipNorm == 0 && !opt.Adam.On && w.Model.Defers(batch, w.Steps, opt.Momentum != 0) {
		together = min(w.Steps, mostSteps)
	} else if _, flops := w.Model.FLOPs(); flops > 0 {
		batch = max(1, min(batch, int(mostFLOP/float64(flops))))
	}
	steps := p.steps(w.Model, batch, together, opt)
	steps() // touches the memory
	var spent time.Duration
	rate := 0.0 // of the fastest steps: another process may have stopped the others
	for n := 1; n <= 2 || spent < Least; n++ {
		if err := ctx.Err(); err != nil {
			return 0, fmt.Errorf("estimate: %w", err)
		}
		took := max(p.time(steps), time.Nanosecond)
		spent += took
		rate = max(rate, float64(batch*together)/took.Seconds())
	}
	p.rates[w.Step] = rate
	return rate, nil
}

// time returns how long f takes.
func (p *Probe) time(f func()) time.Duration {
	start := p.now()
	f()
	return p.now().Sub(start)
}

// Evaluated returns how many training examples take as many operations as n
// examples that are only evaluated.
func Evaluated(m *nn.Model, n float64) float64 { return n * forward(m) }

// BF16Share returns how many operations of products of bf16 this processor does in the
// time of one of float32, at the level in use: 2 on AMD's Zen 4, 1 where float32's
// multiply-adds do them. Each is the best of a few samples of
// half a millisecond. It is 0 where they cannot be timed.
func (p *Probe) BF16Share() float64 {
	bf16, fp32 := p.best(kernels.PeakBF16), p.best(kernels.PeakProbe)
	if bf16 == 0 || fp32 == 0 {
		return 0
	}
	return bf16 / fp32
}

// best returns the most operations a second of a loop.
func (p *Probe) best(loop func(n int) int64) (most float64) {
	const samples, shortest, longest = 3, 500 * time.Microsecond, 1 << 22
	for n, taken := 1<<10, 0; taken < samples && n < longest; {
		var operations int64
		took := p.time(func() { operations = loop(n) })
		if took < shortest {
			n *= 2
			continue
		}
		most = max(most, float64(operations)/took.Seconds())
		taken++
	}
	return most
}

// Jobs returns what a client's local training of the whole network takes on its device, by
// the client's number in the federation, with the hyperparameters of a configuration; and
// the bytes of memory that it takes there.
func Jobs(c *config.Config, fed *data.Federation, m *nn.Model) (job func(client int) fleet.Job, memory int64, err error) {
	method, err := fl.MethodByName(c.Method)
	if err != nil {
		return nil, 0, fmt.Errorf("estimate: %w", err)
	}
	_, flops := m.FLOPs()
	training := fl.Config{Model: m, Method: method, Statistics: c.Norm.Statistics, Batch: c.LargestBatch(), Adam: c.MayAdapt(), Momentum: c.MayHaveMomentum()}
	bytes := 4 * int64(training.Sent())
	return func(client int) fleet.Job {
		n, val := float64(fed.Clients[client].Train.Len()), float64(fed.Clients[client].Val.Len())
		return fleet.Job{Client: client, FLOPs: examples(method, c.Client.Client, c.Server, m, n, val) * float64(flops), Down: bytes, Up: bytes}
	}, training.DeviceMemory(m), nil
}

// examples returns how many training examples the local training of a client with n of
// them, and val validation examples, takes under a method, in units of one gradient of the
// whole network.
func examples(method fl.Method, p fl.ClientParams, s fl.ServerParams, m *nn.Model, n, val float64) float64 {
	w := fl.Workload{Params: p, Server: s, Train: n, Val: val, Forward: forward(m)}
	return w.Of(&method)
}

// forward returns the operations of a forward pass over those of a gradient, 0 of a model
// without any.
func forward(m *nn.Model) float64 {
	flops, train := m.FLOPs()
	return float64(flops) / float64(max(1, train))
}
