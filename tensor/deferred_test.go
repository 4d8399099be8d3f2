package tensor

import (
	"fmt"
	"math"
	"runtime"
	"testing"

	"github.com/fedfast/fedfast/kernels"
)

// deferred trains a dense layer without writing its weights: after some steps of SGD
// with momentum they are W0 - sum over steps s of c_s X_s^T G_s with scalars c_s, and so
// the inputs X and the gradients G of the outputs are kept in their place until apply.
// It is a measurement of what that costs, which TestDeferred holds to the plain steps;
// layers of nn do not work like this.
type deferred struct {
	Dense
	w            []float32
	lr, momentum float32

	rows   int       // of all steps so far
	most   int       // of them
	begins []int     // the first row of each step
	x, g   []float32 // rows as the layer gets them
	xp, gp []float32 // packed as weights of most rows

	s, scaled, lanes, lost []float32
}

func newDeferred(d Dense, w []float32, most, m int, lr, momentum float32) *deferred {
	return &deferred{
		Dense: d, w: w, lr: lr, momentum: momentum, most: most,
		x: Aligned(most * d.K), g: Aligned(most * d.N), xp: Aligned(most * d.K), gp: Aligned(most * d.N),
		s: Aligned(m * kernels.Pad(most)), scaled: Aligned(most * d.N), lanes: Aligned(m * kernels.Pad(most) * kernels.Width), lost: Aligned(d.LaneSize(m)),
	}
}

// coefficient returns what the gradients of step s weigh in the weights after t steps.
func (d *deferred) coefficient(s, t int) float32 {
	if d.momentum == 0 {
		return d.lr
	}
	return d.lr * (1 - float32(math.Pow(float64(d.momentum), float64(t-s)))) / (1 - d.momentum)
}

// packRows copies rows of n floats behind rows packed ones of panels of most rows.
func packRows(packed, x []float32, most, rows, m, n int) {
	for i := range m {
		for p := range n / kernels.Width {
			*(*[kernels.Width]float32)(packed[(p*most+rows+i)*kernels.Width:]) = *(*[kernels.Width]float32)(x[i*n+p*kernels.Width:])
		}
	}
}

// along computes s = -c (a . kept^T) for m rows of n floats a, and adds s . with to y.
func (d *deferred) along(y []float32, ny int, a []float32, n, m int, kept, with []float32) {
	r := d.rows
	if r == 0 {
		return
	}
	pad := kernels.Pad(r)
	kernels.GemmNT(&kernels.NT{M: m, K: r, N: n, A: a, Lda: n, B: kept, BRows: d.most, L: d.lanes, LRows: pad})
	for i := range m {
		lanes := d.lanes[i*pad*kernels.Width:][:pad*kernels.Width]
		clear(lanes[r*kernels.Width:])
		kernels.SumLanes(d.s[i*pad:][:pad], lanes)
		for s, begin := range d.begins {
			end := r
			if s+1 < len(d.begins) {
				end = d.begins[s+1]
			}
			c := -d.coefficient(s, len(d.begins))
			for j := begin; j < end; j++ {
				d.s[i*pad+j] *= c
			}
		}
	}
	kernels.GemmNN(&kernels.NN{M: m, N: ny, K: r, A: d.s, Lda: pad, B: with, BRows: d.most, C: y, Ldc: ny, Accumulate: true})
}

func (d *deferred) forward(y, x []float32, m int) {
	d.Forward(y, d.N, x, d.K, m, d.w, nil, false)
	d.along(y, d.N, x, d.K, m, d.xp, d.gp)
}

func (d *deferred) backward(dx, x, dy []float32, m int) {
	d.BackwardInput(dx, d.K, dy, d.N, m, d.w, d.lost)
	d.along(dx, d.K, dy, d.N, m, d.gp, d.xp)
	d.keep(x, dy, m)
}

// keep takes the inputs and gradients of a step in.
func (d *deferred) keep(x, dy []float32, m int) {
	d.begins = append(d.begins, d.rows)
	copy(d.x[d.rows*d.K:], x[:m*d.K])
	copy(d.g[d.rows*d.N:], dy[:m*d.N])
	packRows(d.xp, x, d.most, d.rows, m, d.K)
	packRows(d.gp, dy, d.most, d.rows, m, d.N)
	d.rows += m
}

// scale multiplies the gradients by what they weigh in the end.
func (d *deferred) scale() {
	for s, begin := range d.begins {
		end := d.rows
		if s+1 < len(d.begins) {
			end = d.begins[s+1]
		}
		c := -d.coefficient(s, len(d.begins))
		for j := begin * d.N; j < end*d.N; j++ {
			d.scaled[j] = c * d.g[j]
		}
	}
}

// apply writes the weights after all steps.
func (d *deferred) apply() {
	d.scale()
	d.BackwardWeights(d.w, d.x, d.K, d.scaled, d.N, d.rows, true)
	d.rows, d.begins = 0, d.begins[:0]
}

// plainDense takes the steps of a layer as nn does.
type plainDense struct {
	Dense
	step  Step
	lanes []float32
}

