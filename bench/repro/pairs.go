package repro

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"gonum.org/v1/gonum/stat"

	"github.com/fedfast/fedfast/internal/stats"
	"github.com/fedfast/fedfast/tuners"
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
	// Needed is how many pairs would give Test an interval of +- 1 point, Seconds how
	// long a pair took.
	Needed  float64 `json:"pairs_for_1_point"`
	Seconds float64 `json:"seconds_of_a_pair"`
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
	firsts, seconds := bySeed(fresh), bySeed(old)
	for seed := range fresh.Values {
		a, b := firsts[seed+1], seconds[seed+1]
		if a == nil || b == nil || a.End.regression() || len(a.Trials) != 1 || len(b.Trials) != 1 || !a.Trials[0].holds(b.Trials[0].Params) {
			continue
		}
		x, y := a.End.test(a.End.Survivor, fresh.Target), b.End.test(b.End.Survivor, old.Target)
		score, ok := gainOf(a.Trials[0].scores(fresh.Target), b.Trials[0].scores(old.Target))
		if !ok || math.IsNaN(x) || math.IsNaN(y) {
			continue
		}
		gain := y - x
		// Scores may be losses.
		if test = append(test, gain); !strings.Contains(a.Head.Config, "\nobjective = \""+tuners.MetricLoss+"\"\n") {
			validation = append(validation, score)
		}
		if gain := b.End.test(b.End.Best, old.Target) - a.End.test(a.End.Best, fresh.Target); !math.IsNaN(gain) {
			best = append(best, gain)
		}
		if entropy := a.Trials[0].Entropy; len(entropy) > 0 {
			decided = append(decided, decidedIn(entropy))
			p.Undecided += index(math.IsInf(decided[len(decided)-1], 1))
			p.WithEntropy++
			at := slices.IndexFunc(entropy, func(e float64) bool { return e < decidedBelow })
			p.Again += index(at >= 0 && slices.Max(entropy[at:]) > math.Ln2)
		}
		first, second := x < 100*learntBelow, y < 100*learntBelow
		switch {
		case first && second:
			learnt, both = append(learnt, gain), append(both, gain)
		case first:
			learnt, p.First = append(learnt, gain), p.First+1
		case second:
			learnt, p.Second = append(learnt, gain), p.Second+1
		}
		p.Least, p.Most = math.Min(gain, orElse(p.Least, gain)), math.Max(gain, orElse(p.Most, gain))
		p.N, p.Rounds = p.N+1, len(a.Trials[0].scores(fresh.Target))
		p.Seconds += a.End.Seconds + b.End.Seconds
	}
	p.Seconds /= float64(p.N)
	p.Test, p.Validation, p.Learnt, p.Both, p.Best = stats.Of(test), stats.Of(validation), stats.Of(learnt), stats.Of(both), stats.Of(best)
	p.P = stats.SignFlips(test)
	p.Needed = p.Test.SeedsForHalf(1)
	if slices.Sort(decided); len(decided) > 0 {
		p.Decided = stat.Quantile(0.5, stat.Empirical, decided, nil)
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

// pairTable returns the comparison of arms that are seeds of their own.
func (r *Report) pairTable() Table {
	arms := Table{
		Title: fmt.Sprintf("arm by arm: by how many points the first of two arms of the same hyperparameters ends with a "+
			"lower test error on all clients, with its 90 %% interval (validation: the mean of the last %d rounds; an arm has "+
			"learnt when it ends below %v %%)", armRounds, 100*learntBelow),
		Head: []string{
			"experiment", "pairs so far", "test error", "p (exact, by signs)", "pairs for +- 1 point",
			"single pairs", "validation error", "where one has learnt", "such pairs", "where both have", "such pairs",
			"only the first, the second", "models of the best scores", "entropy below 0.1 nats from round (median), in arms " +
				"never", "above ln 2 again, of arms", "seconds a pair", "variant",
		},
	}
	for i := range r.Verdicts {
		p := &r.Verdicts[i].Pairs
		if p.N == 0 {
			continue
		}
		arms.Rows = append(arms.Rows, []string{
			p.Name, strconv.Itoa(p.N), withInterval(p.Test), plainP(p.P), plainCount(p.Needed), plain(p.Least, p.Least) + " .. " + plain(p.Most, p.Most), withInterval(p.Validation),
			withInterval(p.Learnt), strconv.Itoa(p.Learnt.N), withInterval(p.Both), strconv.Itoa(p.Both.N),
			fmt.Sprintf("%d, %d", p.First, p.Second), withInterval(p.Best), p.decided(), p.again(), plainCount(p.Seconds),
			variantText(p.Variant),
		})
	}
	return arms
}

// pairedSet is a set of data on which arms are run with and without FedEx.
type pairedSet struct {
	fedexSet
	Pairs, Rounds int
}

// pairedTraining is the training of one arm per seed: with FedEx it
// has the hyperparameters, the split, the first weights and the cohorts that it has
// without.
func pairedTraining(set pairedSet, tuning string) *Training {
	t := fedexTraining(set.fedexSet, oneArm, tuners.TargetPersonalized, tuning)
	t.Key = "fedex-paired-" + set.Name + "-" + tuning
	t.Seeds = set.Pairs
	t.Sets = append(t.Sets, fmt.Sprintf("rounds=%d", set.Rounds), fmt.Sprintf("budget.rounds=%d", set.Rounds), fmt.Sprintf("budget.trial_rounds=%d", set.Rounds))
	t.Deviates = append(t.Deviates, "a seed trains one arm, not a study of several: what a wrapper makes of arms is drawn from those that are recorded")
	return t
}

// pairedCells are arms with and without FedEx: the errors on all clients' test
// examples of both models where the arm ends.
func pairedCells() []Cell {
	var cells []Cell
	for _, set := range papers().FedEx.Paired {
		for _, target := range fedexTargets {
			for _, tuning := range fedexTunings {
				cells = append(cells, armCell("fedex-paired/"+set.Name+"/"+target+"/"+tuning, pairedTraining(set, tuning), target))
			}
		}
	}
	return cells
}

// armCell is a cell of arms that are seeds of their own.
func armCell(name string, t *Training, target string) Cell {
	return Cell{
		Name: name, Paper: fedexPaper, Where: "no table", Instead: "not published", Unit: "% test error at an arm's end",
		Training: t, Measure: survivorError(target), Target: target,
	}
}

// pairedClaim is what FedEx is run for.
const pairedClaim = "FedEx improves an arm of the same hyperparameters"

func pairedClaims() []Comparison {
	var claims []Comparison
	for _, set := range papers().FedEx.Paired {
		for _, target := range fedexTargets {
			name := "fedex-paired/" + set.Name + "/" + target
			claims = append(claims, Comparison{Name: name, Claim: pairedClaim, New: name + "/fedex", Old: name + "/alone"})
		}
	}
	return claims
}
