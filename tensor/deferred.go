package tensor

import "github.com/fedfast/fedfast/kernels"

// Deferred is a Dense that takes steps along gradients without writing its weights.
// After some steps of SGD these are
//
//	alpha*W0 + sum over rows j of weigh[j] * x_j^T dy_j
//
// where W0 are those before the first step, x_j the inputs and dy_j the gradients of the
// outputs of all rows so far, and alpha and weigh follow from the steps alone. So the
// rows are kept, W0 stays as it is, and what a product with the weights lacks is made of
// two products with the rows. K and N are multiples of 16, with products in bf16 of 32.
type Deferred struct {
	Dense
	apart  int       // rows of a packed panel: an odd number, so that panels do not meet in one set of a cache
	x, dy  []float32 // row by row
	xp, yp []float32 // packed
	with   []float32 // products of rows with kept ones, weighed
	lanes  []float32

	// Of products in bf16: the pairs of rows of W0, and of its columns, turned; see
	// DenseBF16.LoadWeights. Else nil.
	pairs, turned []float32

	Blocks bool // as in DenseBF16
}

func (d *Deferred) half() DenseBF16 { return DenseBF16{Dense: d.Dense, Blocks: d.Blocks} }

// alongRows is how many kept rows are multiplied at a time, so that the lanes of the
// products stay in a second-level cache.
const alongRows = 64

// MostDeferred returns how many rows fit into as much memory as the weights take, in
// which Defer keeps them.
func (d Dense) MostDeferred() int { return (d.K*d.N/(d.K+d.N) - 1) / 2 }

// DeferredSpace returns the number of floats of scratch memory that Defer needs for the
// given number of rows in total, of which m come at once.
func DeferredSpace(most, m int) int { return m * (kernels.Pad(most|1) + deferredLanes(most)) }

// deferredLanes returns the floats of lanes that a row has. They serve for pairs of what
// was made of them, too.
func deferredLanes(most int) int { return max(alongRows*kernels.Width, kernels.Pad(most|1)) }

// Defer begins with the weights w, for most rows in all, of which up to m come at once.
// Of the memory of the caller, which is its until Apply has returned, room has as many
// floats as the weights and scratch DeferredSpace. Products are in bf16 if rounded, which
// has as many as the weights, is not nil: they are rounded here, with 16*K floats of
// panel, and turned only if the gradient of the inputs is wanted, dx.
func (d Dense) Defer(most, m int, w, room, scratch, rounded, panel []float32, dx bool) Deferred {
	f := Deferred{Dense: d, apart: most | 1}
	cut := func(of *[]float32, n int) (part []float32) {
		part, *of = (*of)[:n:n], (*of)[n:]
		return part
	}
	f.x, f.dy = cut(&room, most*d.K), cut(&room, most*d.N)
	f.xp, f.yp = cut(&room, f.apart*d.K), cut(&room, f.apart*d.N)
	f.with, f.lanes = cut(&scratch, m*kernels.Pad(f.apart)), cut(&scratch, m*deferredLanes(most))
	if rounded != nil {
		f.pairs = cut(&rounded, PairedRows(d.K)*d.N)
		if dx {
			f.turned = cut(&rounded, d.N/2*d.K)
		}
		f.Round(w, panel)
	}
	return f
}

// Round rounds the weights again, where something else was written over what Defer
// rounded; panel has 16*K floats.
func (d *Deferred) Round(w, panel []float32) {
	if d.pairs != nil {
		d.half().LoadWeights(d.pairs, d.turned, w, panel)
	}
}

// Rows are what a Deferred weighs the rows that it has kept by, see there: as many as
// Weigh has, the first ones.
type Rows struct {
	Alpha float32
	Weigh []float32
}

// Forward is Dense.Forward with the weights after the given rows; w is W0. scratch is the
// scratch of DenseBF16, for products in bf16.
func (d *Deferred) Forward(y []float32, ldy int, x []float32, ldx, m int, w, bias []float32, relu bool, rows Rows, scratch []float32) {
	along := len(rows.Weigh) > 0 || rows.Alpha != 1
	start := bias
	if rows.Alpha != 1 {
		start = nil
	}
	if d.pairs != nil {
		d.half().ForwardPairs(y, ldy, x, ldx, m, d.pairs, start, relu && !along, scratch)
	} else {
		d.Dense.Forward(y, ldy, x, ldx, m, w, start, relu && !along)
	}
	if !along {
		return
	}
	d.shrink(y, ldy, m, d.N, rows.Alpha)
	if rows.Alpha != 1 && bias != nil {
		for i := range m {
			kernels.Add(y[i*ldy:][:d.N], y[i*ldy:][:d.N], bias[:d.N])
		}
	}
	if d.pairs != nil {
		x, ldx = scratch, apart(PairedRows(d.K))
	}
	d.along(y, ldy, d.N, x, ldx, d.K, m, d.xp, d.yp, relu, rows)
}

