package gp_test

import (
	"math"
	"testing"

	"github.com/fedfast/fedfast/internal/tuner/internal/gp"
	"github.com/fedfast/fedfast/tuners"
)

var (
	points   = [][]float64{{0.1, 0.9}, {0.4, 0.2}, {0.8, 0.5}}
	outcomes = []float64{3, -1, 4}
	hyper    = gp.Hyper{Lengths: []float64{0.5, 0.8}, Noise: 0.01}
)

// matern is the kernel as the textbook prints it.
func matern(a, b []float64) float64 {
	r2 := 0.0
	for i, l := range hyper.Lengths {
		r2 += (a[i] - b[i]) * (a[i] - b[i]) / (l * l)
	}
	r := math.Sqrt(r2)
	return (1 + math.Sqrt(5)*r + 5*r2/3) * math.Exp(-math.Sqrt(5)*r)
}

// covariance is K + noise of the three points, with its inverse by cofactors and
// its determinant.
func covariance() (inverse [3][3]float64, det float64) {
	var c [3][3]float64
	for i := range c {
		for j := range c {
			c[i][j] = matern(points[i], points[j])
		}
		c[i][i] += hyper.Noise
	}
	cofactor := func(i, j int) float64 {
		a, b, d, e := (i+1)%3, (i+2)%3, (j+1)%3, (j+2)%3
		return c[a][d]*c[b][e] - c[a][e]*c[b][d]
	}
	for j := range c {
		det += c[0][j] * cofactor(0, j)
	}
	for i := range c {
		for j := range c {
			inverse[i][j] = cofactor(j, i) / det
		}
	}
	return inverse, det
}

// standard returns the standardised outcomes with mean and deviation.
func standard() (z [3]float64, mean, deviation float64) {
	mean = (3 - 1 + 4) / 3.0
	deviation = math.Sqrt((1 + 9 + 4) / 3.0)
	for i, y := range outcomes {
		z[i] = (y - mean) / deviation
	}
	return z, mean, deviation
}

func TestPosteriorAgainstTheDenseFormula(t *testing.T) {
	p, err := gp.New(hyper, points, outcomes)
	if err != nil {
		t.Fatal(err)
	}
	inverse, _ := covariance()
	z, mean, deviation := standard()
	for _, x := range [][]float64{{0.1, 0.9}, {0.5, 0.5}, {0, 0}, {1, 1}, {-3, 9}} {
		wantMean, wantVariance := 0.0, 1.0
		for i := range points {
			for j := range points {
				wantMean += matern(x, points[i]) * inverse[i][j] * z[j]
				wantVariance -= matern(x, points[i]) * inverse[i][j] * matern(x, points[j])
			}
		}
		wantMean, wantDeviation := mean+deviation*wantMean, deviation*math.Sqrt(wantVariance)
		gotMean, gotDeviation := p.Predict(x)
		if math.Abs(gotMean-wantMean) > 1e-12 || math.Abs(gotDeviation-wantDeviation) > 1e-12 {
			t.Errorf("at %v: %v +- %v, want %v +- %v", x, gotMean, gotDeviation, wantMean, wantDeviation)
		}
	}
}

func TestLikelihoodAgainstTheDenseFormula(t *testing.T) {
	inverse, det := covariance()
	z, _, _ := standard()
	want := -math.Log(det)/2 - 1.5*math.Log(2*math.Pi)
	for i := range z {
		for j := range z {
			want -= z[i] * inverse[i][j] * z[j] / 2
		}
	}
	got, gradient := gp.LogLikelihood(hyper, points, outcomes)
	if math.Abs(got-want) > 1e-12 {
		t.Errorf("%v, want %v", got, want)
	}
	for f := range gradient {
		at := func(step float64) float64 {
			h := gp.Hyper{Lengths: append([]float64(nil), hyper.Lengths...), Noise: hyper.Noise}
			if f < len(h.Lengths) {
				h.Lengths[f] *= math.Exp(step)
			} else {
				h.Noise *= math.Exp(step)
			}
			v, _ := gp.LogLikelihood(h, points, outcomes)
			return v
		}
		const step = 1e-5
		if want := (at(step) - at(-step)) / (2 * step); math.Abs(gradient[f]-want) > 1e-8 {
			t.Errorf("gradient %d is %v, differences say %v", f, gradient[f], want)
		}
	}
}

func TestWithAnExpectedOutcome(t *testing.T) {
	p, err := gp.New(hyper, points, outcomes)
	if err != nil {
		t.Fatal(err)
	}
	pending := []float64{0.6, 0.6}
	q, err := p.With(pending)
	if err != nil {
		t.Fatal(err)
	}
	for _, x := range [][]float64{{0.6, 0.6}, {0.5, 0.5}, {0.1, 0.9}} {
		before, wide := p.Predict(x)
		after, narrow := q.Predict(x)
		if math.Abs(before-after) > 1e-14 || !(narrow < wide) {
			t.Errorf("at %v: %v +- %v became %v +- %v", x, before, wide, after, narrow)
		}
	}
	if before, _ := p.Predict(pending); before == 0 {
		t.Error("the expected outcome is 0, which tests little")
	}
}

