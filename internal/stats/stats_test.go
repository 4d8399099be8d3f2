package stats

import (
	"math"
	"testing"
)

// TestIntervals compares with FedEx's Table 2, which prints 90 % Student-t
// intervals of the standard deviations in Table 1.
func TestIntervals(t *testing.T) {
	for _, c := range []struct {
		n        int
		sd, half float64
	}{{5, 10.03, 9.56}, {5, 17.57, 16.75}, {5, 1.68, 1.60}, {10, 4.56, 2.64}, {10, 1.31, 0.76}} {
		// n numbers of that standard deviation: one at each side of the mean and
		// the others on it.
		xs := make([]float64, c.n)
		xs[0] = c.sd * math.Sqrt(float64(c.n-1)/2)
		xs[1] = -xs[0]
		s := Of(xs)
		if math.Abs(s.SD-c.sd) > 1e-9 || math.Abs(s.Half-c.half) > 0.006 {
			t.Errorf("n = %d, sd %v: %+v, want %v", c.n, c.sd, s, c.half)
		}
	}
	if s := Of(nil); s.N != 0 || !math.IsNaN(s.Mean) {
		t.Errorf("of nothing: %+v", s)
	}
}

// TestClusteredIntervals compares groups of one size with the interval of their
// means, and groups of one number with that of the numbers.
func TestClusteredIntervals(t *testing.T) {
	means := Of([]float64{1, 4, 2.5})
	got := Clustered(map[int][]float64{1: {0, 2}, 2: {4.5, 3.5}, 7: {2, 3}})
	if got.N != 6 || got.Clusters != 3 || math.Abs(got.Mean-means.Mean) > 1e-12 || math.Abs(got.Half-means.Half) > 1e-12 {
		t.Errorf("%+v, want the interval of the means, %+v", got, means)
	}
	alone, want := Clustered(map[int][]float64{1: {1}, 2: {4}, 3: {9}, 4: {2}}), Of([]float64{1, 4, 9, 2})
	if math.Abs(alone.Half-want.Half) > 1e-12 || alone.SD != want.SD {
		t.Errorf("%+v, want %+v", alone, want)
	}
	if one := Clustered(map[int][]float64{3: {1, 2, 3}}); !math.IsNaN(one.Half) || one.N != 3 {
		t.Errorf("an interval from one group: %+v", one)
	}
}

// TestSeedsToTell compares with (1.645 + 0.842)^2 sd^2 / gain^2, rounded up.
func TestSeedsToTell(t *testing.T) {
	for _, c := range []struct{ sd, gain, want float64 }{{5.69, 3, 23}, {8.63, 3, 52}, {5.69, -1, 201}, {8.63, 1, 461}} {
		if got := (Sample{SD: c.sd}).SeedsToTell(c.gain); got != c.want {
			t.Errorf("sd %v, gain %v: %v trials, want %v", c.sd, c.gain, got, c.want)
		}
	}
	for _, s := range []Sample{{SD: math.NaN()}, {SD: 0}} {
		if got := s.SeedsToTell(1); !math.IsNaN(got) {
			t.Errorf("%+v: %v", s, got)
		}
	}
	if got := (Sample{SD: 1}).SeedsToTell(0); !math.IsNaN(got) {
		t.Errorf("a gain of nothing: %v", got)
	}
}

// TestPaired compares with scipy.stats.ttest_rel of SciPy 1.10, and with its quantile of Student's t.
func TestPaired(t *testing.T) {
	a := []float64{12.1, 14.0, 13.2, 15.5, 11.9}
	for _, c := range []struct {
		b             []float64
		mean, half, p float64
	}{
		{[]float64{13.0, 14.9, 13.1, 17.2, 13.4}, 0.98, 0.6687342048907317, 0.03538530988935108},
		{[]float64{10.2, 11.1, 12.5, 12.9, 10.0}, -2, 0.8089789741825938, 0.006210192438563},
		{[]float64{13.1, 15.0, 14.2, 16.5, 12.9}, 1, 0, 0},
		{a, 0, 0, 1},
	} {
		var d []float64
		for i := range a {
			d = append(d, c.b[i]-a[i])
		}
		s, p := Paired(d)
		if math.Abs(s.Mean-c.mean) > 1e-9 || math.Abs(s.Half-c.half) > 1e-8 || math.Abs(p-c.p) > 1e-9 {
			t.Errorf("%v: %+v, p %v", c, s, p)
		}
	}
	if s, p := Paired([]float64{1}); s.N != 1 || !math.IsNaN(p) {
		t.Errorf("of one pair: %+v, %v", s, p)
	}
}
