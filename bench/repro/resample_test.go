package repro

import (
	"cmp"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"gonum.org/v1/gonum/stat/combin"

	"github.com/fedfast/fedfast/internal/stats"
	"github.com/fedfast/fedfast/tuners"
)

// nineArms are some with ties in their last scores, of three rounds.
func nineArms() []Recorded {
	var pool []Recorded
	for i, last := range []float64{0.4, 0.2, 0.9, 0.2, 0.7, 0.55, 0.31, 0.8, 0.6} {
		pool = append(pool, Recorded{Scores: []float64{math.Mod(0.37*float64(i+1), 1), math.Mod(0.61*float64(i+2), 1), last}, Test: 10 + 7*math.Mod(1.7*float64(i), 5)})
	}
	return pool
}

// TestDrawsAgainstAllSubsets compares the closed forms of random search and of successive
// halving, and both without each arm, with every draw there is.
func TestDrawsAgainstAllSubsets(t *testing.T) {
	pool := append(nineArms(), Recorded{[]float64{0.3, 0.61, 0.2}, 33}, Recorded{[]float64{0.37, 0.1, 0.95}, 4}, Recorded{[]float64{0.8, 0.44, 0.31}, 27})
	best := func(draw []int, score func(int) float64, n int) []int {
		left := slices.Clone(draw)
		slices.SortStableFunc(left, func(a, b int) int { return int(math.Copysign(1, score(a)-score(b))) * index(score(a) != score(b)) })
		left = left[:n]
		slices.Sort(left)
		return left
	}
	plays := map[string]struct {
		w    Wrapper
		play func(draw []int) int
	}{
		"random search of 4": {Wrapper{Arms: 4}, func(draw []int) int {
			return best(draw, func(i int) float64 { return pool[i].Scores[2] }, 1)[0]
		}},
		"halving of 6": {Wrapper{Arms: 6, Rungs: []int{1, 2, 3}}, func(draw []int) int { // 6, 2, 1
			two := best(draw, func(i int) float64 { return pool[i].Scores[0] }, 2)
			return best(two, func(i int) float64 { return pool[i].Scores[1] }, 1)[0]
		}},
		"halving of 9": {Wrapper{Arms: 9, Rungs: []int{1, 2, 3}}, func(draw []int) int { // 9, 3, 1
			three := best(draw, func(i int) float64 { return pool[i].Scores[0] }, 3)
			return best(three, func(i int) float64 { return pool[i].Scores[1] }, 1)[0]
		}},
		"random search of 4 by the mean of all rounds": {Wrapper{Arms: 4, Discount: 1}, func(draw []int) int {
			return best(draw, func(i int) float64 { s := pool[i].Scores; return (s[0] + s[1] + s[2]) / 3 }, 1)[0]
		}},
		// The second rung's mean begins after the first one.
		"halving of 6 by discounted means": {Wrapper{Arms: 6, Rungs: []int{2, 3}, Discount: 0.5}, func(draw []int) int { // 6, 2
			two := best(draw, func(i int) float64 { s := pool[i].Scores; return (0.5*s[0] + s[1]) / 1.5 }, 2)
			return best(two, func(i int) float64 { return pool[i].Scores[2] }, 1)[0]
		}},
	}
	for name, c := range plays {
		all, without := c.w.returned(pool)
		mean := func(leave int) float64 {
			sum, n := 0.0, 0
			for _, draw := range combin.Combinations(len(pool), c.w.Arms) {
				if !slices.Contains(draw, leave) {
					sum += pool[c.play(draw)].Test
					n++
				}
			}
			return sum / float64(n)
		}
		if want := mean(-1); math.Abs(all-want) > 1e-12*want {
			t.Errorf("%s: %v, want %v", name, all, want)
		}
		for i, got := range without {
			if want := mean(i); math.Abs(got-want) > 1e-12*want {
				t.Errorf("%s without arm %d: %v, want %v", name, i, got, want)
			}
		}
	}
}

// TestOutcomes checks an outcome against numbers of a program in Python that knows
// nothing of this one: all 126 draws of four of nine arms, and all 84 of the eight
// without each, by itertools and numpy; Student's quantile from a table.
func TestOutcomes(t *testing.T) {
	old := nineArms()
	fresh := nineArms()
	for i := range fresh {
		fresh[i].Scores[2] = 1 - fresh[i].Scores[2]
		fresh[i].Test -= 0.5 * float64(i)
	}
	o := outcomeOf(Wrapper{Arms: 4}, old, fresh)
	for name, c := range map[string][2]float64{
		"alone": {o.Alone.Mean, 16.683333333}, "fedex": {o.Fresh.Mean, 26.919047619}, "gain": {o.Gain.Mean, -10.235714286}, "half": {o.Gain.Half, 12.559990663},
	} {
		if math.Abs(c[0]-c[1]) > 1e-6 {
			t.Errorf("%s: %v, want %v", name, c[0], c[1])
		}
	}
	// A search of one arm is a mean, and its interval that of Student.
	o = outcomeOf(Wrapper{Arms: 1}, old, fresh)
	var gains []float64
	for i := range old {
		gains = append(gains, old[i].Test-fresh[i].Test)
	}
	if want := stats.Of(gains); math.Abs(o.Gain.Mean-want.Mean) > 1e-9 || math.Abs(o.Gain.Half-want.Half) > 1e-9 {
		t.Errorf("one arm: %+v, want %+v", o.Gain, want)
	}
}

