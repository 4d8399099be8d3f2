package repro

import (
	"testing"

	"github.com/fedfast/fedfast/internal/stats"
)

func TestAgreement(t *testing.T) {
	five := []float64{14, 15, 16, 17, 18} // mean 16, standard deviation 1.58
	row := func(p *Published, variant string, values ...float64) *Row {
		r := &Row{Cell: Cell{Published: p}, Variant: variant, Values: values, Sample: stats.Of(values)}
		r.Reached = make([]bool, len(values))
		for i := range r.Reached {
			r.Reached[i] = true
		}
		return r
	}
	missed := &Row{Cell: Cell{Published: &Published{NA: true}}, Values: []float64{9}, Reached: []bool{false}}
	for _, tt := range []struct {
		row  *Row
		want string
	}{
		{row(nil, "", five...), "-"},
		{row(&Published{Mean: 17, SD: 2, Seeds: 5}, ""), "-"},
		{row(&Published{Mean: 17, SD: 2, Seeds: 5}, "--scale 0.1", five...), "not comparable: other settings"},
		// Welch: the standard error is sqrt(4/5 + 2.5/5), of 7.6 degrees of freedom, whose 95 % point is 1.87.
		{row(&Published{Mean: 17, SD: 2, Seeds: 5}, "", five...), "agrees within 2.13"},
		{row(&Published{Mean: 20, SD: 2, Seeds: 5}, "", five...), "differs by -4.00 +- 2.13"},
		{row(&Published{Mean: 17, SD: 2, Seeds: 5}, "", 16), "cannot be told from one seed"},
		{row(&Published{Mean: 17}, "", five...), "cannot be told: one number is printed, without a spread"},
		{row(&Published{NA: true}, "", five...), "differs: the goal is reached in one of them"},
		{missed, "agrees: the goal is not reached"},
	} {
		if got := tt.row.agreement(); got != tt.want {
			t.Errorf("%+v, %v: %q, want %q", tt.row.Published, tt.row.Values, got, tt.want)
		}
	}
}
