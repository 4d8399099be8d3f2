package fedtune

import (
	"context"
	"fmt"

	"github.com/fedfast/fedfast/tuners"
)

// lookup is one trial's session: it sends the same table every round.
type lookup struct {
	tuners.RoundsOnly
	trial int
	table []tuners.Cell
	bytes []byte
}

// newLookup takes the table that is given, else that of the state in which the
// search ended.
func newLookup(req tuners.OpenRequest, p plan) (*lookup, error) {
	l := &lookup{trial: req.Trial, table: p.table, bytes: req.State}
	if l.table != nil {
		return l, nil
	}
	if req.State == nil {
		return nil, fmt.Errorf("fedtune-hrt: trial %d has no table: the tuner must prepare before the first trial", req.Trial)
	}
	s, err := readState(req.State, p)
	if err != nil {
		return nil, err
	}
	if l.table = p.filled(s, req.Objective); len(l.table) == 0 {
		return nil, fmt.Errorf("fedtune-hrt: trial %d: table is empty: no trial on a proxy federation has a score", req.Trial)
	}
	return l, nil
}

// filled returns the table in which a search ended.
func (p plan) filled(s state, o tuners.Objective) []tuners.Cell {
	if p.mixed {
		best := bestOf(s.Trials, o)
		if best < 0 {
			return nil
		}
		return p.tableOf(p.assigned(s.Trials, best, o), false)
	}
	var table []tuners.Cell
	for cell := range p.cells() {
		tried := s.of(cell)
		best := bestOf(tried, o)
		if best < 0 {
			continue // clients of such a cell take a neighbour's
		}
		table = append(table, p.cell(cell, tried[best].Point))
	}
	return table
}

// Probes returns none: nothing is learned from the rounds.
func (*lookup) Probes() []string { return nil }

// PlanRound returns the table.
func (l *lookup) PlanRound(_ context.Context, r tuners.PlanRequest) (tuners.Plan, error) {
	if r.Trial != l.trial {
		return tuners.Plan{}, fmt.Errorf("fedtune-hrt: plan for trial %d requested from the session of trial %d", r.Trial, l.trial)
	}
	return tuners.Plan{Table: l.table}, nil
}

// ObserveRound learns nothing.
func (*lookup) ObserveRound(context.Context, tuners.Observation) error { return nil }

// State returns the state that the session was opened with.
func (l *lookup) State() []byte { return l.bytes }
