// Package asha is the built-in tuner `asha`: asynchronous successive halving (Li et
// al. 2020). A trial goes on as soon as it is among the best 1/eta of its rung,
// without waiting for the rung to fill; otherwise a new trial starts.
package asha

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/fedfast/fedfast/internal/list"
	"github.com/fedfast/fedfast/internal/tuner/internal/options"
	"github.com/fedfast/fedfast/internal/tuner/internal/record"
	"github.com/fedfast/fedfast/internal/tuner/sha"
	"github.com/fedfast/fedfast/tuners"
)

// The ends of the options.
const (
	maxEta          = 1000
	maxEliminations = 64
	maxTrials       = 100_000
)

// Tuner is asynchronous successive halving.
var Tuner = options.Tuner[plan]{About: options.About("asha"), Plan: newPlan, Study: newSession}

// plan is what the options and the budget fix.
type plan struct {
	eta    int
	rungs  []int // rounds, ascending; the last is budget.trial_rounds
	trials int   // most trials to start
	rounds int   // most rounds to spend
}

// newPlan reads the options and places the rungs at M eta^-R, ..., M/eta, M,
// rounded down.
func newPlan(r *options.Reader, req tuners.ValidateRequest) plan {
	b := req.Budget
	p := plan{
		eta: r.Whole("eta", 2, maxEta), trials: r.Whole("trials", 0, maxTrials), rounds: b.Rounds,
	}
	eliminations := r.Whole("eliminations", 1, maxEliminations)
	r.TrialRounds(b)
	if len(r.Problems) > 0 {
		return plan{}
	}
	p.trials = cmp.Or(p.trials, maxTrials)
	p.rungs = []int{b.TrialRounds}
	least := 0 // rounds of a synchronous halving that ends with one trial
	arms := 1
	for share := b.TrialRounds; len(p.rungs) <= eliminations; {
		// floor(floor(M/eta^k)/eta) = floor(M/eta^(k+1))
		if share /= p.eta; share < 1 {
			r.Problem("options.eliminations", "%d eliminations with eta = %d put the first rung below 1 of %d rounds (budget.trial_rounds); at most %d are possible",
				eliminations, p.eta, b.TrialRounds, len(p.rungs)-1)
			return plan{}
		}
		least += arms * (p.rungs[0] - share)
		p.rungs = append([]int{share}, p.rungs...)
		arms *= p.eta
	}
	least += arms * p.rungs[0]
	if p.rounds < least {
		r.Problem("budget.rounds", "halving %d trials with eta = %d up to %d rounds (budget.trial_rounds) takes %d rounds, but budget.rounds is %d: raise it or lower options.eliminations",
			arms, p.eta, b.TrialRounds, least, p.rounds)
	}
	return p
}

// session runs one study. What it decides depends on the reports so far, in any
// order in which they came, and on the trials in flight.
type session struct {
	tuners.TrialsOnly
	record.Record
	plan
	req   tuners.OpenRequest
	state state
}

// state is everything that calls change.
type state struct {
	Trials []trial `json:"trials"` // by number
}

// trial is what became of one trial.
type trial struct {
	Rung    int       `json:"rung"`              // index of the rung that it was last sent to
	Running bool      `json:"running,omitempty"` // it has not reported there yet
	Failed  bool      `json:"failed,omitempty"`  // on the way there
	Stopped bool      `json:"stopped,omitempty"`
	Scores  []float64 `json:"scores,omitempty"` // at the rungs that it reached, from the first
}

func newSession(req tuners.OpenRequest, p plan) (tuners.Session, error) {
	s := &session{plan: p, req: req}
	return s, s.Begin("asha", req.State, &s.state)
}

// Suggest fills the places in flight.
func (s *session) Suggest(_ context.Context, n int) ([]tuners.Decision, error) {
	running := list.Count(s.state.Trials, func(t trial) bool { return t.Running })
	var out []tuners.Decision
	for ; running < max(1, n); running++ {
		d, ok := s.next()
		if !ok {
			break
		}
		out = append(out, d)
	}
	switch {
	case running == 0:
		return []tuners.Decision{{Kind: tuners.Done, Best: s.leader()}}, nil
	case len(out) == 0:
		out = append(out, tuners.Decision{Kind: tuners.Wait})
	}
	return append(out, s.prune()...), s.Save(&s.state)
}

