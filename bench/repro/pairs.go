package repro

import (
	"fmt"
	"math"
	"slices"
	"strconv"

	"gonum.org/v1/gonum/stat"

	"github.com/fedfast/fedfast/internal/stats"
)

// Pairs is what two trainings whose seeds are single arms say, arm by arm.
type Pairs struct {
	Name    string `json:"name"`
	Variant string `json:"variant"`
	// N is how many pairs there are so far. Rounds is how many an arm has.
	N      int `json:"pairs"`
	Rounds int `json:"rounds"`
	// Test is by how many points the first training's test error at an arm's end is
	// lower, Validation the same of the mean validation error of the last rounds, Learnt
	// of the test errors of those arms of which one at least ends below 80 %, and Both of
	// those of which both do.
	Test       stats.Sample `json:"test"`
	Validation stats.Sample `json:"validation"`
	Learnt     stats.Sample `json:"learnt"`
	Both       stats.Sample `json:"both_learnt"`
	// Best is the same as Test of the models that had an arm's best score on the way,
	// which a study returns, of pairs that both have one.
	Best stats.Sample `json:"best_score"`
	// First and Second are the pairs of which only the first, or only the second, ends
	// below 80 %.
	First  int `json:"only_first_learnt"`
	Second int `json:"only_second_learnt"`
	// Least and Most are the smallest and largest gains of test errors of single
	// pairs; NaN without any.
	Least float64 `json:"least"`
	Most  float64 `json:"most"`
	// Decided is the median of the rounds in which the first training's FedEx has decided on
	// one configuration, the entropy of its theta being below decidedBelow; arms that never
	// do, of whom Undecided is the number, count as later than all others. Both are of arms
	// whose entropy is recorded: Decided is NaN without any, infinite where most never do.
	Decided   float64 `json:"decided"`
	Undecided int     `json:"undecided"`
	// WithEntropy is the number of arms whose entropy is recorded.
	WithEntropy int `json:"with_entropy"`
	// Again counts, of the arms that have decided, those whose entropy rises above ln 2
	// again: two configurations are likely then.
	Again int `json:"undecided_again"`
	// P is the exact two-sided p of Test, by turning the signs of pairs; NaN for more than
	// 20.
	P float64 `json:"p_sign_flips"`
	// Chosen is what the first training's FedEx has chosen, a hyperparameter each.
	Chosen []Chosen `json:"chosen,omitempty"`
	// Needed is how many pairs would give Test an interval of +- 1 point, Seconds how
	// long a pair took.
	Needed  float64 `json:"pairs_for_1_point"`
	Seconds float64 `json:"seconds_of_a_pair"`
	// Outcomes are the outcomes of studies that are drawn from the arms, Discounted those of
	// studies with other discounts of their scores than 0.
	Outcomes   []Outcome `json:"drawn,omitempty"`
	Discounted []Outcome `json:"discounted,omitempty"`

	spans bool // some pairs have other numbers of rounds
}

