package kde_test

import (
	"math"
	"testing"

	"github.com/fedfast/fedfast/internal/tuner/internal/kde"
	"github.com/fedfast/fedfast/tuners"
)

// three is a mixture over a real axis, one of cells and a choice.
func three() *kde.Mixture {
	axes := []kde.Axis{{Low: -1, High: 2}, {Low: 0.5, High: 4.5, Cell: true}, {Choices: 3}}
	return kde.New(axes, []kde.Kernel{
		{Weight: 1, Centre: []float64{-0.9, 4, 1}, Width: []float64{0.3, 0.8, 0.2}},
		{Weight: 3, Centre: []float64{0.5, 2.5, 0}, Width: []float64{3, 4, 2.0 / 3}},
	})
}

// TestDrawsFollowTheDensity adds the density up over a grid, and counts draws in its
// cells.
func TestDrawsFollowTheDensity(t *testing.T) {
	m, d := three(), tuners.NewDraws(1, 0, 0, "test")
	const draws, cells, fine = 40_000, 6, 40
	var counts [cells][4][3]float64
	for range draws {
		x := m.Draw(d)
		counts[int((x[0]+1)/3*cells)][int(x[1])-1][int(x[2])]++
	}
	sum := 0.0
	for i := range cells {
		for j := range 4 {
			for k := range 3 {
				p := 0.0
				for f := range fine {
					x := -1 + 3*(float64(i)+(float64(f)+0.5)/fine)/cells
					p += math.Exp(m.LogDensity([]float64{x, float64(j + 1), float64(k)})) * 3 / cells / fine
				}
				sum += p
				if got, off := counts[i][j][k], 4.5*math.Sqrt(draws*p); math.Abs(got-draws*p) > off {
					t.Errorf("cell %d %d %d: %v draws, want %.0f +- %.0f", i, j, k, got, draws*p, off)
				}
			}
		}
	}
	if math.Abs(sum-1) > 1e-3 {
		t.Errorf("the density adds up to %v", sum)
	}
}

// TestOpenKernelsAreCutOffInDrawsAlone compares with the normal density.
func TestOpenKernelsAreCutOffInDrawsAlone(t *testing.T) {
	m := kde.New([]kde.Axis{{Low: 0, High: 1, Open: true}},
		[]kde.Kernel{{Weight: 1, Centre: []float64{0.1}, Width: []float64{0.5}}})
	if got, want := m.LogDensity([]float64{0.6}), -0.5-math.Log(0.5*math.Sqrt(2*math.Pi)); math.Abs(got-want) > 1e-12 {
		t.Errorf("log density %v, want %v", got, want)
	}
	d := tuners.NewDraws(1, 0, 0, "test")
	for range 1000 {
		if x := m.Draw(d)[0]; x < 0 || x > 1 {
			t.Fatalf("drew %v", x)
		}
	}
}