// next sends a trial on, or starts one, unless the budget is spent: from the
// highest rung down the lowest-numbered trial of the best 1/eta that waits there,
// else a new trial.
func (s *session) next() (tuners.Decision, bool) {
	left := s.rounds - s.spent()
	for k := len(s.rungs) - 2; k >= 0; k-- {
		if s.price(k+1) > left {
			continue
		}
		ranked, size := s.standings(k)
		top := slices.Sorted(slices.Values(ranked[:min(size/s.eta, len(ranked))]))
		if i := slices.IndexFunc(top, func(i int) bool { return s.waits(i, k) }); i >= 0 {
			t := &s.state.Trials[top[i]]
			t.Rung, t.Running = k+1, true
			return tuners.Decision{Kind: tuners.Resume, Trial: top[i], ToRound: s.rungs[k+1]}, true
		}
	}
	number := len(s.state.Trials)
	if s.price(0) > left || number == s.trials {
		return tuners.Decision{}, false
	}
	s.state.Trials = append(s.state.Trials, trial{Running: true})
	params := s.req.Space.Sample(tuners.NewDraws(s.req.Seed, number, 0, "trial params"))
	return tuners.Decision{Kind: tuners.Start, Trial: number, Params: params, ToRound: s.rungs[0]}, true
}

// prune stops the waiting trials that no report to come can bring into the best
// 1/eta of their rung with rounds left to go on. Ranks only fall, so it is enough
// to compare them with the size that the rung may still reach.
func (s *session) prune() []tuners.Decision {
	left := s.rounds - s.spent()
	leader := s.leader()
	var out []tuners.Decision
	for k := range s.rungs {
		ranked, size := s.standings(k)
		more := left / s.price(k)
		if k == 0 {
			more = min(more, s.trials-len(s.state.Trials))
		}
		size += list.Count(s.state.Trials, func(t trial) bool { return t.Running && t.Rung == k })
		places := (size + more) / s.eta
		if k == len(s.rungs)-1 || s.price(k+1) > left {
			places = 0 // none goes on from here
		}
		for i := range s.state.Trials {
			t := &s.state.Trials[i]
			here := t.Rung == k && t.Failed || s.waits(i, k)
			if !here || t.Stopped || i == leader {
				continue
			}
			if rank := slices.Index(ranked, i); rank >= 0 && rank < places {
				continue
			}
			t.Stopped = true
			out = append(out, tuners.Decision{Kind: tuners.Stop, Trial: i}, tuners.Decision{Kind: tuners.Release, Trial: i})
		}
	}
	return out
}

// leader returns the best of the trials that wait at the highest rung where one
// does, -1 when none does.
func (s *session) leader() int {
	for k := range slices.Backward(s.rungs) {
		ranked, _ := s.standings(k)
		if i := slices.IndexFunc(ranked, func(i int) bool { return s.waits(i, k) }); i >= 0 {
			return ranked[i]
		}
	}
	return -1
}

// standings ranks the trials that reached rung k; size counts those that failed on
// the way to it, too.
func (s *session) standings(k int) (ranked []int, size int) {
	scores := make([]float64, len(s.state.Trials))
	for i, t := range s.state.Trials {
		scores[i] = math.NaN()
		switch {
		case len(t.Scores) > k:
			scores[i] = t.Scores[k]
			size++
		case t.Failed && t.Rung == k:
			size++
		}
	}
	return sha.Rank(s.req.Objective, scores), size
}

// waits says whether trial i stands at rung k and can go on from there.
func (s *session) waits(i, k int) bool {
	t := s.state.Trials[i]
	return t.Rung == k && !t.Running && !t.Failed && !t.Stopped
}

// price is the rounds that a trial runs to reach rung k from the rung before.
func (s *session) price(k int) int {
	if k == 0 {
		return s.rungs[0]
	}
	return s.rungs[k] - s.rungs[k-1]
}

// spent is the rounds of all trials, with those in flight.
func (s *session) spent() int {
	return list.Sum(s.state.Trials, func(t trial) int { return s.rungs[t.Rung] })
}

// Report keeps a trial's score.
func (s *session) Report(_ context.Context, r tuners.TrialReport) error {
	if r.Trial < 0 || r.Trial >= len(s.state.Trials) || !s.state.Trials[r.Trial].Running {
		return fmt.Errorf("asha: report for trial %d, which is not running", r.Trial)
	}
	t := &s.state.Trials[r.Trial]
	t.Running = false
	if t.Failed = r.Unusable(); !t.Failed {
		t.Scores = append(t.Scores, r.Score)
	}
	return s.Save(&s.state)
}