// sample draws n points of the unit square and a function that hardly depends on
// the second feature, plus noise.
func sample(n int) (x [][]float64, y []float64) {
	d := tuners.NewDraws(4, 0, 0, "sample")
	for range n {
		p := []float64{d.Float64(), d.Float64()}
		x = append(x, p)
		y = append(y, 50+10*math.Sin(6*p[0])+0.5*(d.Float64()+d.Float64()-1))
	}
	return x, y
}

func TestFitFindsWhatMatters(t *testing.T) {
	x, y := sample(40)
	h := gp.Fit(x, y, 100)
	t.Logf("length scales %v, noise %v", h.Lengths, h.Noise)
	if h.Lengths[1] < 5*h.Lengths[0] {
		t.Errorf("length scales %v: the second feature should not matter", h.Lengths)
	}
	if h.Noise > 0.05 {
		t.Errorf("noise %v of a variance of 1", h.Noise)
	}
	top, _ := gp.LogLikelihood(h, x, y)
	for _, other := range []gp.Hyper{
		{Lengths: []float64{0.5, 0.5}, Noise: 1e-2},
		{Lengths: []float64{0.3, 10}, Noise: 1e-3},
		{Lengths: []float64{h.Lengths[0] * 1.3, h.Lengths[1]}, Noise: h.Noise},
		{Lengths: h.Lengths, Noise: h.Noise * 1.5},
		{Lengths: h.Lengths, Noise: h.Noise / 1.5},
	} {
		if v, _ := gp.LogLikelihood(other, x, y); v > top {
			t.Errorf("%+v is likelier: %v, found %v", other, v, top)
		}
	}
	p, err := gp.New(h, x, y)
	if err != nil {
		t.Fatal(err)
	}
	for _, at := range []float64{0.2, 0.5, 0.9} {
		mean, deviation := p.Predict([]float64{at, 0.5})
		if want := 50 + 10*math.Sin(6*at); math.Abs(mean-want) > 0.5 || deviation > 1 {
			t.Errorf("at %v: %v +- %v, want %v", at, mean, deviation, want)
		}
	}
}

func TestFitOfLittle(t *testing.T) {
	for name, c := range map[string]struct {
		x [][]float64
		y []float64
	}{
		"one point":        {[][]float64{{0.5}}, []float64{2}},
		"equal outcomes":   {[][]float64{{0.5}, {0.6}, {0.7}}, []float64{2, 2, 2}},
		"one place":        {[][]float64{{0.5}, {0.5}, {0.5}}, []float64{1, 2, 3}},
		"no features":      {[][]float64{{}, {}}, []float64{1, 2}},
		"a huge outcome":   {[][]float64{{0.1}, {0.5}, {0.9}}, []float64{1, 1e300, 2}},
		"far from nought":  {[][]float64{{0.1}, {0.5}, {0.9}}, []float64{1e9, 1e9 + 1, 1e9 + 3}},
		"many repetitions": {make([][]float64, 60), make([]float64, 60)},
	} {
		if name == "many repetitions" {
			for i := range c.x {
				c.x[i], c.y[i] = []float64{float64(i % 3)}, float64(i%2)
			}
		}
		p, err := gp.New(gp.Fit(c.x, c.y, 50), c.x, c.y)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		mean, deviation := p.Predict(c.x[0])
		if math.IsNaN(mean) || math.IsNaN(deviation) || math.IsInf(mean, 0) || math.IsInf(deviation, 0) {
			t.Errorf("%s: %v +- %v", name, mean, deviation)
		}
	}
	if _, err := gp.New(hyper, points, []float64{1, math.NaN(), 2}); err == nil {
		t.Error("an outcome that is no number was taken")
	}
	if _, err := gp.New(gp.Hyper{Lengths: []float64{1}, Noise: 0}, [][]float64{{1}, {1}}, []float64{1, 2}); err == nil {
		t.Error("a singular covariance was taken")
	}
}

// TestBits pins bits of the posterior and of the expected improvement, so that a
// CPU or a compiler that rounds otherwise is found.
func TestBits(t *testing.T) {
	x, y := sample(30)
	for i := range y { // without package math's functions
		y[i] = float64(x[i][0]*x[i][0]) + float64(x[i][1]*0.25)
	}
	p, err := gp.New(gp.Hyper{Lengths: []float64{0.4, 0.9}, Noise: 1e-3}, x, y)
	if err != nil {
		t.Fatal(err)
	}
	h := uint64(0)
	for i := range 200 {
		mean, deviation := p.Predict([]float64{float64(i%17) / 16, float64(i%13) / 12})
		for _, v := range []float64{mean, deviation, gp.ExpectedImprovement(mean, deviation, float64(i)/200)} {
			h = h*0x9e3779b97f4a7c15 + math.Float64bits(v)
		}
	}
	if want := uint64(0x377634ae9f9f7927); h != want {
		t.Errorf("the bits changed: got %#x, want %#x", h, want)
	}
}

func BenchmarkFit(b *testing.B) {
	for _, n := range []int{20, 100, 300} {
		x, y := sample(n)
		for i := range x {
			for range 10 {
				x[i] = append(x[i], float64(i*len(x[i])%7)/7)
			}
		}
		b.Run(map[int]string{20: "n=20", 100: "n=100", 300: "n=300"}[n], func(b *testing.B) {
			for b.Loop() {
				gp.LogLikelihood(gp.Hyper{Lengths: []float64{1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1}, Noise: 0.01}, x, y)
			}
		})
	}
}