func newPlainDense(d Dense, w []float32, m int, lr, momentum float32) *plainDense {
	p := &plainDense{Dense: d, lanes: Aligned(d.LaneSize(m))}
	p.step = Step{M: m, LdX: d.K, LdY: d.N, LdDX: d.K, Lanes: p.lanes, SGD: kernels.SGD{W: w, LR: lr}}
	if momentum != 0 {
		p.step.SGD.V, p.step.SGD.Momentum = Aligned(len(w)), momentum
	}
	return p
}

func (p *plainDense) backward(dx, x, dy []float32) {
	p.step.X, p.step.DY, p.step.DX = x, dy, dx
	p.Step(&p.step)
}

func filled(s *kernels.Stream, n int, scale float32) []float32 {
	x := Aligned(n)
	for i := range x {
		x[i] = scale * (s.Float32() - 0.5)
	}
	return x
}

// TestDeferred checks that outputs, gradients of the inputs and the weights at the end
// are those of plain steps.
func TestDeferred(t *testing.T) {
	d, steps := Dense{K: 96, N: 64}, 6
	for _, momentum := range []float32{0, 0.9} {
		for _, m := range []int{1, 4, 7} {
			s := kernels.NewStream(3, uint64(m))
			w := filled(s, d.K*d.N, 1)
			other := Aligned(len(w))
			copy(other, w)
			late, plain := newDeferred(d, w, steps*m, m, 0.1, momentum), newPlainDense(d, other, m, 0.1, momentum)
			y, z, dx, dz := Aligned(m*d.N), Aligned(m*d.N), Aligned(m*d.K), Aligned(m*d.K)
			for range steps {
				x, dy := filled(s, m*d.K, 1), filled(s, m*d.N, 1)
				late.forward(y, x, m)
				plain.Forward(z, d.N, x, d.K, m, other, nil, false)
				alike(t, "outputs", y, z)
				late.backward(dx, x, dy, m)
				plain.backward(dz, x, dy)
				alike(t, "gradient of the inputs", dx, dz)
			}
			late.apply()
			alike(t, "weights", w, other)
		}
	}
}

func alike(t *testing.T, what string, got, want []float32) {
	t.Helper()
	for i, v := range want {
		if math.Abs(float64(got[i]-v)) > 2e-5 {
			t.Fatalf("%s: %d is %v, want %v", what, i, got[i], v)
		}
	}
}

// BenchmarkDeferred measures a client's 200 samples through the wide layer of
// leaf-femnist-cnn, as it is trained (plain), deferred, and, as a bound, with what
// several clients would share when they train in lockstep: products of their rows
// together with W0.
func BenchmarkDeferred(b *testing.B) {
	d := Dense{K: 3136, N: 2048}
	s := kernels.NewStream(1, 2)
	w := filled(s, d.K*d.N, 0.02)
	for _, m := range []int{4, 10, 20} {
		steps := 200 / m
		x, dy := filled(s, 200*d.K, 0.1), filled(s, 200*d.N, 1e-4)
		y, dx := Aligned(64*d.N), Aligned(64*d.K)
		run := func(name string, clients int, client func()) {
			b.Run(fmt.Sprintf("batch=%d/%s", m, name), func(b *testing.B) {
				runtime.LockOSThread()
				defer runtime.UnlockOSThread()
				start := threadTime()
				for b.Loop() {
					client()
				}
				b.ReportMetric(float64((threadTime()-start).Microseconds())/1000/float64(b.N*steps*clients), "ms/step")
			})
		}
		for _, momentum := range []float32{0, 0.9} {
			plain := newPlainDense(d, w, m, 1e-6, momentum)
			run(fmt.Sprintf("momentum=%v/plain", momentum), 1, func() {
				for i := range steps {
					plain.Forward(y, d.N, x[i*m*d.K:], d.K, m, w, nil, false)
					plain.backward(dx, x[i*m*d.K:], dy[i*m*d.N:])
				}
			})
			low := newPlainBF16(plain, m)
			run(fmt.Sprintf("momentum=%v/plain/bf16", momentum), 1, func() {
				for i := range steps {
					low.forward(y, x[i*m*d.K:], m)
					low.backward(dx, x[i*m*d.K:], dy[i*m*d.N:])
				}
			})
		}
		for _, most := range []int{100, 200} {
			late := newDeferred(d, w, most, m, 1e-6, 0.9)
			run(fmt.Sprintf("deferred/rows=%d", most), 1, func() {
				for i := range steps {
					late.forward(y, x[i*m*d.K:], m)
					late.backward(dx, x[i*m*d.K:], dy[i*m*d.N:], m)
					if late.rows == most {
						late.apply()
					}
				}
			})
		}
		low := newDeferredBF16(newDeferred(d, w, 200, m, 1e-6, 0.9), m)
		run("deferred/rows=200/bf16", 1, func() {
			low.begin()
			for i := range steps {
				low.forward(y, x[i*m*d.K:], m)
				low.backward(dx, x[i*m*d.K:], dy[i*m*d.N:], m)
			}
			low.apply()
		})
		const clients = 3
		lanes := Aligned(d.LaneSize(clients * m))
		run("lockstep/products-of-W0", clients, func() {
			for i := range steps {
				at := min(i*clients*m, 200-clients*m)
				d.Forward(y, d.N, x[at*d.K:], d.K, clients*m, w, nil, false)
				d.BackwardInput(dx, d.K, dy[at*d.N:], d.N, clients*m, w, lanes)
			}
		})
	}
}
