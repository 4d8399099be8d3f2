// Package hyperband is the built-in tuner `hyperband`: successive halving in
// brackets that trade the number of trials against how long each runs before the
// first elimination; see Brackets and Schedule for the arithmetic. It spends
// budget.rounds in all.
package hyperband

import (
	"fmt"

	"github.com/fedfast/fedfast/internal/tuner/internal/options"
	"github.com/fedfast/fedfast/internal/tuner/sha"
	"github.com/fedfast/fedfast/tuners"
)

// defaultTop is the most aggressive bracket unless the options say otherwise: three
// eliminations, as successive halving has.
const defaultTop = 3

// Tuner is Hyperband.
var Tuner = options.Tuner[[]sha.Bracket]{About: options.About("hyperband", Options...), Plan: plan, Study: open}

// Options are those that Read reads.
var Options = []tuners.Option{
	{Name: "eta", Default: tuners.Num(3), Doc: "keep one of eta trials at each rung"},
	{Name: "brackets", Default: tuners.Num(0), Doc: "number of brackets, R+1: the first eliminates R times, the last never; 0: 4, or fewer if budget.trial_rounds < eta^3"},
}

func plan(r *options.Reader, req tuners.ValidateRequest) []sha.Bracket { return Read(r, req.Budget) }

func open(req tuners.OpenRequest, schedule []sha.Bracket) (tuners.Session, error) {
	return sha.Open("hyperband", req, schedule, nil)
}

// Read reads Options and returns what a study of the budget runs, see Schedule.
func Read(r *options.Reader, b tuners.Budget) []sha.Bracket {
	return Schedule(b.Rounds, b.TrialRounds, ReadPass(r, b))
}

// ReadPass reads Options and returns one pass, see Brackets, a bracket of which the budget pays
// for; nil with problems.
func ReadPass(r *options.Reader, b tuners.Budget) []sha.Bracket {
	eta, brackets := r.Whole("eta", 2, maxEta), r.Whole("brackets", 0, maxBrackets)
	r.TrialRounds(b)
	if len(r.Problems) > 0 {
		return nil
	}
	top := brackets - 1
	if brackets == 0 {
		top = topBracket(b.TrialRounds, eta, defaultTop)
	}
	if key, message := check(b.Rounds, b.TrialRounds, eta, top); key != "" {
		r.Problem(key, "%s", message)
		return nil
	}
	return Brackets(b.TrialRounds, eta, top)
}

// The ends of the options.
const (
	maxEta      = 1000
	maxBrackets = 64
	maxArms     = 100_000 // of one bracket: beyond it a study could not even list its trials
)

// Brackets returns one pass of Hyperband (Li et al. 2018) over trials of m rounds:
// for s = top, ..., 0 the bracket that starts ceil((top+1)/(s+1) eta^s) arms, has
// its rungs at rounds m eta^-s, ..., m/eta, m, rounded down, and keeps floor(n/eta)
// of n arms at every rung. There must be a first rung: eta^top <= m.
func Brackets(m, eta, top int) []sha.Bracket {
	out := make([]sha.Bracket, 0, top+1)
	for s := top; s >= 0; s-- {
		share := power(eta, s)
		n := ((top+1)*share + s) / (s + 1)
		var b sha.Bracket
		for ; share >= 1; share /= eta {
			b.Arms, b.Rungs = append(b.Arms, n), append(b.Rungs, m/share)
			n /= eta
		}
		out = append(out, b)
	}
	return out
}

// Schedule returns what a study of t rounds runs: the brackets of one pass in turn,
// again and again, each as long as it fits into what is left, then single arms of m
// rounds and one arm of the rest. The costs add up to t. It returns nil when no
// bracket fits.
func Schedule(t, m int, pass []sha.Bracket) []sha.Bracket {
	var out []sha.Bracket
	left := t
	for fits := true; fits; {
		fits = false
		for _, b := range pass {
			if cost := b.Cost(); cost <= left {
				out, left, fits = append(out, b), left-cost, true
			}
		}
	}
	if out == nil {
		return nil
	}
	if n := left / m; n > 0 {
		out = append(out, sha.Bracket{Arms: []int{n}, Rungs: []int{m}})
	}
	if rest := left % m; rest > 0 {
		out = append(out, sha.Bracket{Arms: []int{1}, Rungs: []int{rest}})
	}
	return out
}

// topBracket returns the largest s <= limit with eta^s <= m.
func topBracket(m, eta, limit int) int {
	s := 0
	for share := 1; s < limit && share <= m/eta; share *= eta {
		s++
	}
	return s
}

// power returns eta^s; the callers bound it.
func power(eta, s int) int {
	p := 1
	for range s {
		p *= eta
	}
	return p
}

// check returns the key and the message of what is wrong with a plan's numbers,
// none when a study can run.
func check(t, m, eta, top int) (key, message string) {
	if fits := topBracket(m, eta, top); fits < top {
		return "options.brackets", fmt.Sprintf("%d brackets with eta = %d start with rungs of less than one of %d rounds (budget.trial_rounds); at most %d brackets are possible",
			top+1, eta, m, fits+1)
	}
	cheapest, most := 0, 0
	for i, b := range Brackets(m, eta, top) {
		if cost := b.Cost(); i == 0 || cost < cheapest {
			cheapest = cost
		}
		most = max(most, b.Arms[0])
	}
	switch {
	case most > maxArms:
		return "options.brackets", fmt.Sprintf("%d brackets with eta = %d start %d trials; at most %d are possible", top+1, eta, most, maxArms)
	case t < cheapest:
		return "budget.rounds", fmt.Sprintf("budget.rounds = %d is less than the cheapest bracket of trials of %d rounds (budget.trial_rounds), which takes %d", t, m, cheapest)
	}
	return "", ""
}