// pairsOf compares the arms of two rows seed by seed; N is 0 when the seeds are no
// single arms, or regressions, whose errors are no points, or without a target: whole
// methods are compared then, by the verdicts, not arms of some hyperparameters.
func pairsOf(name string, fresh, old *Row) Pairs {
	p := Pairs{Name: name, Variant: fresh.Variant, Least: math.NaN(), Most: math.NaN(), Decided: math.NaN()}
	if fresh.Target == "" {
		return p
	}
	var test, validation, learnt, both, best, decided []float64
	var choice ranks
	var pool [2][]Recorded
	firsts, seconds := bySeed(fresh), bySeed(old)
	for seed := range fresh.Values {
		a, b := firsts[seed+1], seconds[seed+1]
		if a == nil || b == nil || a.End.regression() || len(a.Trials) != 1 || len(b.Trials) != 1 || !a.Trials[0].holds(b.Trials[0].Params) {
			continue
		}
		x, y := recordedOf(a, fresh.Target), recordedOf(b, old.Target)
		scores, ok := pairOf(a.Trials[0].scores(fresh.Target), b.Trials[0].scores(old.Target))
		if !ok || math.IsNaN(x.Test) || math.IsNaN(y.Test) {
			continue
		}
		gain := y.Test - x.Test
		if test = append(test, gain); !a.byLoss() {
			validation = append(validation, scores.gain)
		}
		if gain := b.End.test(b.End.Best, old.Target) - a.End.test(a.End.Best, fresh.Target); !math.IsNaN(gain) {
			best = append(best, gain)
		}
		if entropy := a.Trials[0].Entropy; len(entropy) > 0 {
			decided = append(decided, decidedIn(entropy))
			p.Undecided += index(math.IsInf(decided[len(decided)-1], 1))
			p.WithEntropy++
			p.Again += index(undecidedAgain(entropy))
		}
		first, second := x.Test < 100*learntBelow, y.Test < 100*learntBelow
		if first || second {
			choice.add(&a.Trials[0])
		}
		switch {
		case first && second:
			learnt, both = append(learnt, gain), append(both, gain)
		case first:
			learnt, p.First = append(learnt, gain), p.First+1
		case second:
			learnt, p.Second = append(learnt, gain), p.Second+1
		}
		p.Least, p.Most = math.Min(gain, orElse(p.Least, gain)), math.Max(gain, orElse(p.Most, gain))
		p.spans = p.spans || p.N > 0 && p.Rounds != len(x.Scores) || len(x.Scores) != len(y.Scores)
		p.N, p.Rounds = p.N+1, len(x.Scores)
		p.Seconds += a.End.Seconds + b.End.Seconds
		pool[0], pool[1] = append(pool[0], y), append(pool[1], x)
	}
	p.Seconds /= float64(p.N)
	p.Test, p.Validation, p.Learnt, p.Both, p.Best = stats.Of(test), stats.Of(validation), stats.Of(learnt), stats.Of(both), stats.Of(best)
	p.P = stats.SignFlips(test)
	p.Needed, p.Chosen = p.Test.SeedsForHalf(1), choice.chosen()
	if slices.Sort(decided); len(decided) > 0 {
		p.Decided = stat.Quantile(0.5, stat.Empirical, decided, nil)
	}
	if fresh.Study > 0 && !p.spans {
		all := wrappers(p.Rounds, fresh.Study, p.N)
		for _, w := range all {
			p.Outcomes = append(p.Outcomes, outcomeOf(w, pool[0], pool[1]))
		}
		for _, w := range discounted(all, fresh.Study*p.Rounds) {
			p.Discounted = append(p.Discounted, outcomeOf(w, pool[0], pool[1]))
		}
	}
	return p
}

// decidedBelow is the entropy, in nats, below which FedEx has one configuration left: the
// likeliest of 27 then has a probability of 0.98 and more.
const decidedBelow = 0.1

// decidedIn is the first round, from 1, with an entropy below decidedBelow; infinite
// without one.
func decidedIn(entropy []float64) float64 {
	at := slices.IndexFunc(entropy, func(e float64) bool { return e < decidedBelow })
	if at < 0 {
		return math.Inf(1)
	}
	return float64(at + 1)
}

// undecidedAgain says whether an entropy below decidedBelow is followed by one above ln 2.
func undecidedAgain(entropy []float64) bool {
	at := slices.IndexFunc(entropy, func(e float64) bool { return e < decidedBelow })
	return at >= 0 && slices.Max(entropy[at:]) > math.Ln2
}

// decided writes the median round of the decision, and how many arms make none.
func (p *Pairs) decided() string {
	switch {
	case math.IsNaN(p.Decided):
		return "-"
	case math.IsInf(p.Decided, 1):
		return fmt.Sprintf("never, %d", p.Undecided)
	}
	return fmt.Sprintf("%.0f, %d", p.Decided, p.Undecided)
}

// again writes how many arms were undecided again, of how many that had decided.
func (p *Pairs) again() string {
	if math.IsNaN(p.Decided) {
		return "-"
	}
	return fmt.Sprintf("%d of %d", p.Again, p.WithEntropy-p.Undecided)
}

