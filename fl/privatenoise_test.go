package fl

import (
	"math"
	"slices"
	"testing"

	"github.com/fedfast/fedfast/internal/test/fltest"
	"github.com/fedfast/fedfast/kernels"
)

// silent is a method whose clients send nothing, client 0 what is not finite.
func silent(got *[]float32) Method {
	m := sending(got)
	m.Local = func(l *Local) error {
		l.Upload = l.Vector(0)
		clear(l.Upload)
		if l.Client == 0 {
			l.Upload[0] = float32(math.NaN())
		}
		return nil
	}
	return m
}

// distance returns that of Kolmogorov and Smirnov of numbers from the normal distribution with
// a deviation, over its limit for p = 0.001.
func distance(x []float64, deviation float64) float64 {
	slices.Sort(x)
	worst, n := 0.0, float64(len(x))
	for i, v := range x {
		p := math.Erfc(-v/(deviation*math.Sqrt2)) / 2
		worst = max(worst, p-float64(i)/n, float64(i+1)/n-p)
	}
	return worst / (1.95 / math.Sqrt(n))
}

// correlation returns that of two vectors without means, in standard deviations of what
// independent ones have.
func correlation(a, b []float64) float64 {
	var ab, aa, bb float64
	for i := range a {
		ab, aa, bb = ab+a[i]*b[i], aa+a[i]*a[i], bb+b[i]*b[i]
	}
	return ab / math.Sqrt(aa*bb) * math.Sqrt(float64(len(a)))
}

// treeVariance returns the variance of the sum of the first rounds of a tree, over that of a
// node: of one estimate for each bit of their number, by Honaker 1, 2/3, 4/7, ... from the leaves
// up, since a node and two halves of variance v have their best estimate of it with 2v/(1+2v).
func treeVariance(rounds int) (sum float64) {
	of := []float64{1, 2.0 / 3, 4.0 / 7, 8.0 / 15}
	for level, v := range of {
		if rounds>>level&1 == 1 {
			sum += v
		}
	}
	return sum
}

// TestTreeNoise has the noise on the sums of all rounds so far the variance of the estimates of
// which they are made; and each pass adds to what the passes before have left.
func TestTreeNoise(t *testing.T) {
	t.Parallel()
	all := fltest.OpenGlyphs(t, 40, 30)
	fed := *all
	fed.Clients = all.Clients[:29]
	var got []float32
	const clip, noise, cohort, rounds = 0.5, 3, 4, 7 // of a tree
	e := newEngine(t, Config{
		Model: fltest.SmallTransformer(t, &fed), Data: &fed, Method: silent(&got), Cohort: cohort, Shuffle: true, Seed: 2,
		Privacy: &Privacy{Mechanism: TreeNoise, Clip: clip, Noise: noise},
	})
	tr, places := e.NewTrial(3), e.places()
	sum := make([]float64, len(places))
	var before []float64 // after the first pass
	after := map[int][]float64{}
	for round := range 2*rounds - 1 {
		runRounds(t, tr, Plan{}, 1)
		for i, at := range places {
			sum[i] += float64(got[at]) * cohort
		}
		of := slices.Clone(sum)
		step := round%rounds + 1
		variance := treeVariance(step)
		if round >= rounds {
			variance += treeVariance(rounds)
		}
		if d := distance(slices.Clone(of), clip*noise*math.Sqrt(variance)); d > 1 {
			t.Errorf("round %d: the noise on the sums has no variance of %v: %v times the distance", round, variance, d)
		}
		if round < rounds {
			after[step] = of
			before = of
		} else {
			for i := range of {
				of[i] -= before[i]
			}
			if c := correlation(of, after[step]); math.Abs(c) > 5 {
				t.Errorf("round %d: the noise of two trees has a correlation of %v", round, c)
			}
		}
	}
	for i := range after[6] {
		after[6][i] -= after[4][i] // a node of the rounds 5 and 6
		after[7][i] -= after[4][i]
	}
	if a, b := correlation(after[6], after[4]),
		correlation(after[7], after[6])/math.Sqrt(float64(len(places))); math.Abs(a) > 5 ||
		math.Abs(b-math.Sqrt(0.4)) > 0.05 {
		t.Errorf("neighboring nodes have a correlation of %v deviations, sums that share one of two %v", a, b)
	}
}

