package pbt

import (
	"math"
	"testing"

	"github.com/fedfast/fedfast/tuners"
)

func TestChange(t *testing.T) {
	lr := tuners.Dim{Name: "lr", Kind: tuners.Log10, Lo: -4, Hi: 0}
	momentum := tuners.Dim{Name: "m", Kind: tuners.Log10OneMinus, Lo: -3, Hi: 0}
	epochs := tuners.Dim{Name: "e", Kind: tuners.Int, Lo: 1, Hi: 5}
	batch := tuners.Dim{Name: "b", Kind: tuners.Log2, Lo: 3, Hi: 7}
	real := tuners.Dim{Name: "x", Kind: tuners.Uniform, Lo: -2, Hi: 3}
	for _, c := range []struct {
		dim      tuners.Dim
		from     float64
		up, down float64
	}{
		{lr, 0.01, 0.012, 0.01 / 1.2},
		{lr, 0.9, 1, 0.75},
		{lr, 1e-4, 1.2e-4, 1e-4},
		{momentum, 0.9, 0.88, 1 - 0.1/1.2},
		{epochs, 3, 4, 2},
		{epochs, 5, 5, 4},
		{batch, 8, 16, 8},
		{batch, 32, 64, 16},
		{real, 2, 2.4, 2 / 1.2},
		{real, -1.9, -2, -1.9 / 1.2},
	} {
		for up, want := range map[bool]float64{true: c.up, false: c.down} {
			got, _ := change(c.dim, tuners.Num(c.from), 1.2, up).Float()
			if math.Abs(got-want) > 1e-12*math.Abs(want) {
				t.Errorf("%s %v, up %v: got %v, want %v", c.dim.Kind, c.from, up, got, want)
			}
			if err := c.dim.Contains(tuners.Num(got)); err != nil {
				t.Error(err)
			}
		}
	}
	choice := tuners.Dim{Name: "c", Kind: tuners.Choice, Choices: []tuners.Value{tuners.Str("a"), tuners.Str("b")}}
	if got := change(choice, tuners.Str("b"), 1.2, true); got != tuners.Str("b") {
		t.Errorf("a choice becomes %v", got)
	}
}

// TestExploreResamples counts how often a hyperparameter is drawn anew.
func TestExploreResamples(t *testing.T) {
	space := tuners.Space{{Name: "lr", Kind: tuners.Log10, Lo: -4, Hi: 0}}
	source := tuners.Params{"lr": tuners.Num(0.01)}
	anew := 0
	for i := range 4000 {
		x := explore(space, source, plan{factor: 2, resample: 0.25}, tuners.NewDraws(1, i, 0, "test")).Float("lr", 0)
		if math.Abs(x-0.02) > 1e-12 && math.Abs(x-0.005) > 1e-12 {
			anew++
		}
	}
	if anew < 900 || anew > 1100 { // 1000 +- 3.6 standard deviations
		t.Errorf("%d of 4000 are drawn anew, want about 1000", anew)
	}
	if p := explore(space, tuners.Params{}, plan{factor: 2}, tuners.NewDraws(1, 0, 0, "test")); space.Contains(p) != nil {
		t.Errorf("a source without the dimension gives %s", p)
	}
}