// bySeed returns a row's metrics by their seeds.
func bySeed(r *Row) map[int]*Metrics {
	all := make(map[int]*Metrics, len(r.metrics))
	for _, m := range r.metrics {
		all[m.Head.Seed] = m
	}
	return all
}

// recordedOf is the arm of a seed that is one.
func recordedOf(m *Metrics, target string) Recorded {
	r := Recorded{Test: m.End.test(m.End.Survivor, target)}
	for _, s := range m.Trials[0].scores(target) {
		if s == nil {
			r.Scores = append(r.Scores, math.Inf(1))
		} else {
			r.Scores = append(r.Scores, *s)
		}
	}
	return r
}

// pairTables returns the comparison of arms that are seeds of their own, and what
// wrappers make of them.
func (r *Report) pairTables() []Table {
	arms := Table{
		Title: fmt.Sprintf("arm by arm: by how many points the first of two arms of the same hyperparameters ends with a lower test error on all clients, with its 90 %% interval (validation: the mean of the last %d rounds; an arm has learnt when it ends below %v %%)", armRounds, 100*learntBelow),
		Head:  []string{"experiment", "pairs so far", "test error", "p (exact, by signs)", "pairs for +- 1 point", "single pairs", "validation error", "where one has learnt", "such pairs", "where both have", "such pairs", "only the first, the second", "models of the best scores", "entropy below 0.1 nats from round (median), in arms never", "above ln 2 again, of arms", "seconds a pair", "variant"},
	}
	drawn := Table{
		Title: "what wrappers make of these arms: the mean test error where they end, over draws of recorded arms, and the gain by FedEx, with 90 % intervals (jackknife over pairs)",
		Head:  []string{"experiment", "wrapper", "arms", "rounds", "alone", "with FedEx", "gain", "variant"},
	}
	scores := Table{
		Title: "what they make of them with discounted scores, the mean over the rounds since the last rung or since the beginning, one of age a weighing the discount^a (1: all alike): by how many points the error is lower than by the last round's score, with 90 % intervals",
		Head:  []string{"experiment", "wrapper", "arms", "rounds", "discount", "alone", "lower by", "with FedEx", "lower by", "gain by FedEx", "variant"},
	}
	for i := range r.Verdicts {
		p := &r.Verdicts[i].Pairs
		if p.N == 0 {
			continue
		}
		arms.Rows = append(arms.Rows, []string{
			p.Name, strconv.Itoa(p.N), withInterval(p.Test), plainP(p.P), plainCount(p.Needed), plain(p.Least, p.Least) + " .. " + plain(p.Most, p.Most), withInterval(p.Validation),
			withInterval(p.Learnt), strconv.Itoa(p.Learnt.N), withInterval(p.Both), strconv.Itoa(p.Both.N), fmt.Sprintf("%d, %d", p.First, p.Second), withInterval(p.Best), p.decided(), p.again(), plainCount(p.Seconds), variantText(p.Variant),
		})
		for _, o := range p.Outcomes {
			drawn.Rows = append(drawn.Rows, []string{
				p.Name, o.name(), strconv.Itoa(o.Arms), strconv.Itoa(o.Rounds), withInterval(o.Alone), withInterval(o.Fresh), withInterval(o.Gain), variantText(p.Variant),
			})
		}
		for _, o := range p.Discounted {
			scores.Rows = append(scores.Rows, []string{
				p.Name, o.name(), strconv.Itoa(o.Arms), strconv.Itoa(o.Rounds), fmt.Sprint(o.Discount),
				withInterval(o.Alone), withInterval(o.AloneLess), withInterval(o.Fresh), withInterval(o.FreshLess), withInterval(o.Gain), variantText(p.Variant),
			})
		}
	}
	var out []Table
	for _, t := range []Table{arms, r.chosenTable(), drawn, scores} {
		if len(t.Rows) > 0 {
			out = append(out, t)
		}
	}
	return out
}
