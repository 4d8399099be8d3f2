package bo

import (
	"math"
	"slices"
	"testing"

	"github.com/fedfast/fedfast/internal/tuner/internal/points"
	"github.com/fedfast/fedfast/tuners"
)

var all = scale{tuners.Space{
	{Name: "a", Kind: tuners.Choice, Choices: []tuners.Value{tuners.Str("x"), tuners.Bool(true), tuners.Num(7)}},
	{Name: "b", Kind: tuners.Choice, Choices: []tuners.Value{tuners.Str("only")}},
	{Name: "c", Kind: tuners.Int, Lo: 1, Hi: 5},
	{Name: "d", Kind: tuners.Log10, Lo: -4, Hi: 0},
	{Name: "e", Kind: tuners.Log2, Lo: 3, Hi: 7},
	{Name: "f", Kind: tuners.Uniform, Lo: 2, Hi: 2},
}}

func TestFeaturesAreTheScaledDimensions(t *testing.T) {
	p := tuners.Params{
		"a": tuners.Bool(true), "b": tuners.Str("only"), "c": tuners.Num(2), "d": tuners.Num(0.1), "e": tuners.Num(64), "f": tuners.Num(2),
	}
	at := points.Of(all.space, p)
	if want := (point{1, 0, 2, -1, 6, 2}); !slices.Equal(at, want) {
		t.Errorf("the point is %v, want %v", at, want)
	}
	if got, want := all.features(at), []float64{0, 1, 0, 0.25, 0.75, 0.75}; !slices.Equal(got, want) {
		t.Errorf("features %v, want %v", got, want)
	}
	if back := at.Params(all.space); !back.Equal(p) {
		t.Errorf("back to params: %s, want %s", back, p)
	}
}

func TestDrawsAndNeighboursStayInTheSpace(t *testing.T) {
	d := tuners.NewDraws(1, 0, 0, "test")
	counts := map[float64]int{}
	for range 2000 {
		p := all.draw(d)
		counts[p[2]]++
		if err := all.space.Contains(p.Params(all.space)); err != nil {
			t.Fatal(err)
		}
	}
	for x := 1.0; x <= 5; x++ {
		if counts[x] < 330 || counts[x] > 470 {
			t.Errorf("c = %v is drawn %d times of 2000, want about 400", x, counts[x])
		}
	}
	for _, step := range steps {
		near := all.near(point{1, 0, 5, -4, 4, 2}, step)
		want := []point{
			{0, 0, 5, -4, 4, 2}, {2, 0, 5, -4, 4, 2}, {1, 0, 4, -4, 4, 2}, {1, 0, 5, -4 + 4*step, 4, 2}, {1, 0, 5, -4, 5, 2}, {1, 0, 5, -4, 3, 2},
		}
		if !slices.EqualFunc(near, want, slices.Equal[point]) {
			t.Errorf("neighbours at %v: %v, want %v", step, near, want)
		}
	}
}

func TestTame(t *testing.T) {
	nan := math.NaN()
	for _, c := range []struct{ y, want []float64 }{
		{[]float64{3, 1, 2}, []float64{3, 1, 2}},
		{[]float64{1, 2, 1e200, nan, 1.5}, []float64{1, 2, 6, 6, 1.5}}, // the median is 2
		{[]float64{1, 1, 1, 9, nan}, []float64{1, 1, 1, 9, 9}},         // the median is the best
		{[]float64{nan, 4}, []float64{4, 4}},
		{[]float64{-1e308, 1e308, 1e308}, []float64{-1e308, 1e308, 1e308}},
	} {
		y := slices.Clone(c.y)
		if !tame(y) || !slices.Equal(y, c.want) {
			t.Errorf("%v became %v, want %v", c.y, y, c.want)
		}
	}
	if tame([]float64{nan, nan}) {
		t.Error("no number is not enough")
	}
}
