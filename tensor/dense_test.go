package tensor

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/fedfast/fedfast/internal/test/kernelstest"
	"github.com/fedfast/fedfast/kernels"
)

// TestDense compares the three passes of a dense layer with plain loops; some
// have several parts of weights, with odd ones at the ends.
func TestDense(t *testing.T) {
	for _, c := range []struct{ m, k, n int }{
		{1, 16, 16},
		{5, 48, 32},
		{3, 37, 64},
		{20, 144, 2048},
		{3, 1200, 80},
		{3, 300, 384},
		{70, 150, 1040},
	} {
		t.Run(fmt.Sprintf("%dx%dx%d", c.m, c.k, c.n), func(t *testing.T) {
			if c.m*c.k*c.n > 5_000_000 && kernelstest.Small() {
				t.Skip("large")
			}
			d := Dense{K: c.k, N: c.n}
			s := kernels.NewStream(4, 1)
			pad := kernels.Pad(c.k)
			x, w, bias, dy := make([]float32, c.m*pad), draw(s, c.k*c.n), draw(s, c.n), draw(s, c.m*c.n)
			for i := range c.m {
				copy(x[i*pad:], draw(s, c.k))
			}
			y, dw, dx, db := make([]float64, c.m*c.n), make([]float64, c.k*c.n), make([]float64, c.m*pad), make([]float64, c.n)
			for i := range c.m {
				for j := range c.n {
					y[i*c.n+j] = float64(bias[j])
					g := float64(dy[i*c.n+j])
					db[j] += g
					for k := range c.k {
						y[i*c.n+j] += float64(x[i*pad+k]) * float64(w[k*c.n+j])
						dw[k*c.n+j] += float64(x[i*pad+k]) * g
						dx[i*pad+k] += g * float64(w[k*c.n+j])
					}
				}
			}
			packed := make([]float32, c.k*c.n)
			kernels.Pack(packed, w, c.k, c.n, c.n)
			kernelstest.ForEachLevel(t, func(t *testing.T) {
				got := make([]float32, c.m*c.n)
				d.Forward(got, c.n, x, pad, c.m, packed, bias, false)
				near(t, "y", got, y, c.k+1)
				gx := make([]float32, c.m*pad)
				d.BackwardInput(gx, pad, dy, c.n, c.m, packed, make([]float32, d.LaneSize(c.m)))
				near(t, "dx", gx, dx, c.n)
				gw, gb, plain := make([]float32, c.k*c.n), make([]float32, c.n), make([]float32, c.k*c.n)
				gw[0], gb[0] = 3, 3 // must be overwritten
				d.BackwardWeights(gw, x, pad, dy, c.n, c.m, false)
				d.BackwardBias(gb, dy, c.n, c.m, false)
				kernels.Unpack(plain, gw, c.k, c.n, c.n)
				near(t, "dw", plain, dw, c.m)
				near(t, "db", gb, db, c.m)
				for p := d.LastPart(); p.Rows > 0; p = d.Before(p) {
					d.WeightsPart(p, gw[d.At(p):], d.K, x, pad, dy, c.n, c.m, true)
				}
				kernels.Unpack(plain, gw, c.k, c.n, c.n)
				kernels.Scale(plain, 0.5)
				near(t, "dw twice", plain, dw, 2*c.m)
			})
		})
	}
}

// TestDenseStep compares a step part by part with its passes one after the other:
// every bit must be the same.
func TestDenseStep(t *testing.T) {
	for _, c := range []struct{ m, k, n int }{{1, 16, 16}, {3, 37, 64}, {10, 150, 1040}, {StepRows, 200, 528}} {
		if c.m*c.k*c.n > 5_000_000 && kernelstest.Small() {
			continue
		}
		d := Dense{K: c.k, N: c.n}
		s := kernels.NewStream(5, 1)
		pad := kernels.Pad(c.k)
		x, dy, w, v := draw(s, c.m*pad), draw(s, c.m*c.n), draw(s, c.k*c.n), draw(s, c.k*c.n)
		kernelstest.ForEachLevel(t, func(t *testing.T) {
			for _, momentum := range []bool{false, true} {
				step := Step{
					M: c.m, X: x, LdX: pad, DY: dy, LdY: c.n, DX: make([]float32, c.m*pad), LdDX: pad,
					Lanes: make([]float32, d.LaneSize(c.m)),
					SGD:   kernels.SGD{W: slices.Clone(w), LR: 0.1, Momentum: 0.9, WeightDecay: 0.01},
				}
				want := kernels.SGD{W: slices.Clone(w), G: make([]float32, len(w)), LR: 0.1, Momentum: 0.9, WeightDecay: 0.01}
				if momentum {
					step.SGD.V, want.V = slices.Clone(v), slices.Clone(v)
				}
				dx := make([]float32, c.m*pad)
				d.BackwardInput(dx, pad, dy, c.n, c.m, want.W, step.Lanes)
				d.BackwardWeights(want.G, x, pad, dy, c.n, c.m, false)
				kernels.SGDStep(&want)
				d.Step(&step)
				for name, pair := range map[string][2][]float32{
					"dx": {step.DX, dx}, "w": {step.SGD.W, want.W},
					"v": {step.SGD.V, want.V},
				} {
					for i, got := range pair[0] {
						if math.Float32bits(got) != math.Float32bits(pair[1][i]) {
							t.Fatalf("%+v, momentum %v: %s[%d] is %v, want %v", c, momentum, name, i, got, pair[1][i])
						}
					}
				}
			}
		})
	}
}

// TestDenseParts checks that the parts cover every weight once, the columns of a
// block in order: what a step reads and writes of the weights is their size.
func TestDenseParts(t *testing.T) {
	for _, d := range []Dense{
		{K: 1, N: 16},
		{K: 300, N: 1040},
		{K: 700, N: 208},
		{K: 65, N: 528},
		{K: 200, N: 16},
		{K: 96, N: 2016},
	} {
		seen := make([]byte, d.K*d.N)
		column := 0
		for p := d.LastPart(); p.Rows > 0; p = d.Before(p) {
			if p.Rows*p.Cols > d.PartSize() {
				t.Errorf("%+v: part %+v is larger than %d floats", d, p, d.PartSize())
			}
			if p.J != column {
				t.Errorf("%+v: part %+v, want column %d", d, p, column)
			}
			column = (p.J + p.Cols) % d.N
			for j := range p.Cols / kernels.Width {
				for i := range p.Rows * kernels.Width {
					seen[d.At(p)+j*d.K*kernels.Width+i]++
				}
			}
		}
		for i, n := range seen {
			if n != 1 {
				t.Fatalf("%+v: weight %d is in %d parts", d, i, n)
			}
		}
	}
}
