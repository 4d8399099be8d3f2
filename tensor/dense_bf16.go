package tensor

import "github.com/fedfast/fedfast/kernels"

// DenseBF16 is Dense with the factors of all products rounded to bf16. Weights are
// rounded while they go through the products, and nothing is kept of them between two
// calls, unless LoadWeights rounds them before. Sums over the rows of samples take them in pairs from the
// first row of a call, or each by itself where Alone, so that no sum depends on which rows
// a call has.
type DenseBF16 struct {
	Dense
	Alone bool
	// Blocks has the sums of ForwardPairs, InputAcross and WeightsPart in blocks.
	Blocks bool
}

// pairs returns the pairs that m rows make.
func (d DenseBF16) pairs(m int) int {
	if d.Alone {
		return m
	}
	return PairedRows(m)
}

// columns returns the pairs of neighbours in a row of outputs: those of a multiple
// of 32 outputs.
func (d DenseBF16) columns() int {
	return (d.N + 2*kernels.Width - 1) / (2 * kernels.Width) * kernels.Width
}

// apart returns how far apart rows of n floats are: an odd number of lines, so that
// no two of them meet in one set of a cache.
func apart(n int) int { return kernels.Pad(n) | kernels.Width }

// Space returns the floats of scratch memory that the methods need for m rows.
func (d DenseBF16) Space(m int) int {
	return max(m*apart(PairedRows(d.K)), m*apart(d.columns())+d.pairs(m)*(apart(d.K)+apart(d.N)))
}

// space divides the scratch memory of the backward pass: the output's gradient in
// pairs of columns, the inputs and the output's gradient in pairs of rows.
func (d DenseBF16) space(m int, scratch []float32) (columns, x, dy []float32) {
	columns, scratch = scratch[:m*apart(d.columns())], scratch[m*apart(d.columns()):]
	n := d.pairs(m) * apart(d.K)
	return columns, scratch[:n], scratch[n:][:d.pairs(m)*apart(d.N)]
}

// Forward is Dense.Forward.
func (d DenseBF16) Forward(y []float32, ldy int, x []float32, ldx, m int, w, bias []float32, relu bool, scratch []float32) {
	ld := apart(PairedRows(d.K))
	pairNeighbours(scratch, ld, x, ldx, m, d.K)
	kernels.GemmNN(&kernels.NN{M: m, N: d.N, K: d.K, A: scratch, Lda: ld, B: w, Bias: bias, C: y, Ldc: ldy, ReLU: relu, BF16: true, Floats: true})
}

// LoadWeights rounds the weights once for many rows: to pairs, the B of ForwardPairs,
// and, unless turned is nil, to turned, that of InputAcross, for which N is a multiple of
// 32. They have PairedRows(K)*N and N/2*Pad(K) floats; scratch, then, has 16*K.
func (d DenseBF16) LoadWeights(pairs, turned, w, scratch []float32) {
	PairWeights(pairs, w, d.K, d.N)
	if turned != nil {
		TurnPairs(turned, w, d.K, d.N, scratch)
	}
}

// ForwardPairs is Forward with the pairs of LoadWeights.
func (d DenseBF16) ForwardPairs(y []float32, ldy int, x []float32, ldx, m int, pairs, bias []float32, relu bool, scratch []float32) {
	ld := apart(PairedRows(d.K))
	pairNeighbours(scratch, ld, x, ldx, m, d.K)
	kernels.GemmNN(&kernels.NN{M: m, N: d.N, K: PairedRows(d.K), Cols: d.Cols, A: scratch, Lda: ld, B: pairs, Bias: bias, C: y, Ldc: ldy, ReLU: relu, BF16: true, Blocks: d.Blocks})
}

// InputAcross computes the gradient of the inputs for the m rows of Load with the
// turned weights of LoadWeights: each element is one chain over the outputs, in pairs of
// neighbours.
func (d DenseBF16) InputAcross(dx []float32, lddx, m int, turned, scratch []float32) {
	columns, _, _ := d.space(m, scratch)
	kernels.GemmNN(&kernels.NN{M: m, N: kernels.Pad(d.K), K: d.N / 2, A: columns, Lda: apart(d.columns()), B: turned, C: dx, Ldc: lddx, BF16: true, Blocks: d.Blocks})
}

// pairNeighbours makes pairs of neighbours in m rows of n floats.
func pairNeighbours(dst []float32, ldd int, x []float32, ldx, m, n int) {
	for i := range m {
		kernels.RoundPairs(dst[i*ldd:], x[i*ldx:][:n])
	}
}

// Load rounds what the other methods of the backward pass multiply: m rows of
// inputs and of gradients of the outputs.
func (d DenseBF16) Load(x []float32, ldx int, dy []float32, lddy, m int, scratch []float32) {
	columns, in, out := d.space(m, scratch)
	d.pairRows(in, x, ldx, m, d.K)
	d.pairRows(out, dy, lddy, m, d.N)
	pairNeighbours(columns, apart(d.columns()), dy, lddy, m, d.N)
	if n := d.columns(); n > d.N/2 {
		for i := range m {
			clear(columns[i*apart(n):][d.N/2 : n])
		}
	}
}