// BackwardInput is Dense.BackwardInput for gradients dy of the outputs, after the rows before
// those; w is W0. lanes has LaneSize floats; for products in bf16 it is not used, and
// scratch is the scratch memory of DenseBF16 after its Load.
func (d *Deferred) BackwardInput(dx []float32, lddx int, dy []float32, lddy, m int, w []float32, rows Rows, lanes, scratch []float32) {
	if d.turned != nil {
		d.half().InputAcross(dx, lddx, m, d.turned, scratch)
	} else {
		d.Dense.BackwardInput(dx, lddx, dy, lddy, m, w, lanes)
	}
	d.shrink(dx, lddx, m, d.K, rows.Alpha)
	if d.pairs != nil {
		l := d.half()
		dy, _, _ = l.space(m, scratch)
		lddy = apart(l.columns())
	}
	d.along(dx, lddx, d.K, dy, lddy, d.N, m, d.yp, d.xp, false, rows)
}

// shrink multiplies m rows of n floats.
func (d *Deferred) shrink(y []float32, ldy, m, n int, alpha float32) {
	if alpha == 1 {
		return
	}
	for i := range m {
		kernels.Scale(y[i*ldy:][:n], alpha)
	}
}

// along adds to m rows y of ny floats what they lack of kept rows: the weighed products
// of rows a of na floats, or of their pairs of bf16, with those of one side, times those
// of the other.
func (d *Deferred) along(y []float32, ldy, ny int, a []float32, lda, na, m int, one, other []float32, relu bool, rows Rows) {
	r, bf16 := len(rows.Weigh), d.pairs != nil
	ld := kernels.Pad(d.apart)
	for at := 0; at < r; at += alongRows {
		k := min(alongRows, r-at)
		kernels.GemmNT(&kernels.NT{M: m, K: k, N: na, A: a, Lda: lda, B: one[at*kernels.Width:], BRows: d.apart, L: d.lanes, LRows: alongRows, BF16: bf16})
		sumLanes(d.with[at:], ld, m, d.lanes, k, alongRows)
	}
	for i := range m {
		with := d.with[i*ld:][:r]
		for j, c := range rows.Weigh {
			with[j] *= c
		}
	}
	with := d.with
	if bf16 {
		with = d.lanes // which are free again
		pairNeighbours(with, ld, d.with, ld, m, r)
	}
	kernels.GemmNN(&kernels.NN{M: m, N: ny, K: r, A: with, Lda: ld, B: other, BRows: d.apart, C: y, Ldc: ldy, Accumulate: true, ReLU: relu, BF16: bf16, Floats: bf16})
}

// Keep takes m rows of inputs and of the outputs' gradients in, from row at on.
func (d *Deferred) Keep(at int, x []float32, ldx int, dy []float32, lddy, m int) {
	for i := range m {
		d.keep(d.x, d.xp, at+i, x[i*ldx:][:d.K])
		d.keep(d.dy, d.yp, at+i, dy[i*lddy:][:d.N])
	}
}

// keep takes a row in.
func (d *Deferred) keep(rows, packed []float32, at int, x []float32) {
	copy(rows[at*len(x):], x)
	for p := range len(x) / kernels.Width {
		*(*[kernels.Width]float32)(packed[(p*d.apart+at)*kernels.Width:]) = *(*[kernels.Width]float32)(x[p*kernels.Width:])
	}
}

// Apply makes the weights w, W0 before, those after all steps.
func (d *Deferred) Apply(w []float32, rows Rows) {
	if rows.Alpha != 1 {
		kernels.Scale(w, rows.Alpha)
	}
	r := len(rows.Weigh)
	for i, c := range rows.Weigh {
		kernels.Scale(d.dy[i*d.N:][:d.N], c)
	}
	t := kernels.TN{M: r, K: d.K, N: d.N, A: d.x, Lda: d.K, G: d.dy, Ldg: d.N, C: w, Accumulate: true}
	if d.pairs != nil { // instead of the packed rows, which are no longer read
		PairSamples(d.xp, d.x, d.K, r, d.K)
		PairSamples(d.yp, d.dy, d.N, r, d.N)
		t.M, t.A, t.G, t.BF16 = PairedRows(r), d.xp, d.yp, true
		t.Blocks = d.Blocks
	}
	kernels.GemmTN(&t)
}
