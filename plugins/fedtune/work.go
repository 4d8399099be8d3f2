package fedtune

import (
	"fmt"

	"github.com/fedfast/fedfast/tuners"
)

// Work is how much a study with fedtune-hrt trains on side federations before its first trial, and with what.
type Work struct {
	// Trials run on side federations, in all cells together. It is the most there can be under a cap (the option proposals); without one
	// a cell is taken to need as many proposals as twice the option patience. 0 with a table that is given.
	Trials int
	// Rounds of each trial, with Clients that all train in every round.
	Rounds, Clients int
	// Samples is the mean number of training examples of such a client.
	Samples float64
	// Batches and Epochs are the values that a point of a cell may have, or those of the cells of a table that is given.
	Batches, Epochs []float64
}

// WorkOf returns the work of these options.
func WorkOf(given tuners.Params) (Work, error) {
	p, problems := readPlan(given)
	if len(problems) > 0 {
		return Work{}, fmt.Errorf("fedtune-hrt: %s: %s", problems[0].Key, problems[0].Message)
	}
	w := Work{Rounds: p.shrink(float64(p.rounds)), Clients: p.clients, Batches: p.batches, Epochs: p.epochs}
	for _, n := range p.samples {
		w.Samples += float64(p.shrink(n)) / float64(len(p.samples))
	}
	if p.table != nil {
		w.Batches, w.Epochs = nil, nil
		for _, c := range p.table {
			w.Batches, w.Epochs = append(w.Batches, c.Params.Float(size, 0)), append(w.Epochs, c.Params.Float(epochs, 0))
		}
		return w, nil
	}
	w.Trials = p.cells() * p.trials()
	return w, nil
}

// trials returns how many trials a cell runs, as Work says.
func (p plan) trials() int {
	first := min(p.initial, p.points())
	switch {
	case p.proposals > 0:
		return min(first+p.proposals, p.points())
	case p.search == Grid || p.patience == 0:
		return p.points()
	}
	return min(first+2*p.patience, p.points())
}
