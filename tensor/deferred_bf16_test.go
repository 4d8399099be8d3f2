package tensor

import (
	"math"
	"testing"

	"github.com/fedfast/fedfast/kernels"
)

// deferredBF16 is deferred with products of bf16: the weights, which do not change
// meanwhile, are rounded once and not in every step. What is along with them stays in
// float32.
type deferredBF16 struct {
	*deferred
	low DenseBF16

	pairs, turned, panel, space []float32
	inputs, grads               []float32 // pairs of all rows
}

func newDeferredBF16(d *deferred, m int) *deferredBF16 {
	l := DenseBF16{d.Dense}
	pairs := PairedRows(d.most)
	return &deferredBF16{
		deferred: d, low: l,
		pairs: Aligned(PairedRows(d.K) * d.N), turned: Aligned(d.N / 2 * kernels.Pad(d.K)), panel: Aligned(kernels.Width * d.K),
		space: Aligned(l.Space(m)), inputs: Aligned(pairs * d.K), grads: Aligned(pairs * d.N),
	}
}

// begin rounds the weights.
func (d *deferredBF16) begin() { d.low.LoadWeights(d.pairs, d.turned, d.w, d.panel) }

func (d *deferredBF16) forward(y, x []float32, m int) {
	d.low.ForwardPairs(y, d.N, x, d.K, m, d.pairs, nil, false, d.space)
	d.along(y, d.N, x, d.K, m, d.xp, d.gp)
}

func (d *deferredBF16) backward(dx, x, dy []float32, m int) {
	d.low.Load(x, d.K, dy, d.N, m, d.space)
	d.low.InputAcross(dx, d.K, m, d.turned, d.space)
	d.along(dx, d.K, dy, d.N, m, d.gp, d.xp)
	d.keep(x, dy, m)
}

// apply writes the weights after all steps.
func (d *deferredBF16) apply() {
	d.scale()
	PairSamples(d.inputs, d.x, d.K, d.rows, d.K)
	PairSamples(d.grads, d.scaled, d.N, d.rows, d.N)
	kernels.GemmTN(&kernels.TN{M: PairedRows(d.rows), K: d.K, N: d.N, A: d.inputs, Lda: d.K, G: d.grads, Ldg: d.N, C: d.w, Accumulate: true, BF16: true})
	d.rows, d.begins = 0, d.begins[:0]
}

// plainBF16 is plainDense with products of bf16.
type plainBF16 struct {
	*plainDense
	low   DenseBF16
	space []float32
}

func newPlainBF16(p *plainDense, m int) *plainBF16 {
	l := DenseBF16{p.Dense}
	return &plainBF16{p, l, Aligned(l.Space(m))}
}

func (p *plainBF16) forward(y, x []float32, m int) {
	p.low.Forward(y, p.N, x, p.K, m, p.step.SGD.W, nil, false, p.space)
}

func (p *plainBF16) backward(dx, x, dy []float32) {
	p.low.Load(x, p.K, dy, p.N, p.step.M, p.space)
	p.step.DX = dx
	p.low.Step(&p.step, p.space)
}

// TestDeferredBF16 checks deferred steps in bf16 against plain ones in float32 and holds
// them to as small an error as that of plain steps in bf16, nearly.
func TestDeferredBF16(t *testing.T) {
	d, steps := Dense{K: 96, N: 64}, 6
	for _, momentum := range []float32{0, 0.9} {
		for _, m := range []int{1, 4, 7} {
			s := kernels.NewStream(3, uint64(m))
			first := filled(s, d.K*d.N, 1)
			weights := func() []float32 { return append(Aligned(0), first...) }
			late := newDeferredBF16(newDeferred(d, weights(), steps*m, m, 0.1, momentum), m)
			exact, low := newPlainDense(d, weights(), m, 0.1, momentum), newPlainBF16(newPlainDense(d, weights(), m, 0.1, momentum), m)
			var y, dx [3][]float32
			for i := range y {
				y[i], dx[i] = Aligned(m*d.N), Aligned(m*d.K)
			}
			late.begin()
			for range steps {
				x, dy := filled(s, m*d.K, 1), filled(s, m*d.N, 1)
				exact.Forward(y[0], d.N, x, d.K, m, exact.step.SGD.W, nil, false)
				exact.backward(dx[0], x, dy)
				low.forward(y[1], x, m)
				low.backward(dx[1], x, dy)
				late.forward(y[2], x, m)
				late.backward(dx[2], x, dy, m)
				nearly(t, "outputs", y)
				nearly(t, "gradient of the inputs", dx)
			}
			late.apply()
			nearly(t, "weights", [3][]float32{exact.step.SGD.W, low.step.SGD.W, late.w})
		}
	}
}

// nearly checks that the root of the mean square of the third's distance from the first
// is at most 1.5 times that of the second.
func nearly(t *testing.T, what string, x [3][]float32) {
	t.Helper()
	var low, late float64
	for i, v := range x[0] {
		low += math.Pow(float64(x[1][i]-v), 2)
		late += math.Pow(float64(x[2][i]-v), 2)
	}
	if late > 2.25*low {
		t.Errorf("%s: %.3g from the exact ones, plain bf16 %.3g", what, math.Sqrt(late/float64(len(x[0]))), math.Sqrt(low/float64(len(x[0]))))
	}
}
