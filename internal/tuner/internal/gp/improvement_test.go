package gp_test

import (
	"math"
	"testing"

	"github.com/fedfast/fedfast/internal/tuner/internal/gp"
)

func TestNormalAgainstMath(t *testing.T) {
	worst := 0.0
	for i := range 80001 {
		z := -37 + float64(i)*45/80000
		want := math.Erfc(-z/math.Sqrt2) / 2
		worst = max(worst, math.Abs(gp.NormalCDF(z)-want)/want)
		if want := math.Exp(-z*z/2) / math.Sqrt(2*math.Pi); math.Abs(gp.NormalPDF(z)-want) > 1e-12*want {
			t.Fatalf("the density at %v is %v, want %v", z, gp.NormalPDF(z), want)
		}
	}
	t.Logf("worst relative error of the distribution function: %.2g", worst)
	if worst > 1e-12 {
		t.Errorf("the distribution function is %.2g from its value, want at most 1e-12", worst)
	}
	for _, c := range [][2]float64{{0, 0.5}, {math.Inf(-1), 0}, {math.Inf(1), 1}} {
		if got := gp.NormalCDF(c[0]); got != c[1] {
			t.Errorf("cdf(%v) = %v, want %v", c[0], got, c[1])
		}
	}
	if got := gp.NormalCDF(math.NaN()); got == got {
		t.Errorf("cdf(NaN) = %v", got)
	}
}

// integral is E[max(best - f, 0)] by Simpson's rule, in the variable u = (best - f)
// / deviation >= 0.
func integral(mean, deviation, best float64) float64 {
	z := (best - mean) / deviation
	lo, hi := max(0, z-12), max(0, z)+12
	const steps = 20000
	h, sum := (hi-lo)/steps, 0.0
	for i := range steps + 1 {
		u := lo + float64(i)*h
		weight := 4.0
		if i == 0 || i == steps {
			weight = 1
		} else if i%2 == 0 {
			weight = 2
		}
		sum += weight * u * math.Exp(-(u-z)*(u-z)/2)
	}
	return deviation * sum * h / 3 / math.Sqrt(2*math.Pi)
}

func TestImprovementAgainstAnIntegral(t *testing.T) {
	for _, deviation := range []float64{1e-3, 1, 250} {
		for z := -20.0; z <= 8; z += 0.25 {
			best := 3.0
			mean := best - z*deviation
			got, want := gp.ExpectedImprovement(mean, deviation, best), integral(mean, deviation, best)
			if math.Abs(got-want) > 1e-9*want {
				t.Errorf("mean %v, deviation %v, best %v: %v, the integral is %v", mean, deviation, best, got, want)
			}
		}
	}
	if got := gp.ExpectedImprovement(2, 0, 3); got != 1 {
		t.Errorf("a certain improvement of 1: %v", got)
	}
	if got := gp.ExpectedImprovement(4, 0, 3); got != 0 {
		t.Errorf("a certain loss: %v", got)
	}
	if got := gp.ExpectedImprovement(100, 1, 3); got < 0 || got > 1e-300 {
		t.Errorf("far from any improvement: %v", got)
	}
}
