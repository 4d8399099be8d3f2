package kernels_test

import (
	"math"
	"testing"

	"github.com/fedfast/fedfast/internal/test/kernelstest"
	"github.com/fedfast/fedfast/kernels"
)

// lstmCase is a step with random inputs between guard words.
type lstmCase struct {
	m, h, ldh                           int
	gates, cPrev, c, tanhC, out, dh, dc *kernelstest.Slice
	dGates                              *kernelstest.Slice
	first                               bool
}

func newLSTMCase(seed uint64, m, h int, first bool) *lstmCase {
	r := newRand(seed)
	ldh := h + 16*(m%2)
	rows := max(0, (m-1)*ldh+h)
	c := &lstmCase{
		m: m, h: h, ldh: ldh, first: first,
		gates: kernelstest.Random(r, 4*m*h, m%16), cPrev: kernelstest.Random(r, m*h, 1), c: kernelstest.NewSlice(m*h, 2),
		tanhC: kernelstest.NewSlice(m*h, 3), out: kernelstest.NewSlice(rows, 4), dh: kernelstest.Random(r, rows, 5),
		dc: kernelstest.Random(r, m*h, 6), dGates: kernelstest.NewSlice(4*m*h, 7),
	}
	for i := range c.gates.Data {
		c.gates.Data[i] *= 3
	}
	return c
}

func (c *lstmCase) prev() []float32 {
	if c.first {
		return nil
	}
	return c.cPrev.Data
}

func (c *lstmCase) forward() {
	kernels.LSTMForward(&kernels.LSTM{
		M: c.m, H: c.h, Gates: c.gates.Data, CPrev: c.prev(), C: c.c.Data, TanhC: c.tanhC.Data, HOut: c.out.Data, Ldh: c.ldh,
	})
}

func (c *lstmCase) backward() {
	kernels.LSTMBackward(&kernels.LSTMGrad{
		M: c.m, H: c.h, Gates: c.gates.Data, CPrev: c.prev(), TanhC: c.tanhC.Data, DH: c.dh.Data, Ldh: c.ldh, DC: c.dc.Data,
		DGates: c.dGates.Data,
	})
}

func (c *lstmCase) check(t *testing.T) {
	t.Helper()
	for _, s := range []*kernelstest.Slice{c.gates, c.cPrev, c.c, c.tanhC, c.out, c.dh, c.dc, c.dGates} {
		s.Check(t, "LSTM slice")
	}
}

// gate returns where gate k of unit j of row i stands.
func (c *lstmCase) gate(i, j, k int) int { return 4*i*c.h + j/16*64 + 16*k + j%16 }

func TestLSTMEqualsOracle(t *testing.T) {
	kernelstest.ForEachLevel(t, func(t *testing.T) {
		for _, h := range []int{0, 16, 32, 48, 256} {
			for _, m := range []int{0, 1, 2, 3, 10} {
				for _, first := range []bool{false, true} {
					c := newLSTMCase(9, m, h, first)
					pre := clone(c.gates.Data)
					c.forward()
					c.check(t)
					for i := range m {
						for j := range h {
							c.expectForward(t, pre, i, j)
						}
					}
					dc := clone(c.dc.Data)
					c.backward()
					c.check(t)
					for i := range m {
						for j := range h {
							c.expectBackward(t, dc, i, j)
						}
					}
				}
			}
		}
	})
}

func (c *lstmCase) expectForward(t *testing.T, pre []float32, i, j int) {
	t.Helper()
	at := i*c.h + j
	in, forget := sigmoidOracle(pre[c.gate(i, j, 0)]), sigmoidOracle(pre[c.gate(i, j, 1)])
	g, out := tanhOracle(pre[c.gate(i, j, 2)]), sigmoidOracle(pre[c.gate(i, j, 3)])
	for k, want := range []float32{in, forget, g, out} {
		expect(t, "gate", c.gate(i, j, k), c.gates.Data[c.gate(i, j, k)], want)
	}
	cell := in * g
	if !c.first {
		cell = fma(forget, c.cPrev.Data[at], cell)
	}
	expect(t, "cell", at, c.c.Data[at], cell)
	expect(t, "tanh of the cell", at, c.tanhC.Data[at], tanhOracle(cell))
	expect(t, "output", i*c.ldh+j, c.out.Data[i*c.ldh+j], out*tanhOracle(cell))
}

func (c *lstmCase) expectBackward(t *testing.T, dc []float32, i, j int) {
	t.Helper()
	at := i*c.h + j
	in, forget := c.gates.Data[c.gate(i, j, 0)], c.gates.Data[c.gate(i, j, 1)]
	g, out := c.gates.Data[c.gate(i, j, 2)], c.gates.Data[c.gate(i, j, 3)]
	tc, dh := c.tanhC.Data[at], c.dh.Data[i*c.ldh+j]
	d := fma(dh*out, fma(-tc, tc, 1), dc[at])
	prev := c.cPrev.Data[at]
	if c.first {
		prev = 0
	}
	want := [4]float32{
		float32(d*g) * fma(-in, in, in), float32(d*prev) * fma(-forget, forget, forget), float32(d*in) * fma(-g, g, 1),
		float32(dh*tc) * fma(-out, out, out),
	}
	for k, w := range want {
		if got := c.dGates.Data[c.gate(i, j, k)]; got != w {
			t.Fatalf("gradient of gate %d of (%d,%d) is %v, want %v", k, i, j, got, w)
		}
	}
	if got := c.dc.Data[at]; got != d*forget {
		t.Fatalf("gradient of the cell before (%d,%d) is %v, want %v", i, j, got, d*forget)
	}
}

// TestLSTMBackwardIsGradient compares with central differences of the formula in
// float64.
func TestLSTMBackwardIsGradient(t *testing.T) {
	sigmoid := func(x float64) float64 { return 1 / (1 + math.Exp(-x)) }
	kernelstest.ForEachLevel(t, func(t *testing.T) {
		c := newLSTMCase(10, 3, 16, false)
		pre, dc := clone(c.gates.Data), clone(c.dc.Data)
		c.forward()
		c.backward()
		for i := range c.m {
			for j := range c.h {
				at := i*c.h + j
				x := [5]float64{4: float64(c.cPrev.Data[at])}
				for k := range 4 {
					x[k] = float64(pre[c.gate(i, j, k)])
				}
				value := func() float64 {
					cell := sigmoid(x[1])*x[4] + sigmoid(x[0])*math.Tanh(x[2])
					return float64(c.dh.Data[i*c.ldh+j])*sigmoid(x[3])*math.Tanh(cell) + float64(dc[at])*cell
				}
				got := [5]float32{4: c.dc.Data[at]}
				for k := range 4 {
					got[k] = c.dGates.Data[c.gate(i, j, k)]
				}
				for k := range x {
					const eps = 1e-5
					old := x[k]
					x[k] = old + eps
					up := value()
					x[k] = old - eps
					down := value()
					x[k] = old
					if want := (up - down) / (2 * eps); math.Abs(want-float64(got[k])) > 1e-5 {
						t.Errorf("(%d,%d): gradient %d is %v, want %v", i, j, k, got[k], want)
					}
				}
			}
		}
	})
}

func TestLSTMDoesNotAllocate(t *testing.T) {
	kernelstest.ForEachLevel(t, func(t *testing.T) {
		c := newLSTMCase(11, 2, 32, false)
		noAllocation(t, func() {
			c.forward()
			c.backward()
		})
	})
}
