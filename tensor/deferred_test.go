package tensor

import (
	"fmt"
	"math"
	"runtime"
	"testing"

	"github.com/fedfast/fedfast/kernels"
)

// steps takes the steps of a client on one layer: rows of inputs and gradients of the
// outputs go in, outputs and gradients of the inputs come out.
type steps interface {
	forward(y, x []float32, m int)
	backward(dx, x, dy []float32, m int)
	weights() []float32
}

// deferredSteps are the steps of SGD with momentum, deferred.
type deferredSteps struct {
	Deferred
	m                                     int
	w, room, along, rounded, lanes, space []float32
	lr, momentum                          float64
	weigh                                 []float32
	step, fades                           []float64 // of each row, what it weighs in the weights and in their velocity
}

func newDeferredSteps(d Dense, w []float32, most, m int, lr, momentum float64, bf16 bool) *deferredSteps {
	l := &deferredSteps{
		Deferred: Deferred{Dense: d}, m: m, w: w, lr: lr, momentum: momentum,
		room: Aligned((2*most + 1) * (d.K + d.N)), along: Aligned(DeferredSpace(most, m)),
		lanes: Aligned(d.LaneSize(m)), space: Aligned(max(DenseBF16{Dense: d}.Space(m), kernels.Width*d.K)),
	}
	if bf16 {
		l.rounded = Aligned(d.K * d.N)
	}
	l.begin(most)
	return l
}

func (d *deferredSteps) begin(most int) {
	d.weigh, d.step, d.fades = d.weigh[:0], d.step[:0], d.fades[:0]
	d.Deferred = d.Defer(most, d.m, d.w, d.room, d.along, d.rounded, d.space, true)
}

func (d *deferredSteps) rows() Rows { return Rows{1, d.weigh} }

func (d *deferredSteps) forward(y, x []float32, m int) {
	d.Forward(y, d.N, x, d.K, m, d.w, nil, false, d.rows(), d.space)
}

func (d *deferredSteps) backward(dx, x, dy []float32, m int) {
	if d.pairs != nil {
		DenseBF16{Dense: d.Dense}.Load(x, d.K, dy, d.N, m, d.space)
	}
	d.BackwardInput(dx, d.K, dy, d.N, m, d.w, d.rows(), d.lanes, d.space)
	d.Keep(len(d.weigh), x, d.K, dy, d.N, m)
	for i := range d.weigh {
		d.fades[i] *= d.momentum
	}
	for range m {
		d.weigh, d.step, d.fades = append(d.weigh, 0), append(d.step, 0), append(d.fades, 1)
	}
	for i := range d.weigh {
		d.step[i] -= d.lr * d.fades[i]
		d.weigh[i] = float32(d.step[i])
	}
}

func (d *deferredSteps) weights() []float32 {
	d.Apply(d.w, d.rows())
	return d.w
}

// plainSteps takes them as layers do that write their weights in every step.
type plainSteps struct {
	Dense
	step  Step
	lanes []float32
	space []float32 // not nil for products in bf16
}

func newPlainSteps(d Dense, w []float32, m int, lr, momentum float32, bf16 bool) *plainSteps {
	p := &plainSteps{Dense: d, lanes: Aligned(d.LaneSize(m))}
	p.step = Step{M: m, LdX: d.K, LdY: d.N, LdDX: d.K, Lanes: p.lanes, SGD: kernels.SGD{W: w, LR: lr}}
	if momentum != 0 {
		p.step.SGD.V, p.step.SGD.Momentum = Aligned(len(w)), momentum
	}
	if bf16 {
		p.space = Aligned(DenseBF16{Dense: d}.Space(m))
	}
	return p
}

func (p *plainSteps) forward(y, x []float32, m int) {
	if p.space != nil {
		DenseBF16{Dense: p.Dense}.Forward(y, p.N, x, p.K, m, p.step.SGD.W, nil, false, p.space)
		return
	}
	p.Forward(y, p.N, x, p.K, m, p.step.SGD.W, nil, false)
}

func (p *plainSteps) backward(dx, x, dy []float32, m int) {
	p.step.X, p.step.DY, p.step.DX = x, dy, dx
	if p.space != nil {
		l := DenseBF16{Dense: p.Dense}
		l.Load(x, p.K, dy, p.N, m, p.space)
		l.Step(&p.step, p.space)
		return
	}
	p.Step(&p.step)
}

func (p *plainSteps) weights() []float32 { return p.step.SGD.W }

func filled(s *kernels.Stream, n int, scale float32) []float32 {
	x := Aligned(n)
	for i := range x {
		x[i] = scale * (s.Float32() - 0.5)
	}
	return x
}

