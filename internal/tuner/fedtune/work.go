package fedtune

import "github.com/fedfast/fedfast/tuners"

// work returns how much is trained on proxy federations before the first trial, and
// with what points: every batch with every number of epochs, or the cells of a
// table that is given. Its trials are the trials of all cells together, the most there
// can be under a cap (the option proposals); without one a cell is taken to need as
// many proposals as twice the option patience.
func (p plan) work() tuners.Work {
	w := tuners.Work{Rounds: p.shrink(float64(p.rounds)), Clients: p.clients}
	for _, n := range p.samples {
		w.Examples += float64(p.shrink(n)) / float64(len(p.samples))
	}
	if p.table != nil {
		for _, c := range p.table {
			w.Points = append(w.Points, tuners.Params{size: c.Params[size], epochs: c.Params[epochs]})
		}
		return w
	}
	w.Trials = p.cells() * p.trials()
	if p.mixed {
		w.Clients, w.Trials = p.cells(), p.trials()+p.cells()*min(p.choices, p.trials()-1)
	}
	for _, b := range p.batches {
		for _, e := range p.epochs {
			w.Points = append(w.Points, tuners.Params{size: tuners.Num(b), epochs: tuners.Num(e)})
		}
	}
	return w
}

// trials returns how many trials a cell runs.
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