// TestDiscountedOutcomes says by how much an error is lower than by the last score, of
// which arms there is an interval, and for which wrappers it is asked.
func TestDiscountedOutcomes(t *testing.T) {
	old, fresh := nineArms(), nineArms()
	for i := range fresh {
		fresh[i].Test -= 0.5 * float64(i)
	}
	o := outcomeOf(Wrapper{Arms: 4, Discount: 1}, old, fresh)
	last := outcomeOf(Wrapper{Arms: 4}, old, fresh)
	if got, want := o.AloneLess.Mean, last.Alone.Mean-o.Alone.Mean; want == 0 || math.Abs(got-want) > 1e-9 {
		t.Errorf("without FedEx: lower by %v, want %v", got, want)
	}
	if got, want := o.FreshLess.Mean, last.Fresh.Mean-o.Fresh.Mean; want == 0 || math.Abs(got-want) > 1e-9 {
		t.Errorf("with FedEx: lower by %v, want %v", got, want)
	}
	// A score that is the same in all rounds is its own mean: nothing changes, in no arm.
	for i := range old {
		old[i].Scores[0], old[i].Scores[1] = old[i].Scores[2], old[i].Scores[2]
	}
	if same := outcomeOf(Wrapper{Arms: 4, Discount: 1}, old, old); math.Abs(same.AloneLess.Mean) > 1e-12 || math.Abs(same.AloneLess.Half) > 1e-12 {
		t.Errorf("scores without noise: %+v", same.AloneLess)
	}
	for _, w := range discounted(wrappers(200, 5, 48), 1000) {
		if w.Arms < 5 || w.Rounds > 1000 || w.Discount != 0.5 && w.Discount != 1 {
			t.Errorf("%+v", w)
		}
	}
	if n := len(discounted(wrappers(200, 5, 48), 1000)); n != 2*3 { // random search of 5, halving of 9 in 500 and 1000
		t.Errorf("%d wrappers", n)
	}
}

// TestScoresThatAreMissing: an infinite score of an early round is forgotten by the last
// round's score, and stays in a mean.
func TestScoresThatAreMissing(t *testing.T) {
	arm := Recorded{Scores: []float64{math.Inf(1), 0.5}}
	if got := (Wrapper{}).told(arm); got[0] != 0.5 {
		t.Errorf("the last score is %v", got)
	}
	if got := (Wrapper{Discount: 0.5}).told(arm); !math.IsInf(got[0], 1) {
		t.Errorf("the mean is %v", got)
	}
}

// TestManyDraws counts draws of 27 of 60 arms, more than can be played.
func TestManyDraws(t *testing.T) {
	var pool []Recorded
	for i := range 60 {
		x := math.Mod(0.618034*float64(i+1), 1)
		pool = append(pool, Recorded{Scores: []float64{x, x, x, x}, Test: 100 * x})
	}
	w := Wrapper{Arms: 27, Rungs: []int{1, 2, 3, 4}}
	got, _ := w.returned(pool)
	// With scores that never change the best of the draw wins, as in random search.
	want, _ := Wrapper{Arms: 27}.returned(pool)
	if math.Abs(got-want) > 1e-9 {
		t.Errorf("%v, want %v", got, want)
	}
	// With other scores at each rung the mean is the mean over many draws that are played.
	for i := range pool {
		for round := range 4 {
			pool[i].Scores[round] = math.Mod(0.618034*float64((i+1)*(round+3))+0.1*float64(round*i%7), 1)
		}
	}
	got, _ = w.returned(pool)
	const plays = 20_000
	rng := rand.New(rand.NewPCG(1, 2))
	var tests []float64
	for range plays {
		draw := rng.Perm(len(pool))[:27]
		slices.Sort(draw)
		for round, n := range []int{9, 3, 1} {
			slices.SortFunc(draw, func(a, b int) int { return cmp.Compare(pool[a].Scores[round], pool[b].Scores[round]) })
			draw = draw[:n]
		}
		tests = append(tests, pool[draw[0]].Test)
	}
	played := stats.Of(tests)
	if off := math.Abs(got - played.Mean); off > 3*played.Half {
		t.Errorf("%v, by draws that were played %v +- %v", got, played.Mean, played.Half)
	}
}

func TestWrappers(t *testing.T) {
	for _, c := range []struct{ rounds, study, pool, want int }{{200, 10, 200, 9}, {200, 10, 53, 7}, {200, 10, 4, 2}, {1, 10, 200, 6}} {
		ws := wrappers(c.rounds, c.study, c.pool)
		if len(ws) != c.want {
			t.Errorf("%+v: %+v", c, ws)
		}
	}
	last := wrappers(200, 10, 200)[8]
	if last.Arms != 27 || last.Rounds != 2000 || !slices.Equal(last.Rungs, []int{50, 100, 150, 200}) {
		t.Errorf("the paper's study: %+v", last)
	}
}

