package tensor

import "github.com/fedfast/fedfast/kernels"

// The passes of Dense take the weights in blocks of blockRows rows or fewer, and
// the backward ones those in parts of blockCols columns, so that a part, 128 KiB
// or less, stays in a second-level cache from the gradient of the input to the
// update.
const (
	blockCols   = 512
	blockRows   = 128
	blockFloats = 1 << 15
	// laneRows is how many rows of samples BackwardInput takes at a time.
	laneRows = 64
)

// Dense is a fully connected product y = x W + b with packed W of K x N. N is the
// padded number of outputs, a multiple of 16. W and b are zero in the columns from Cols
// on, so that products may leave them out; 0 means N.
type Dense struct{ K, N, Cols int }

// Forward computes m rows y = x W + bias, followed by a ReLU if relu. Rows of x
// and y are ldx and ldy floats apart; bias has N values, or is nil.
func (d Dense) Forward(y []float32, ldy int, x []float32, ldx, m int, w, bias []float32, relu bool) {
	kernels.GemmNN(&kernels.NN{M: m, N: d.N, K: d.K, Cols: d.Cols, A: x, Lda: ldx, B: w, Bias: bias, C: y, Ldc: ldy, ReLU: relu})
}

// Add adds m rows x W to y.
func (d Dense) Add(y []float32, ldy int, x []float32, ldx, m int, w []float32) {
	kernels.GemmNN(&kernels.NN{M: m, N: d.N, K: d.K, A: x, Lda: ldx, B: w, C: y, Ldc: ldy, Accumulate: true})
}

// A Part of the weights is Rows rows from row K and Cols columns from column J.
type Part struct{ K, Rows, J, Cols int }

// LastPart returns the first columns of the last block, where the passes backwards
// start.
func (d Dense) LastPart() Part {
	k := (d.K - 1) / d.rows() * d.rows()
	return Part{k, d.K - k, 0, min(blockCols, d.N)}
}

// Before returns the part that follows p on the way backwards: the next columns of
// the block, or the first of the block before. Without any, it has no rows.
func (d Dense) Before(p Part) Part {
	if p.J += p.Cols; p.J < d.N {
		p.Cols = min(blockCols, d.N-p.J)
		return p
	}
	if p.K == 0 {
		return Part{}
	}
	return Part{p.K - d.rows(), d.rows(), 0, min(blockCols, d.N)}
}

// At returns the place of the part in the weights. Its panels are K*16 floats
// apart.
func (d Dense) At(p Part) int { return p.J*d.K + p.K*kernels.Width }

// next returns x, which is laid out like the weights, from the part that follows p.
func (d Dense) next(x []float32, p Part) []float32 {
	if n := d.Before(p); n.Rows > 0 && x != nil {
		return x[d.At(n):]
	}
	return nil
}

// PartSize returns the most floats of a part.
func (d Dense) PartSize() int { return d.rows() * min(blockCols, d.N) }

// rows returns the rows of a block of weights: all, or a multiple of 16, because
// the input's gradient is written in groups of 16.
func (d Dense) rows() int {
	return min(min(blockFloats/min(d.N, blockCols), blockRows)&^(kernels.Width-1), d.K)
}

// LaneSize returns the floats of scratch memory that BackwardInput and Step need
// for up to m rows.
func (d Dense) LaneSize(m int) int { return min(laneRows, m) * laneStride(d.rows()) * kernels.Width }

// BackwardInput computes m rows dx = dy W^T of Pad(K) columns. The sum over the
// columns of W runs in 16 lanes, column j in lane j%16, which are then added up as
// in [kernels.SumLanes]. lanes is scratch memory of LaneSize floats.
func (d Dense) BackwardInput(dx []float32, lddx int, dy []float32, lddy, m int, w, lanes []float32) {
	for i := 0; i < m; i += laneRows {
		for p := d.LastPart(); p.Rows > 0; p = d.Before(p) {
			d.inputPart(p, dx[i*lddx:], lddx, dy[i*lddy:], lddy, min(laneRows, m-i), w, lanes, d.next(w, p))
		}
	}
}

// laneStride returns how many groups of lanes apart the samples' are for a part of
// the given rows: an odd number, so that no two of them meet in one set of a cache.
func laneStride(rows int) int { return kernels.Pad(rows) + 1 }

// inputPart adds the columns of a part of W to the lanes, and sums the lanes up
// with the last ones. The parts of a block must be taken in the order of their
// columns.
func (d Dense) inputPart(p Part, dx []float32, lddx int, dy []float32, lddy, m int, w, lanes, next []float32) {
	kernels.GemmNT(&kernels.NT{
		M: m, K: p.Rows, N: p.Cols, A: dy[p.J:], Lda: lddy, B: w[d.At(p):], BRows: d.K,
		L: lanes, LRows: laneStride(p.Rows), Accumulate: p.J > 0, Next: next,
	})
	if p.J+p.Cols == d.N {
		d.sumLanes(p, dx, lddx, m, lanes)
	}
}

// sumLanes adds up the lanes of a block's rows, once all columns are in them.
func (d Dense) sumLanes(p Part, dx []float32, lddx, m int, lanes []float32) {
	sumLanes(dx[p.K:], lddx, m, lanes, p.Rows, laneStride(p.Rows))
}

// sumLanes writes to m rows of dst, ldd floats apart, the sums of n groups of lanes each,
// of which a row has stride, and zeros up to a multiple of 16.
func sumLanes(dst []float32, ldd, m int, lanes []float32, n, stride int) {
	pad := kernels.Pad(n)
	for i := range m {
		l := lanes[i*stride*kernels.Width:][:pad*kernels.Width]
		clear(l[n*kernels.Width:])
		kernels.SumLanes(dst[i*ldd:][:pad], l)
	}
}

