package fl

import (
	"fmt"
	"math"

	"github.com/fedfast/fedfast/fl/internal/shard"
	"github.com/fedfast/fedfast/kernels"
	"github.com/fedfast/fedfast/kernels/det"
)

// MostBytes returns how many bytes a snapshot of a trial, a part of a round and the
// scores of clients take at most in their binary forms. Of the probes, it counts those
// of one plan with names as long as they may be.
func (e *Engine) MostBytes() int64 {
	const number, frame, name = 8, 256, maxText + 4
	c := &e.cfg
	clients, unseen := int64(len(c.Data.Clients)), int64(len(c.Data.Unseen))
	vector := int64(number + 4*c.Model.Size())
	snapshot := 2*name + frame + vector + mostSmoothed*(name+vector)
	for _, a := range e.newServer().State() {
		snapshot += int64(number + 4*len(a))
	}
	if c.Sampler.Kind != "" {
		const each, frame = 16, 1 << 13 // arrays of the clients, and of a few numbers
		snapshot += clients*each + frame
		if c.Fleet != nil {
			snapshot += clients * 64 // those that are away, as JSON
		}
	}
	if e.store != nil {
		snapshot += clients * int64(2*number+4*e.store.size)
	}
	if e.fleet != nil {
		const job, params = 400, 1 << 13 // as JSON
		snapshot += int64(c.Time.Working(c.Cohort))*(job+params) + int64(c.Time.Versions(c.Cohort))*vector
	}
	score := number * int64(8+3*several(c.Model))
	answers, inSlot := e.mostAnswered()
	slot := 16*number + 2*score + inSlot
	exam := 4 * (score + 2*number + 2*number*int64(len(c.Data.Masks)))
	part := frame + 3*vector + int64(c.mostCohort())*slot
	if e.holding {
		part += int64(c.mostCohort()) * (number + vector)
	}
	return max(snapshot, part, frame+max(clients, unseen)*exam+answers)
}

// fits checks that a part is what a shard was asked for.
func (r *round) fits(p *part, s shard.Span) error {
	e := r.engine
	at := fmt.Sprintf("the shard of the slots [%d,%d)", s.Lo, s.Hi)
	if p == nil {
		return fmt.Errorf("%s: nothing came back", at)
	}
	size := e.cfg.Model.Size()
	extra := e.cfg.Method.Gather != nil
	is := func(v []float32, asked bool) bool { return v == nil && !asked || asked && len(v) == size }
	if p.Lo != s.Lo || len(p.Slots) != s.Hi-s.Lo || !is(p.Sum, true) || !is(p.Extra, extra) || !is(p.Signs, r.probes.signs) {
		return fmt.Errorf("%s: other slots or other sums came back", at)
	}
	if !e.rowsFit(p) {
		return fmt.Errorf("%s: other updates of single clients came back", at)
	}
	taken := 0
	for i := range p.Slots {
		got, want := &p.Slots[i], &r.slots[s.Lo+i]
		if got.Client != want.Client {
			return fmt.Errorf("%s: it has client %d in slot %d instead of client %d", at, got.Client, s.Lo+i, want.Client)
		}
		if got.TrainExamples != want.TrainExamples || got.ValExamples != want.ValExamples {
			return fmt.Errorf("%s: client %d has %d and %d samples in it, not %d and %d", at, got.Client, got.TrainExamples, got.ValExamples, want.TrainExamples, want.ValExamples)
		}
		if !isCount(got.Steps) || !isCount(got.Examples) {
			return fmt.Errorf("%s: client %d cannot have taken %d steps with %d samples", at, got.Client, got.Steps, got.Examples)
		}
		if !e.measures(&got.Before, got.ValExamples) || !e.measures(&got.After, got.ValExamples) {
			return fmt.Errorf("%s: client %d has scores of another model", at, got.Client)
		}
		if !got.Dropped || e.cfg.Privacy.noises(LocalNoise) { // who then sends noise
			taken++
		}
	}
	if p.Taken > taken || !det.Finite(p.Weight) || p.Weight < 0 || !det.Finite(p.Number) {
		return fmt.Errorf("%s: %d of %d clients with weights of %v and numbers of %v cannot be", at, p.Taken, taken, p.Weight, p.Number)
	}
	return nil
}

// rowsFit says whether the single updates of a part belong to its slots.
func (e *Engine) rowsFit(p *part) bool {
	if !e.holding {
		return len(p.Rows) == 0
	}
	if len(p.Rows) != len(p.Slots) {
		return false
	}
	for i, row := range p.Rows {
		w := p.RowWeights[i]
		switch {
		case row == nil && w == 0:
		case len(row) != e.cfg.Model.Size() || p.Slots[i].Dropped || !(w > 0) || !det.Finite(w) || !det.Finite(kernels.Norm(row)):
			return false
		}
	}
	return true
}

// isCount says whether n may count steps or examples.
func isCount(n int) bool { return n >= 0 && n <= shard.MostCount }

// measures says whether a score on a number of examples has the form of those of the engine's model.
func (e *Engine) measures(s *Score, examples int) bool {
	n := len(s.Fit.Outputs)
	return (n == 0 || n == several(e.cfg.Model)) && e.answersFit(s, examples)
}

// answers checks that scores belong to an exam.
func (e *Engine) answers(x *shard.Exam, scores []clientScores) error {
	if len(scores) != len(x.Clients) {
		return fmt.Errorf("evaluation: the scores of %d clients came back, those of %d were asked for", len(scores), len(x.Clients))
	}
	clients, masks := e.cfg.Data.Clients, len(e.cfg.Data.Masks)
	if x.Unseen {
		clients = e.cfg.Data.Unseen
	}
	for i := range scores {
		c := &clients[x.Clients[i]]
		val, test := c.Val.Len(), c.Test.Len()
		for k, want := range []int{asked(x.GlobalVal, val), asked(x.GlobalTest, test), asked(x.PersonalVal, val), asked(x.PersonalTest, test)} {
			set := scores[i].sets()[k]
			if set.n != want {
				return fmt.Errorf("evaluation: client %s was measured on %d samples, not on %d", c.ID, set.n, want)
			}
			if want == 0 {
				continue
			}
			if len(set.masked) != masks || !e.measures(&set.Score, set.n) || math.IsNaN(set.Error) || math.IsInf(set.Error, 0) {
				return fmt.Errorf("evaluation: client %s has scores of another model or of other data", c.ID)
			}
			for _, m := range set.masked {
				if m.left > 0 && !(m.err >= 0 && m.err <= 1) {
					return fmt.Errorf("evaluation: client %s has an error of %v of %d labels", c.ID, m.err, m.left)
				}
			}
		}
	}
	return nil
}

// asked is n where that was asked for, else 0.
func asked(yes bool, n int) int {
	if yes {
		return n
	}
	return 0
}