// TestDeferred checks deferred steps against plain ones: in float32 they are the same but
// for rounding, and in bf16 as near to those in float32 as plain ones in bf16 are, nearly.
func TestDeferred(t *testing.T) {
	d := Dense{K: 96, N: 64}
	for _, momentum := range []float64{0, 0.9} {
		for _, c := range []struct{ m, steps int }{{1, 6}, {4, 6}, {7, 6}, {20, 7}, {3, 50}} {
			s := kernels.NewStream(3, uint64(c.m))
			first := filled(s, d.K*d.N, 1)
			weights := func() []float32 { return append(Aligned(0), first...) }
			most, lr := c.steps*c.m, 0.5/float64(c.steps*c.m)
			late, lateLow := newDeferredSteps(d, weights(), most, c.m, lr, momentum, false), newDeferredSteps(d, weights(), most, c.m, lr, momentum, true)
			all := []steps{
				newPlainSteps(d, weights(), c.m, float32(lr), float32(momentum), false), late,
				newPlainSteps(d, weights(), c.m, float32(lr), float32(momentum), true), lateLow,
			}
			y, dx := make([][]float32, len(all)), make([][]float32, len(all))
			for range c.steps {
				x, dy := filled(s, c.m*d.K, 1), filled(s, c.m*d.N, 1)
				for i, l := range all {
					y[i], dx[i] = Aligned(c.m*d.N), Aligned(c.m*d.K)
					l.forward(y[i], x, c.m)
					l.backward(dx[i], x, dy, c.m)
				}
				alike(t, "outputs", y)
				alike(t, "gradient of the inputs", dx)
			}
			w := make([][]float32, len(all))
			for i, l := range all {
				w[i] = l.weights()
			}
			alike(t, "weights", w)
		}
	}
}

// alike checks that the second is the first but for rounding, and that the fourth's root
// of the mean square of the distance from the first is at most 1.5 times the third's.
func alike(t *testing.T, what string, x [][]float32) {
	t.Helper()
	var low, late float64
	for i, v := range x[0] {
		if math.Abs(float64(x[1][i]-v)) > 2e-5 {
			t.Fatalf("%s: %d is %v, want %v", what, i, x[1][i], v)
		}
		low += math.Pow(float64(x[2][i]-v), 2)
		late += math.Pow(float64(x[3][i]-v), 2)
	}
	if late > 2.25*low {
		t.Errorf("%s: %.3g from the exact ones, plain bf16 %.3g", what, math.Sqrt(late/float64(len(x[0]))), math.Sqrt(low/float64(len(x[0]))))
	}
}

// BenchmarkDeferred measures a client's steps through a wide layer with momentum, as they
// are taken in each step (plain) and deferred, with the begin and the end of that.
func BenchmarkDeferred(b *testing.B) {
	for _, d := range []Dense{{K: 3136, N: 2048}, {K: 3136, N: 512}, {K: 1600, N: 512}} {
		s := kernels.NewStream(1, 2)
		w := filled(s, d.K*d.N, 0.02)
		const largest = 1000
		x, dy := filled(s, largest*d.K, 0.1), filled(s, largest*d.N, 1e-4)
		y, dx := Aligned(64*d.N), Aligned(64*d.K)
		for _, m := range []int{4, 10, 20} {
			for _, bf16 := range []bool{false, true} {
				for _, rows := range []int{100, 200, 400, 800} {
					rows -= rows % m
					run := func(name string, l steps, begin, end func()) {
						b.Run(fmt.Sprintf("%dx%d/batch=%d/bf16=%v/rows=%d/%s", d.K, d.N, m, bf16, rows, name), func(b *testing.B) {
							runtime.LockOSThread()
							defer runtime.UnlockOSThread()
							start := threadTime()
							for b.Loop() {
								begin()
								for i := range rows / m {
									l.forward(y, x[i*m*d.K:], m)
									l.backward(dx, x[i*m*d.K:], dy[i*m*d.N:], m)
								}
								end()
							}
							b.ReportMetric(float64((threadTime()-start).Microseconds())/1000/float64(b.N*rows/m), "ms/step")
						})
					}
					if rows <= 100 {
						run("plain", newPlainSteps(d, w, m, 1e-6, 0.9, bf16), func() {}, func() {})
					}
					late := newDeferredSteps(d, w, rows, m, 1e-6, 0.9, bf16)
					run("deferred", late, func() { late.begin(rows) }, func() { late.weights() })
				}
			}
		}
	}
}