// BackwardWeights computes the weights' gradient gw = x^T dy over m rows, or adds
// it to gw if accumulate.
func (d Dense) BackwardWeights(gw, x []float32, ldx int, dy []float32, lddy, m int, accumulate bool) {
	kernels.GemmTN(&kernels.TN{M: m, K: d.K, N: d.N, A: x, Lda: ldx, G: dy, Ldg: lddy, C: gw, Accumulate: accumulate})
}

// WeightsPart is the part of BackwardWeights for a part of W. gw starts there; its
// panels are rows*16 floats apart, rows = K within a whole gradient.
func (d Dense) WeightsPart(p Part, gw []float32, rows int, x []float32, ldx int, dy []float32, lddy, m int, accumulate bool) {
	kernels.GemmTN(&kernels.TN{
		M: m, K: p.Rows, N: p.Cols, A: x[p.K:], Lda: ldx, G: dy[p.J:], Ldg: lddy, C: gw, CRows: rows, Accumulate: accumulate,
	})
}

// Step is what is left of a training step when the gradient of the outputs is
// known: that of the inputs, and an update of the weights.
type Step struct {
	M        int       // rows, at most StepRows
	X, DY    []float32 // inputs, gradient of the outputs
	LdX, LdY int
	DX       []float32 // gradient of the inputs; nil if not wanted
	LdDX     int
	SGD      kernels.SGD // W, V and Anchor of the layer; its G is not used
	Lanes    []float32   // scratch memory of LaneSize floats, if DX is wanted

	// Sums, if not nil, gets the products of the weights' gradient and of their way
	// from From, a vector laid out like them, added part by part and panel by
	// panel: see [kernels.TNStep]. Products is scratch memory of ProductSize floats
	// for it.
	Sums           *[3]float64
	From, Products []float32

	// Update, if not nil, updates the weights in place of SGD. Grad is scratch
	// memory of PartSize floats for it, Near a vector laid out like the weights
	// that it reads, or nil.
	Update     Updater
	Grad, Near []float32

	columns []float32 // of DenseBF16; X and DY are pairs of rows then
}

// Updater updates weights of which it gets the gradient, panel by panel: that of
// len(grad) weights from the layer's weight at on. It may overwrite the gradient.
type Updater interface {
	UpdatePanel(grad []float32, at int)
}

// ProductSize is how many floats Step.Products has.
const ProductSize = 3 * blockCols / kernels.Width

// StepRows is the most rows of a Step.
const StepRows = laneRows

// Step takes W part by part through all that is left: it is read and written once,
// and its gradient does not go to memory. The bits are the bits of BackwardInput,
// BackwardWeights and kernels.SGDStep.
func (d Dense) Step(s *Step) {
	w, v := s.SGD.W, s.SGD.V
	for p := d.LastPart(); p.Rows > 0; p = d.Before(p) {
		at := d.At(p)
		if s.Update != nil {
			d.updatePart(s, p)
			continue
		}
		u := kernels.TNStep{Grad: s.gradient(p), Step: s.SGD, Next: d.next(w, p), NextV: d.next(v, p)}
		u.Grad.CRows = d.K
		u.Step.W = w[at:]
		if v != nil {
			u.Step.V = v[at:]
		}
		if s.SGD.Anchor != nil {
			u.Step.Anchor = s.SGD.Anchor[at:]
		}
		if s.Sums != nil {
			u.From, u.Products = s.From[at:], s.Products[:3*p.Cols/kernels.Width]
			if v == nil {
				u.NextV = d.next(s.From, p)
			}
		}
		if s.DX != nil {
			next := u.Next
			if v != nil {
				next, u.NextV = u.Step.V, nil
			}
			d.stepInput(s, p, next)
		}
		kernels.GemmTNStep(&u)
		for i, x := range u.Products {
			s.Sums[i%3] += float64(x)
		}
	}
}

// gradient returns the product that is the gradient of a part.
func (s *Step) gradient(p Part) kernels.TN {
	t := kernels.TN{M: s.M, K: p.Rows, N: p.Cols, A: s.X[p.K:], Lda: s.LdX, G: s.DY[p.J:], Ldg: s.LdY}
	if s.columns != nil {
		t.M, t.BF16 = PairedRows(s.M), true
	}
	return t
}

// stepInput adds a part to the gradient of the inputs.
func (d Dense) stepInput(s *Step, p Part, next []float32) {
	if s.columns != nil {
		DenseBF16{Dense: d}.inputPart(p, s.DX, s.LdDX, s.columns, s.M, s.SGD.W, s.Lanes, next)
		return
	}
	d.inputPart(p, s.DX, s.LdDX, s.DY, s.LdY, s.M, s.SGD.W, s.Lanes, next)
}

// updatePart is a Step's part with an Updater: the part, its gradient and what is
// near stay in the cache.
func (d Dense) updatePart(s *Step, p Part) {
	at := d.At(p)
	if s.DX != nil {
		var near []float32
		if s.Near != nil {
			near = s.Near[at:]
		}
		d.stepInput(s, p, near)
	}
	t := s.gradient(p)
	t.C = s.Grad
	kernels.GemmTN(&t)
	for i := range p.Cols / kernels.Width {
		s.Update.UpdatePanel(s.Grad[i*p.Rows*kernels.Width:][:p.Rows*kernels.Width], at+i*d.K*kernels.Width)
	}
}

// BackwardBias computes the bias' gradient gb, unless that is nil, the column sums of m
// rows of dy, or adds them to gb if accumulate.
func (d Dense) BackwardBias(gb, dy []float32, lddy, m int, accumulate bool) {
	if gb == nil {
		return
	}
	if !accumulate {
		clear(gb[:d.N])
	}
	kernels.ColSum(gb, dy, m, d.N, lddy)
}