// TestPairedArms says that a seed has the same split, first weights and cohorts with
// and without FedEx: their settings differ in the client tuner alone.
func TestPairedArms(t *testing.T) {
	for _, set := range pairedSets {
		alone, _, err := pairedTraining(set, "alone").config(Options{}, 7, "")
		if err != nil {
			t.Fatal(err)
		}
		fedex, _, err := pairedTraining(set, "fedex").config(Options{}, 7, "")
		if err != nil {
			t.Fatal(err)
		}
		if alone.Seed != 7 || alone.Budget != fedex.Budget || alone.Budget.Rounds != set.rounds || alone.Rounds != set.rounds || alone.ClientTuner.Name != "" || fmt.Sprint(fedex.ClientTuner.Options["configs"]) != "27" {
			t.Errorf("%s: budgets %+v and %+v, client tuners %+v and %+v", set.name, alone.Budget, fedex.Budget, alone.ClientTuner, fedex.ClientTuner)
		}
		fedex.Name, fedex.ClientTuner = alone.Name, alone.ClientTuner
		a, errA := digest(alone)
		b, errB := digest(fedex)
		if errA != nil || errB != nil || a != b {
			t.Errorf("%s: the arms differ in more than the client tuner (%v, %v)", set.name, errA, errB)
		}
	}
}

// TestPairs compares arms of one seed and no others.
func TestPairs(t *testing.T) {
	arm := func(seed int, lr, end, test float64) *Metrics {
		test /= 100
		best := test / 2
		return &Metrics{
			Head:   Head{Seed: seed},
			Trials: []TrialLine{{Params: tuners.Params{"client.lr": tuners.Num(lr)}, Global: []*float64{&end, &end}}},
			End:    End{Survivor: &Returned{GlobalTest: &test}, Best: &Returned{GlobalTest: &best}, Seconds: 10},
		}
	}
	row := func(ms ...*Metrics) *Row {
		return &Row{Cell: Cell{Target: tuners.TargetGlobal, Study: 5}, metrics: ms, Values: make([]float64, 4)}
	}
	old := row(arm(1, 0.1, 0.5, 50), arm(2, 0.2, 0.9, 90), arm(3, 0.3, 0.5, 50))
	p := pairsOf("x", row(arm(1, 0.1, 0.4, 47), arm(2, 0.2, 0.9, 91), arm(3, 0.31, 0.1, 10), arm(4, 0.4, 0.1, 10)), old)
	if p.N != 2 || math.Abs(p.Test.Mean-1) > 1e-9 || math.Abs(p.Validation.Mean-5) > 1e-9 || p.Learnt.N != 1 || math.Abs(p.Learnt.Mean-3) > 1e-9 || p.Seconds != 20 || math.Abs(p.Least+1) > 1e-9 || math.Abs(p.Most-3) > 1e-9 {
		t.Errorf("%+v", p)
	}
	// The standard deviation of 3 and -1 is sqrt(8): (1.6449 * 2.8284)^2 = 21.6.
	if p.Needed != 22 {
		t.Errorf("%v pairs for an interval of +- 1, want 22", p.Needed)
	}
	if p.Both.N != 1 || math.Abs(p.Both.Mean-3) > 1e-9 || p.First != 0 || p.Second != 0 {
		t.Errorf("both have learnt: %+v; only the first %d, only the second %d", p.Both, p.First, p.Second)
	}
	if p.Best.N != 2 || math.Abs(p.Best.Mean-0.5) > 1e-9 {
		t.Errorf("the models of the best scores: %+v", p.Best)
	}
	one := pairsOf("x", row(arm(1, 0.1, 0.9, 85), arm(2, 0.2, 0.5, 60)), old)
	if one.Learnt.N != 2 || one.Both.N != 0 || one.First != 1 || one.Second != 1 {
		t.Errorf("one of both has learnt: %+v", one)
	}
	if p.decided() != "-" {
		t.Errorf("arms without an entropy have decided: %s", p.decided())
	}
	for _, c := range []struct {
		entropies [][]float64
		want      string
	}{
		{[][]float64{{3.3, 0.2, 0.09, 0.5}, {3.3, 3, 2, 1}}, "3, 1"}, // the lower of two in the middle
		{[][]float64{{3.3, 0.1, 0.2, 0.01}, {0.05, 0, 0, 0}}, "1, 0"},
		{[][]float64{{3.3, 1}, {3.3, 2}}, "never, 2"},
	} {
		fresh := row(arm(1, 0.1, 0.9, 85), arm(2, 0.2, 0.5, 60))
		for i, e := range c.entropies {
			fresh.metrics[i].Trials[0].Entropy = e
		}
		if p := pairsOf("x", fresh, old); p.decided() != c.want {
			t.Errorf("%v: %s, want %s", c.entropies, p.decided(), c.want)
		}
	}
	whole := row(arm(1, 0.1, 0.4, 47))
	whole.Target = "" // a method beside another one
	if p := pairsOf("x", whole, old); p.N != 0 {
		t.Errorf("%d pairs of methods that are compared as wholes", p.N)
	}
}
