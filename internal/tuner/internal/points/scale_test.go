package points_test

import (
	"slices"
	"testing"

	"github.com/fedfast/fedfast/internal/tuner/internal/points"
	"github.com/fedfast/fedfast/tuners"
)

var all = points.Scale{Space: tuners.Space{
	{Name: "a", Kind: tuners.Choice, Choices: []tuners.Value{tuners.Str("x"), tuners.Bool(true), tuners.Num(7)}},
	{Name: "b", Kind: tuners.Choice, Choices: []tuners.Value{tuners.Str("only")}},
	{Name: "c", Kind: tuners.Int, Lo: 1, Hi: 5},
	{Name: "d", Kind: tuners.Log10, Lo: -4, Hi: 0},
	{Name: "e", Kind: tuners.Log2, Lo: 3, Hi: 7},
	{Name: "f", Kind: tuners.Uniform, Lo: 2, Hi: 2},
	{Name: "g", Kind: tuners.Int, Base: 8, Step: 8, Hi: 7},
}}

func TestFeaturesAreTheScaledDimensions(t *testing.T) {
	p := tuners.Params{
		"a": tuners.Bool(true), "b": tuners.Str("only"), "c": tuners.Num(2), "d": tuners.Num(0.1), "e": tuners.Num(64),
		"f": tuners.Num(2), "g": tuners.Num(24),
	}
	at := points.Of(all.Space, p)
	if want := (points.Point{1, 0, 2, -1, 6, 2, 2}); !slices.Equal(at, want) {
		t.Errorf("the point is %v, want %v", at, want)
	}
	if got, want := all.Features(at), []float64{0, 1, 0, 0.25, 0.75, 0.75, 2.0 / 7}; !slices.Equal(got, want) {
		t.Errorf("features %v, want %v", got, want)
	}
	if back := at.Params(all.Space); !back.Equal(p) {
		t.Errorf("back to params: %s, want %s", back, p)
	}
}

func TestDrawsAndNeighboursStayInTheSpace(t *testing.T) {
	d := tuners.NewDraws(1, 0, 0, "test")
	counts := map[float64]int{}
	for range 2000 {
		p := all.Draw(d)
		counts[p[2]]++
		if err := all.Space.Contains(p.Params(all.Space)); err != nil {
			t.Fatal(err)
		}
	}
	for x := 1.0; x <= 5; x++ {
		if counts[x] < 330 || counts[x] > 470 {
			t.Errorf("c = %v is drawn %d times of 2000, want about 400", x, counts[x])
		}
	}
	for _, step := range []float64{0.1, 0.05, 0.02, 0.01, 0.005} {
		near := all.Near(points.Point{1, 0, 5, -4, 4, 2, 7}, step)
		want := []points.Point{
			{0, 0, 5, -4, 4, 2, 7},
			{2, 0, 5, -4, 4, 2, 7},
			{1, 0, 4, -4, 4, 2, 7},
			{1, 0, 5, -4 + 4*step, 4, 2, 7},
			{1, 0, 5, -4, 5, 2, 7},
			{1, 0, 5, -4, 3, 2, 7},
			{1, 0, 5, -4, 4, 2, 6},
		}
		if !slices.EqualFunc(near, want, slices.Equal[points.Point]) {
			t.Errorf("neighbours at %v: %v, want %v", step, near, want)
		}
	}
}
