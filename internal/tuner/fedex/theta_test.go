package fedex

import (
	"math"
	"testing"

	"github.com/fedfast/fedfast/tuners"
)

func near(t *testing.T, what string, got, want float64) {
	t.Helper()
	if math.Abs(got-want) > 1e-12*math.Max(1, math.Abs(want)) {
		t.Errorf("%s: got %v, want %v", what, got, want)
	}
}

// drawn are outcomes of slots that were drawn from the theta of a state.
func drawn(s *state, round []outcome) []outcome {
	for i := range round {
		round[i].theta = s.theta()[round[i].config]
	}
	return round
}

// TestStepByHand works METHODS section 4 out for k = 2, two clients with q = (1/4,
// 3/4), errors (0.2, 0.6), configurations 0 and 1: grad = (0.25*0.2/0.5,
// 0.75*0.6/0.5) = (0.1, 0.9) in the first round, where lambda = 0.
func TestStepByHand(t *testing.T) {
	eta := math.Sqrt(2 * math.Ln2)
	round := []outcome{{config: 0, score: 0.2, weight: 0.25}, {config: 1, score: 0.6, weight: 0.75}}
	for _, c := range []struct {
		schedule string
		denom    float64
	}{{Aggressive, 0.9}, {Adaptive, 0.9}, {Auto, 1}, {Constant, 1}} {
		s := uniform(2, 0)
		near(t, "z_0", s.Z[0], -math.Ln2)
		near(t, "lambda before the first round", s.baseline(), 0)
		if err := s.step(drawn(&s, round), s.baseline(), 0.5, eta, 0, c.schedule); err != nil {
			t.Fatal(err)
		}
		// theta_0 / theta_1 = exp(eta (0.9 - 0.1) / denom)
		odds := math.Exp(eta * 0.8 / c.denom)
		near(t, c.schedule+": theta_0", s.theta()[0], odds/(1+odds))
		near(t, c.schedule+": sum of theta", s.theta()[0]+s.theta()[1], 1)
		near(t, c.schedule+": lambda", s.baseline(), 0.25*0.2+0.75*0.6)

		// The second round: one client with configuration 0 and error 0.3: grad_0 =
		// (0.3 - 0.5)/theta_0 < 0 raises theta_0.
		theta := s.theta()
		grad := (0.3 - 0.5) / theta[0]
		if err := s.step(drawn(&s, []outcome{{config: 0, score: 0.3, weight: 1}}), s.baseline(), 0.5, eta, 0,
			c.schedule); err != nil {
			t.Fatal(err)
		}
		denom := map[string]float64{
			Aggressive: -grad, Adaptive: math.Sqrt(0.81 + grad*grad), Auto: math.Sqrt2, Constant: 1,
		}[c.schedule]
		odds *= math.Exp(-eta * grad / denom)
		near(t, c.schedule+": theta_0 after two rounds", s.theta()[0], odds/(1+odds))
		near(t, c.schedule+": lambda after two rounds", s.baseline(), (0.3+0.5*0.5)/(1+0.5))
	}
}

// TestNoiseByHand: errors of 0.2 and 0.6 with q = (1/4, 3/4) have a mean of 0.5, so that q d is (-0.075, 0.075). In the second
// round configuration 0 alone has 0.3 and 0.5 with q = 1/2 each, q d = (-0.05, 0.05), in the third q d is (-0.05, 0.05).
func TestNoiseByHand(t *testing.T) {
	s := uniform(3, 0)
	step := func(round ...outcome) {
		t.Helper()
		if err := s.step(drawn(&s, round), 0.9, 0.5, 2, 0, Noise); err != nil {
			t.Fatal(err)
		}
	}
	step(outcome{config: 0, score: 0.2, weight: 0.25}, outcome{config: 1, score: 0.6, weight: 0.75})
	near(t, "odds after a round", s.theta()[0]/s.theta()[1], math.Exp(2*2))
	step(outcome{config: 0, score: 0.3, weight: 0.5}, outcome{config: 0, score: 0.5, weight: 0.5})
	step(outcome{config: 0, score: 0.5, weight: 0.5}, outcome{config: 1, score: 0.7, weight: 0.5})
	near(t, "odds after three", s.theta()[0]/s.theta()[1],
		math.Exp(2*(0.125/math.Sqrt(0.075*0.075+3*0.05*0.05)+0.125/math.Sqrt(0.075*0.075+0.05*0.05))))
	near(t, "odds of one without a score", s.theta()[0]/s.theta()[2], math.Exp(2*0.125/math.Sqrt(0.075*0.075+3*0.05*0.05)))
}

