package tensor

import "github.com/fedfast/fedfast/kernels"

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
