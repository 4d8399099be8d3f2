package estimate

import (
	"context"
	"fmt"
	"math"
	"time"

	"github.com/fedfast/fedfast/nn"
)

// Efficiency is the share of a worker's time that goes into training steps: the
// rest of a round (drawing batches, aggregation, waiting for the last client) took
// 14 to 18 % beside them (bench/results/scale.md, reddi-emnist-cnn).
const Efficiency = 0.85

// Work is a number of training examples that a model sees in batches of one size.
type Work struct {
	Model *nn.Model
	// Batch is the number of examples of a step.
	Batch int
	// Optimizer takes the steps; only which of its terms are 0 matters.
	Optimizer nn.Optimizer
	// Steps is how many a client takes with these weights, in the mean: enough of them
	// may be faster together. 0 is one.
	Steps int
	// Examples are those of all steps. An example that is only evaluated counts as
	// much as its operations do, see Evaluated.
	Examples float64
	// Tasks is how many clients can train at a time; 0 is at least as many as there
	// are workers.
	Tasks int
}

// Evaluated returns how many training examples take as many operations as n
// examples that are only evaluated.
func Evaluated(m *nn.Model, n float64) float64 {
	forward, train := m.FLOPs()
	if train == 0 {
		return 0
	}
	return n * float64(forward) / float64(train)
}

// lanes returns how many workers have a client to train, on average, when clients
// take equally long.
func (w Work) lanes(workers int) float64 {
	if w.Tasks < 1 {
		return float64(workers)
	}
	return float64(w.Tasks) / math.Ceil(float64(w.Tasks)/float64(workers))
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

// Seconds estimates how long work takes on a number of workers; 0 means one per
// processor. If a first measurement of Rough for each model and batch size gives less
// than enough, that is the answer; otherwise throughputs are measured again, for Most
// in total. Its errors are those of the context.
func (p *Probe) Seconds(ctx context.Context, workers int, enough float64, work ...Work) (Estimate, error) {
	e, subjects, err := p.seconds(ctx, workers, Rough, work)
	if err != nil || e.Seconds < enough {
		return e, err
	}
	e, _, err = p.seconds(ctx, workers, min(Fine, Most/time.Duration(max(1, subjects))), work)
	return e, err
}

// seconds measures each throughput for a time and says how many there are.
func (p *Probe) seconds(ctx context.Context, workers int, length time.Duration, work []Work) (Estimate, int, error) {
	e := Estimate{Workers: workersOf(workers)}
	subjects := map[subject]bool{}
	examples, alone := 0.0, 0.0
	for _, w := range work {
		if w.Examples <= 0 {
			continue
		}
		s := subjectOf(w.Model, w.Batch, w.Steps, w.Optimizer)
		rate, err := p.throughput(ctx, s, length)
		if err != nil {
			return Estimate{}, 0, err
		}
		subjects[s] = true
		examples += w.Examples
		alone += w.Examples / rate
		e.Seconds += w.Examples / rate / (w.lanes(e.Workers) * Efficiency)
	}
	if alone > 0 {
		e.Rate = examples / alone
	}
	return e, len(subjects), nil
}

// Words says a time as people do: "about 41 minutes".
func Words(seconds float64) string {
	const minute, hour, day = 60, 60 * 60, 24 * 60 * 60
	switch {
	case seconds < 1.5*minute:
		return fmt.Sprintf("about %.0f seconds", seconds)
	case seconds < 1.5*hour:
		return fmt.Sprintf("about %.0f minutes", seconds/minute)
	case seconds < 2*day:
		return fmt.Sprintf("about %.1f hours", seconds/hour)
	}
	return fmt.Sprintf("about %.1f days", seconds/day)
}
