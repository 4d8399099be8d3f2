package fedtune

import (
	"context"
	"fmt"
	"slices"

	"github.com/fedfast/fedfast/internal/list"
	"github.com/fedfast/fedfast/internal/tuner/internal/gp"
	"github.com/fedfast/fedfast/internal/tuner/internal/record"
	"github.com/fedfast/fedfast/tuners"
)

// trial is one point of one cell, tried on the cell's proxy federation.
type trial struct {
	Cell     int     `json:"cell"`
	Point    int     `json:"point"`
	Reported bool    `json:"reported,omitempty"`
	Failed   bool    `json:"failed,omitempty"`
	Score    float64 `json:"score,omitempty"`
}

// state is everything that calls change: the trials by number. A trial's session
// reads the table from it.
type state struct {
	Trials []trial `json:"trials"`
}

// readState decodes a recorded state.
func readState(bytes []byte, p plan) (state, error) {
	var s state
	if err := record.Read("fedtune-hrt", bytes, &s); err != nil {
		return s, err
	}
	first := 0
	if p.mixed {
		first = all
	}
	for i, t := range s.Trials {
		if t.Cell < first || t.Cell >= p.cells() || t.Point < 0 || t.Point >= p.points() {
			return s, fmt.Errorf("fedtune-hrt: recorded state does not match these options: trial %d is point %d of cell %d", i, t.Point, t.Cell)
		}
	}
	return s, nil
}

// of returns the trials of a cell in their order.
func (s state) of(cell int) []trial {
	return list.Where(s.Trials, func(t trial) bool { return t.Cell == cell })
}

// search is the session that fills the table.
type search struct {
	tuners.TrialsOnly
	record.Record
	plan
	req   tuners.OpenRequest
	state state
}

func newSearch(req tuners.OpenRequest, p plan) (*search, error) {
	s := &search{plan: p, req: req}
	if req.State != nil {
		var err error
		if s.state, err = readState(req.State, p); err != nil {
			return nil, err
		}
	}
	return s, s.Save(&s.state)
}

// Suggest returns the next points of all cells together: cells depend on nothing
// but their own scores, and each goes on as it would alone. On a mixed proxy federation
// it returns those of one cell.
func (s *search) Suggest(context.Context, int) ([]tuners.Decision, error) {
	if s.table != nil {
		return []tuners.Decision{{Kind: tuners.Done, Best: -1}}, nil
	}
	if slices.ContainsFunc(s.state.Trials, func(t trial) bool { return !t.Reported }) {
		return []tuners.Decision{{Kind: tuners.Wait}}, nil
	}
	var out []tuners.Decision
	if s.mixed {
		cell, points, err := s.nextMixed()
		if err != nil {
			return nil, err
		}
		out = s.start(cell, points)
	} else {
		for cell := range s.cells() {
			points, err := s.next(cell)
			if err != nil {
				return nil, err
			}
			out = append(out, s.start(cell, points)...)
		}
	}
	if len(out) == 0 {
		return []tuners.Decision{{Kind: tuners.Done, Best: -1}}, nil
	}
	return out, s.Save(&s.state)
}

// start adds trials of a cell's points and returns the decisions to run them.
func (s *search) start(cell int, points []int) []tuners.Decision {
	var out []tuners.Decision
	environment := s.environment(s.req.Seed, cell)
	for _, point := range points {
		d := tuners.Decision{Kind: tuners.Start, Trial: len(s.state.Trials), ToRound: s.shrink(float64(s.rounds)), Environment: &environment}
		s.state.Trials = append(s.state.Trials, trial{Cell: cell, Point: point})
		if s.mixed {
			d.Table = s.tableOf(s.assigned(s.state.Trials, d.Trial, s.req.Objective), true)
		} else {
			d.Params = s.params(point)
		}
		out = append(out, d)
	}
	return out
}

// next returns the points that a cell tries next, none when it is done.
func (s *search) next(cell int) ([]int, error) {
	tried := s.state.of(cell)
	first := min(s.initial, s.points())
	if s.search == Grid {
		n := s.points()
		if s.proposals > 0 {
			n = min(n, first+s.proposals)
		}
		if len(tried) > 0 {
			return nil, nil
		}
		return list.Made(n, func(i int) int { return i * s.points() / n }), nil
	}
	order := tuners.NewDraws(s.req.Seed, cell, 0, "fedtune-hrt points").Perm(s.points())
	switch {
	case len(tried) == 0:
		return order[:first], nil
	case s.done(tried, first):
		return nil, nil
	case s.search == Random:
		return order[len(tried) : len(tried)+1], nil
	}
	point, err := s.propose(tried, order)
	return []int{point}, err
}

// done says whether a cell has had enough: no point is left, the cap is reached, or
// its last proposals brought nothing.
func (s *search) done(tried []trial, first int) bool {
	proposed := len(tried) - first
	if len(tried) == s.points() || s.proposals > 0 && proposed >= s.proposals {
		return true
	}
	last := bestOf(tried, s.req.Objective) // the last improvement; a cell without a score has none
	return s.patience > 0 && proposed >= s.patience && last < len(tried)-s.patience
}

// bestOf returns the index of the best score, of equal ones the first; -1 when
// there is none.
func bestOf(tried []trial, o tuners.Objective) int {
	best := -1
	for i, t := range tried {
		if t.Reported && !t.Failed && (best < 0 || o.Better(t.Score, tried[best].Score)) {
			best = i
		}
	}
	return best
}

// propose returns the unseen point of largest expected improvement over the best
// score, of equal ones that of the lowest index. Failed trials count as the worst.
// While no trial has a score it takes random points, in order.
func (s *search) propose(tried []trial, order []int) (int, error) {
	at := bestOf(tried, s.req.Objective)
	if at < 0 {
		return order[len(tried)], nil
	}
	sign := 1.0
	if s.req.Objective.Direction == tuners.Maximize {
		sign = -1
	}
	best := sign * tried[at].Score
	worst := best
	for _, t := range tried {
		if !t.Failed {
			worst = max(worst, sign*t.Score)
		}
	}
	seen := map[int]bool{}
	var x [][]float64
	var y []float64
	for _, t := range tried {
		seen[t.Point] = true
		x = append(x, s.features(t.Point))
		if t.Failed {
			y = append(y, worst)
		} else {
			y = append(y, sign*t.Score)
		}
	}
	process, err := gp.New(gp.Fit(x, y, 50), x, y)
	if err != nil {
		return 0, fmt.Errorf("fedtune-hrt: %w", err)
	}
	chosen, most := -1, 0.0
	for point := range s.points() {
		if seen[point] {
			continue
		}
		mean, deviation := process.Predict(s.features(point))
		if gain := gp.ExpectedImprovement(mean, deviation, best); chosen < 0 || gain > most {
			chosen, most = point, gain
		}
	}
	return chosen, nil
}

// Report keeps a trial's score.
func (s *search) Report(_ context.Context, r tuners.TrialReport) error {
	if r.Trial < 0 || r.Trial >= len(s.state.Trials) || s.state.Trials[r.Trial].Reported {
		return fmt.Errorf("fedtune-hrt: report for trial %d, which is not running", r.Trial)
	}
	t := &s.state.Trials[r.Trial]
	t.Reported = true
	if t.Failed = r.Unusable(); !t.Failed {
		t.Score = r.Score
	}
	return s.Save(&s.state)
}

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