// TestNoiseAloneDecidesNothing plays 400 rounds of ten clients with 27 configurations that are alike, and with one that is better by the
// scores' standard deviation: only then does it get a probability above 0.9. The paper's schedule decides on nothing, too.
func TestNoiseAloneDecidesNothing(t *testing.T) {
	const seeds = 20
	play := func(schedule string, gain float64) (decided int) {
		for seed := range uint64(seeds) {
			s := uniform(27, 0)
			eta := map[string]float64{Noise: 1, Aggressive: math.Sqrt(2 * math.Log(27))}[schedule]
			top := 0.0
			for round := range 400 {
				draws := tuners.NewDraws(seed, 0, round, "null")
				var scores []outcome
				for range 10 {
					o := outcome{config: draws.Pick(s.theta()), weight: 0.1, score: 0.5 + 0.1*math.Sqrt(12)*(draws.Float64()-0.5)}
					if o.config == 5 {
						o.score -= 0.1 * gain
					}
					scores = append(scores, o)
				}
				if err := s.step(drawn(&s, scores), s.baseline(), 0.9, eta, 0, schedule); err != nil {
					t.Fatal(err)
				}
				top = max(top, s.theta()[s.best()])
			}
			if top > 0.9 {
				decided++
			}
		}
		t.Logf("%s, gain %v: %d of %d decide", schedule, gain, decided, seeds)
		return decided
	}
	if n := play(Noise, 0); n > 0 {
		t.Errorf("noise decides on nothing in %d of %d", n, seeds)
	}
	if n := play(Noise, 1); n < seeds-2 {
		t.Errorf("noise finds a configuration better by a standard deviation in %d of %d", n, seeds)
	}
	if n := play(Aggressive, 0); n < seeds-1 {
		t.Errorf("the paper's schedule decides on nothing in %d of %d", n, seeds)
	}
}

func TestBaselineDiscounts(t *testing.T) {
	for gamma, want := range map[float64]float64{
		0:   0.9, // the newest
		1:   (0.1 + 0.5 + 0.9) / 3,
		0.5: (0.25*0.1 + 0.5*0.5 + 0.9) / 1.75,
	} {
		s := uniform(1, 0)
		for _, e := range []float64{0.1, 0.5, 0.9} {
			if err := s.step(drawn(&s, []outcome{{score: e, weight: 1}}), s.baseline(), gamma, 0, 0, Aggressive); err != nil {
				t.Fatal(err)
			}
		}
		near(t, "lambda", s.baseline(), want)
	}
}

func TestZeroGradientMovesNothing(t *testing.T) {
	for _, schedule := range []string{Aggressive, Adaptive, Auto, Constant, Noise} {
		s := uniform(3, 0)
		if err := s.step(drawn(&s, []outcome{{config: 1, score: 0, weight: 1}}), s.baseline(), 0, 1, 0,
			schedule); err != nil {
			t.Fatal(err)
		}
		for j, p := range s.theta() {
			near(t, schedule, p, 1.0/3)
			if math.IsNaN(s.Z[j]) {
				t.Errorf("%s: NaN", schedule)
			}
		}
	}
}

func TestEntropyAndLatch(t *testing.T) {
	s := uniform(27, 0)
	near(t, "entropy of 27", s.entropy(), math.Log(27))
	s = state{Z: []float64{math.Log(0.9), math.Log(0.1), -1e9}}
	near(t, "entropy of (0.9, 0.1, 0)", s.entropy(), -0.9*math.Log(0.9)-0.1*math.Log(0.1))
	bad := []outcome{{config: 1, score: 1, weight: 1}}
	if err := s.step(drawn(&s, bad), s.baseline(), 0, 1, 0.3, Constant); err != nil { // grad_1 = 10: theta_1 falls to about 5e-6
		t.Fatal(err)
	}
	if !s.Latched || s.best() != 0 {
		t.Fatalf("entropy %v < 0.3, but it is not latched on 0: %+v", s.entropy(), s)
	}
	before := append([]float64(nil), s.Z...)
	if err := s.step(drawn(&s, []outcome{{config: 0, score: 1, weight: 1}}), s.baseline(), 0, 1, 0.3,
		Constant); err != nil {
		t.Fatal(err)
	}
	for j := range before {
		if s.Z[j] != before[j] {
			t.Error("a latched state moved")
		}
	}
}

func TestThetaThatIsNotFiniteIsAnError(t *testing.T) {
	s := uniform(2, 0)
	if err := s.step(drawn(&s, []outcome{{config: 0, score: 1e308, weight: 1}, {config: 1, score: 1e308, weight: 1}}),
		s.baseline(), 0, 1e10, 0, Constant); err == nil {
		t.Errorf("z = %v passed", s.Z)
	}
}
