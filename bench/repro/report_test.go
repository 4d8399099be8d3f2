package repro

import (
	"math"
	"slices"
	"strings"
	"testing"
)

func TestVerdicts(t *testing.T) {
	row := func(values []float64, failed ...int) *Row {
		r := &Row{Values: values, Cell: Cell{Published: &Published{Mean: values[0]}}}
		for i := range values {
			r.Reached = append(r.Reached, !slices.Contains(failed, i))
		}
		return r
	}
	nan := math.NaN()
	for name, c := range map[string]struct {
		fresh, old *Row
		higher     bool
		holds      string
		order      string
		gain       float64
		n          int
		least      bool
		most       bool
	}{
		"yes": {
			row([]float64{10, 11, 12, 10, 12}), row([]float64{20, 21.5, 22, 20, 22}), false, "yes", "same", 10.1, 5,
			false, false,
		},
		"no": {
			row([]float64{20, 21.5, 22, 20, 22}), row([]float64{10, 11, 12, 10, 12}), false, "no, the opposite",
			"same", -10.1, 5, false, false,
		},
		"higher": {
			row([]float64{80, 82, 80, 82, 80}), row([]float64{70, 71, 70, 71, 70}), true, "yes", "same", 10.4, 5,
			false, false,
		},
		"chance": {
			row([]float64{1, 20, 3}), row([]float64{9, 9, 9}), false, "in the mean, not beyond chance", "same", 1, 3,
			false, false,
		},
		"few": {
			row([]float64{10, 11, 12}), row([]float64{20, 21, 22.5}), false,
			"in the mean, not beyond chance with 3 seeds", "same", 30.5 / 3, 3, false, false,
		},
		"one": {
			row([]float64{10, nan}), row([]float64{9, 3}), false,
			"cannot be said from one seed (it speaks against it)", "same", -1, 1, false, false,
		},
		"bound": {
			row([]float64{10, 10, 10, 10, 10}), row([]float64{400, 400, 400, 400, 400}, 1), false, "yes", "same",
			390, 5, true, false,
		},
		"missed": {
			row([]float64{400, 400}, 1), row([]float64{500, 500}), false,
			"cannot be said: not every seed reached the goal", "same", 100, 2, false, true,
		},
		"worse": {
			row([]float64{400, 400, 400, 400, 400}, 0, 1), row([]float64{10, 20, 10, 20, 15}), false,
			"no, the opposite", "same", -385, 5, false, true,
		},
		"both": {
			row([]float64{400, 30}, 0), row([]float64{20, 400}, 1), false,
			"cannot be said: not every seed reached the goal", "same", -5, 2, true, true,
		},
		"no goals": {
			row([]float64{400, 400}, 0, 1), row([]float64{400, 400}, 0, 1), false,
			"cannot be said: no seed reached the goal", "", nan, 0, false, false,
		},
	} {
		v := verdictOf(Comparison{Higher: c.higher}, c.fresh, c.old)
		if v.Holds() != c.holds || v.Order() != c.order || v.Gain.N != c.n || v.AtLeast != c.least || v.AtMost != c.most ||
			math.Abs(v.Gain.Mean-c.gain) > 1e-9 {
			t.Errorf("%s: %q, order %q, %+v", name, v.Holds(), v.Order(), v)
		}
	}
}

// TestDroppedDeviations counts the clients that were left out, and says where
// metrics do not record it.
func TestDroppedDeviations(t *testing.T) {
	zero, two, three := 0, 2, 3
	seed := func(end *int, arms ...*int) *Metrics {
		m := &Metrics{Head: Head{Config: "nonfinite = \"drop\"\n"}, End: End{Dropped: end}}
		for _, n := range arms {
			m.Trials = append(m.Trials, TrialLine{Dropped: n})
		}
		return m
	}
	for _, c := range []struct {
		metrics []*Metrics
		want    []string
	}{
		{[]*Metrics{seed(&zero, &zero, &zero), seed(&zero)}, nil},
		{[]*Metrics{seed(&three, &zero, &three), seed(&two), seed(&zero)}, []string{": 5 results, in 2 of 4 arms"}},
		{[]*Metrics{seed(nil, nil, nil), seed(&two, &two)}, []string{
			": 2 results, in 1 of 1 arm",
			"how often is not recorded",
		}},
		{[]*Metrics{{Head: Head{Config: "nonfinite = \"fail\"\n"}, End: End{Dropped: &two}}}, nil},
	} {
		got := droppedDeviations(c.metrics)
		if len(got) != len(c.want) {
			t.Errorf("got %q, want %q", got, c.want)
			continue
		}
		for i := range got {
			if !strings.HasSuffix(got[i], c.want[i]) {
				t.Errorf("got %q, want %q", got[i], c.want[i])
			}
		}
	}
}
