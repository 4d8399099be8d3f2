package fedex

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// online is the setting of Theorem 4.1 (Khodak et al. 2021) on W = [-1, 1]: one client per
// round has m losses |w - z_i| with z_i about a center of its own; centers are close to
// each other. Hence D = 2, G = 1 and b = 2.
type online struct {
	m       int
	centers float64 // half the range of the centers around 0.6
	noise   float64 // half the range of z_i around a center
}

// regret runs online gradient descent with step size c from w over the losses of a task,
// and returns what it loses to the best fixed point, and what it loses to w.
func regret(z []float64, w, c float64) (toBest, toStart, best float64) {
	sorted := slices.Sorted(slices.Values(z))
	best = sorted[len(sorted)/2]
	at := w
	for _, z := range z {
		toBest += math.Abs(at-z) - math.Abs(best-z)
		toStart += math.Abs(at-z) - math.Abs(w-z)
		if at > z {
			at -= c
		} else if at < z {
			at += c
		}
		at = min(max(at, -1), 1)
	}
	return toBest, toStart, best
}

// average plays tau tasks with FedEx over k step sizes c_j = D/(G j sqrt m), as the theorem
// says, and returns the regret per task, that of each step size alone on the same tasks,
// and the theorem's bound, in the form in which the proof still has its constants (the
// fourth and fifth line): with eta as the theorem sets it,
//
//	2mb sqrt(k log k / tau) + min_j (D^2 (1 + log tau)/tau + V^2)/(2 c_j) + c_j m G^2
func (o online) average(t *testing.T, tau int, seed uint64) (mean float64, fixed []float64, bound float64) {
	t.Helper()
	const diameter, lipschitz, most = 2.0, 1.0, 2.0
	m := float64(o.m)
	k := max(2, int(math.Round(math.Pow(diameter*lipschitz/most*math.Sqrt(float64(tau)/(2*m)), 2.0/3))))
	steps := make([]float64, k)
	for j := range steps {
		steps[j] = diameter / (lipschitz * float64(j+1) * math.Sqrt(m))
	}
	eta := math.Sqrt(math.Log(float64(k))/(float64(k)*float64(tau))) / (m * most)
	random := rand.New(rand.NewPCG(seed, 1))
	s := uniform(k, 0)
	fixed = make([]float64, k)
	w, sum, squares := 0.0, 0.0, 0.0 // of the optima
	z := make([]float64, o.m)
	for round := 1; round <= tau; round++ {
		center := 0.6 + o.centers*(2*random.Float64()-1)
		for i := range z {
			z[i] = center + o.noise*(2*random.Float64()-1)
		}
		drawn, u := 0, random.Float64()
		for theta := s.theta(); drawn < k-1 && u >= theta[drawn]; drawn++ {
			u -= theta[drawn]
		}
		loses, score, best := regret(z, w, steps[drawn])
		mean += loses / float64(tau)
		for j, c := range steps {
			alone, _, _ := regret(z, w, c)
			fixed[j] += alone / float64(tau)
		}
		if err := s.step([]outcome{{config: drawn, theta: s.theta()[drawn], score: score, weight: 1}}, 0, 0, eta, 0,
			Constant); err != nil {
			t.Fatal(err)
		}
		sum, squares = sum+best, squares+best*best
		w += (best - w) / float64(round) // Agg_b with alpha_t = 1/t
	}
	n := float64(tau)
	variance := squares/n - sum/n*sum/n // V^2
	bound = math.Inf(1)
	for _, c := range steps {
		bound = min(bound, (diameter*diameter*(1+math.Log(n))/n+variance)/(2*c)+c*m*lipschitz*lipschitz)
	}
	return mean, fixed, bound + 2*m*most*math.Sqrt(float64(k)*math.Log(float64(k))/n)
}

// TestRegretOfTheorem41 plays the theorem's setting: the regret stays below its bound at
// each number of tasks and falls with it, and is in the end closer to that of the best
// step size than to that of a step size drawn at random.
func TestRegretOfTheorem41(t *testing.T) {
	o := online{m: 8, centers: 0.1, noise: 0.05}
	last := math.Inf(1)
	for _, tau := range []int{1 << 6, 1 << 10, 1 << 14} {
		mean, bound, seeds := 0.0, 0.0, 5
		var best, drawn float64
		for seed := range seeds {
			got, fixed, most := o.average(t, tau, uint64(seed))
			mean += got / float64(seeds)
			bound += most / float64(seeds)
			best += slices.Min(fixed) / float64(seeds)
			for _, f := range fixed {
				drawn += f / float64(len(fixed)*seeds)
			}
		}
		t.Logf("tau %d: regret %.4f, bound %.4f, the best step size alone %.4f, one drawn at random %.4f", tau, mean, bound,
			best, drawn)
		if mean > bound || mean >= last {
			t.Errorf("tau %d: the regret is %v, the bound %v, the regret before %v", tau, mean, bound, last)
		}
		if last = mean; tau == 1<<14 && mean > (best+drawn)/2 {
			t.Errorf("tau %d: the regret %v is closer to %v, that of a step size drawn at random, than to %v, that of the best one", tau, mean, drawn, best)
		}
	}
}
