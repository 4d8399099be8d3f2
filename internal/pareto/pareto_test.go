package pareto_test

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/fedfast/fedfast/internal/pareto"
)

func TestRanksAndFittest(t *testing.T) {
	nan := math.NaN()
	points := [][]float64{{1, 5}, {2, 4}, {5, 1}, {2, 5}, {6, 6}, {nan, 0}, {nan, 7}, {2.1, 3.9}}
	if got, want := pareto.Ranks(points), []int{0, 0, 0, 1, 2, 0, 3, 0}; !slices.Equal(got, want) {
		t.Errorf("ranks %v, want %v", got, want)
	}
	// Of a front the ends come first, then 7, whose neighbours lie farther apart than those of 1.
	front := [][]float64{{1, 5}, {2, 4}, {5, 1}, {2.1, 3.9}, {6, 6}}
	if got, want := pareto.Fittest(front, 4), []int{0, 2, 3, 1}; !slices.Equal(got, want) {
		t.Errorf("fittest %v, want %v", got, want)
	}
}

// TestVolume compares with a count of cells, and with what can be counted by hand.
func TestVolume(t *testing.T) {
	if got := pareto.Volume([][]float64{{1, 3}, {2, 2}, {3, 1}, {3, 3}, {9, 0}}, []float64{4, 4}); got != 6 {
		t.Errorf("volume %v, want 6", got)
	}
	r := rand.New(rand.NewPCG(1, 0)) //nolint:gosec // no secret
	for _, dims := range []int{2, 3, 4} {
		ref := slices.Repeat([]float64{6}, dims)
		var points [][]float64
		for range 9 {
			p := make([]float64, dims)
			for i := range p {
				p[i] = float64(r.IntN(7))
			}
			points = append(points, p)
		}
		cells, cell := 0, make([]float64, dims)
		for n := range int(math.Pow(6, float64(dims))) {
			for i := range cell {
				cell[i] = float64(n % 6)
				n /= 6
			}
			if slices.ContainsFunc(points, func(p []float64) bool { return all(p, cell) }) {
				cells++
			}
		}
		if got := pareto.Volume(points, ref); got != float64(cells) {
			t.Errorf("%d losses: volume %v, want %d", dims, got, cells)
		}
		sum := pareto.Contributions(points, ref)
		for i, p := range points {
			if rest := pareto.Volume(slices.Delete(slices.Clone(points), i, i+1), ref); sum[i] != float64(cells)-rest {
				t.Errorf("contribution of %v is %v, want %v", p, sum[i], float64(cells)-rest)
			}
		}
	}
}

func all(p, cell []float64) bool {
	for i := range p {
		if p[i] > cell[i] {
			return false
		}
	}
	return true
}

// TestSubset picks the point of the largest addition each time, as one looks at all of them.
func TestSubset(t *testing.T) {
	r := rand.New(rand.NewPCG(2, 0)) //nolint:gosec // no secret
	var points [][]float64
	for range 30 {
		points = append(points, []float64{r.Float64(), r.Float64(), r.Float64()})
	}
	ref := pareto.Reference(points)
	got := pareto.Subset(points, 8, ref)
	var picked [][]float64
	for place, i := range got {
		with := func(j int) float64 { return pareto.Volume(append(slices.Clone(picked), points[j]), ref) }
		for j := range points {
			if with(j) > with(i)+1e-12 {
				t.Fatalf("place %d: %d adds more than %d", place, j, i)
			}
		}
		picked = append(picked, points[i])
	}
	if got := pareto.Subset(points, 99, ref); len(got) != len(points) {
		t.Errorf("%d of %d points", len(got), len(points))
	}
}