// TestLocalNoise has every client add noise of its own to what it sends, clipped, also one
// that has nothing to send.
func TestLocalNoise(t *testing.T) {
	t.Parallel()
	fed := fltest.OpenGlyphs(t, 9, 30)
	model := fltest.SmallTransformer(t, fed)
	var got []float32
	const clip, noise = 0.5, 3
	n := len(fed.Clients)
	for _, method := range []Method{silent(&got), sending(&got)} {
		cfg := Config{
			Model: model, Data: fed, Method: method, Cohort: n, Seed: 2,
			Privacy: &Privacy{Mechanism: LocalNoise, Clip: clip, Noise: noise},
		}
		e := newEngine(t, cfg)
		cfg.Privacy = &Privacy{Mechanism: LocalNoise, Clip: clip}
		quiet := newEngine(t, cfg)
		var last []float64
		for round := range 3 {
			tr := e.NewTrial(round)
			dropped := runRounds(t, tr, Plan{}, 1)[0].Dropped
			noisy := slices.Clone(got)
			runRounds(t, quiet.NewTrial(round), Plan{}, 1)
			if norm := kernels.Norm(got) * float64(n); dropped == 0 &&
				!(norm > 0 && norm <= clip*float64(n)) || dropped > 0 && norm != 0 {
				t.Errorf("clients send %v together, where each is clipped to %v", norm, clip)
			}
			var draws []float64
			for _, at := range e.places() {
				draws = append(draws, float64(noisy[at]-got[at])*float64(n))
			}
			if last != nil && math.Abs(correlation(draws, last)) > 5 {
				t.Errorf("trials share noise")
			}
			if last = slices.Clone(draws); distance(draws, clip*noise*math.Sqrt(float64(n))) > 1 {
				t.Errorf("%d clients of %d dropped: the sum has other noise than each of them adds", dropped, n)
			}
		}
	}
}

// TestShuffle draws every client once in a pass, in another order in each.
func TestShuffle(t *testing.T) {
	t.Parallel()
	c := &Config{Cohort: 4, Shuffle: true, Seed: 7}
	const clients = 23
	left := map[int]bool{}
	var first []int
	for pass := range 20 {
		seen := map[int]bool{}
		var order []int
		for round := range clients / 4 {
			cohort := c.cohort(clients, 1, pass*(clients/4)+round, anyone)
			if order = append(order, cohort...); len(cohort) != 4 {
				t.Fatalf("a cohort of %d clients", len(cohort))
			}
		}
		for _, client := range order {
			if seen[client] || client < 0 || client >= clients {
				t.Fatalf("pass %d: client %d is drawn twice, or does not exist", pass, client)
			}
			seen[client] = true
		}
		for client := range clients {
			if !seen[client] {
				left[client] = true
			}
		}
		if pass == 0 {
			first = order
		} else if slices.Equal(order, first) {
			t.Errorf("pass %d has the order of the first", pass)
		}
	}
	if len(left) < 10 {
		t.Errorf("only %d clients were ever left out", len(left))
	}
	// A client is drawn at most once in each pass that began.
	for rounds, most := range c.MostTaken(clients, 1, 30) {
		if want := (rounds + 4) / 5; most != want {
			t.Errorf("after %d rounds some client took part %d times, want %d", rounds, most, want)
		}
	}
}

// TestMostTaken counts cohorts of trials as they are trained.
func TestMostTaken(t *testing.T) {
	t.Parallel()
	fed := fltest.OpenGlyphs(t, 12, 30)
	var got []float32
	for _, c := range []Config{{Poisson: true}, {}, {Replacement: true}, {Shuffle: true}} {
		c.Model, c.Data, c.Method, c.Cohort, c.Seed = fltest.SmallCNN(t, fed), fed, silent(&got), 3, 4
		tr := newEngine(t, c).NewTrial(5)
		clients := len(fed.Clients)
		most := c.MostTaken(clients, 5, 12)
		taken := make([]int, clients)
		for round, r := range runRounds(t, tr, Plan{}, 12) {
			for i := range r.Slots {
				taken[r.Slots[i].Client]++
			}
			if want := slices.Max(taken); most[round+1] != want || most[0] != 0 {
				t.Errorf("%+v: after round %d a client took part %d times, not %d", c.Shuffle, round, want, most[round+1])
			}
		}
	}
}