// pairRows makes pairs of m rows of n floats.
func (d DenseBF16) pairRows(dst, x []float32, ld, m, n int) {
	most := m
	if d.Alone {
		most = 1
	}
	for i := 0; i < m; i += most {
		p := kernels.PairRows{Rows: PairedRows(most), N: n, Src: x[i*ld:], Step: 2 * ld, Other: ld, Single: most%2 > 0, Dst: dst[i*apart(n):], Ld: apart(n)}
		p.Run()
	}
}

// BackwardInput is Dense.BackwardInput for the m rows of Load.
func (d DenseBF16) BackwardInput(dx []float32, lddx, m int, w, lanes, scratch []float32) {
	columns, _, _ := d.space(m, scratch)
	for i := 0; i < m; i += laneRows {
		for p := d.LastPart(); p.Rows > 0; p = d.Before(p) {
			d.inputPart(p, dx[i*lddx:], lddx, columns[i*apart(d.columns()):], min(laneRows, m-i), w, lanes, d.next(w, p))
		}
	}
}

// inputPart is Dense.inputPart for m rows of pairs of columns.
func (d DenseBF16) inputPart(p Part, dx []float32, lddx int, columns []float32, m int, w, lanes, next []float32) {
	kernels.GemmNT(&kernels.NT{
		M: m, K: p.Rows, N: p.Cols, A: columns[p.J/2:], Lda: apart(d.columns()), B: w[d.At(p):], BRows: d.K,
		L: lanes, LRows: laneStride(p.Rows), Accumulate: p.J > 0, Next: next, BF16: true,
	})
	if p.J+p.Cols == d.N {
		d.sumLanes(p, dx, lddx, m, lanes)
	}
}

// WeightsPart is Dense.WeightsPart for the m rows of Load.
func (d DenseBF16) WeightsPart(p Part, gw []float32, rows, m int, accumulate bool, scratch []float32) {
	_, x, dy := d.space(m, scratch)
	kernels.GemmTN(&kernels.TN{
		M: d.pairs(m), K: p.Rows, N: p.Cols, A: x[p.K:], Lda: apart(d.K), G: dy[p.J:], Ldg: apart(d.N), C: gw, CRows: rows, Accumulate: accumulate, BF16: true, Blocks: d.Blocks,
	})
}

// Step is Dense.Step for the s.M rows of Load. X, DY and their distances are not
// used.
func (d DenseBF16) Step(s *Step, scratch []float32) {
	s.columns, s.X, s.DY = d.space(s.M, scratch)
	s.LdX, s.LdY = apart(d.K), apart(d.N)
	d.Dense.Step(s)
}

// Whole returns all of the weights as one part.
func (d Dense) Whole() Part { return Part{0, d.K, 0, d.N} }

// Pairs of bf16 for products: see kernels.NN.BF16. Two numbers take the place of
// one float.

// PairedRows returns the rows of pairs that rows of floats make: half of them.
func PairedRows(rows int) int { return (rows + 1) / 2 }

// PairWeights makes pairs of neighbouring rows of packed weights of k rows and n
// columns, n a multiple of 16, rounded to bf16: the B of a product over their rows,
// of PairedRows(k)*n floats. With an odd k the last row is paired with zeros.
func PairWeights(dst, w []float32, k, n int) {
	const width = kernels.Width
	p := kernels.PairRows{Rows: PairedRows(k), N: width, Src: w, Step: 2 * width, Other: width, Single: k%2 > 0, Dst: dst, Ld: width}
	if !p.Single { // the panels follow one another
		p.Rows *= n / width
		p.Run()
		return
	}
	for i := range n / width {
		p.Src, p.Dst = w[i*k*width:][:k*width], dst[i*p.Rows*width:]
		p.Run()
	}
}

// TurnedPairs returns the floats that TurnPairs writes for k rows and n columns.
func TurnedPairs(k, n int) int {
	const width = kernels.Width
	return n/2*kernels.Pad(k) + n%(2*width)/2*width
}

// TurnPairs makes pairs of neighbouring columns of packed weights of k rows and n
// columns, n a multiple of 16 and at least 32, rounded to bf16, and transposes them: the B
// of a product over their columns, of n/2*Pad(k) floats. dst has TurnedPairs(k, n), scratch
// 16*k.
func TurnPairs(dst, w []float32, k, n int, scratch []float32) {
	const width = kernels.Width
	// From the last on: a panel without another is joined with itself, and what that
	// writes too much the others overwrite, but after the last row.
	for j := (n - width) / (2 * width) * 2 * width; j >= 0; j -= 2 * width {
		kernels.JoinPanels(scratch, w[j*k:], w[min(j+width, n-width)*k:], k)
		kernels.PackT(dst[j/2*width:], n/2, scratch, k, k, width)
	}
}

// PairSamples makes pairs of neighbouring rows of n floats, ld apart, rounded to
// bf16: an operand of a sum over the rows, of n*PairedRows(rows) floats.
func PairSamples(dst, x []float32, ld, rows, n int) {
	p := kernels.PairRows{Rows: PairedRows(rows), N: n, Src: x, Step: 2 * ld, Other: ld, Single: rows%2 > 0, Dst: dst, Ld: n}
	p.Run()
}
