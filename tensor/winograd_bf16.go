package tensor

import "github.com/fedfast/fedfast/kernels"

// BF16 returns w with the factors of its products, which are what the transforms
// give, rounded to bf16. Sums run over pairs of channels, and in a gradient of
// weights over pairs of neighbouring tiles in a row; a last tile without a
// neighbour is paired with zeros. A product has the relative error of its rounded
// factors, up to 2^-8 in all; transforms and sums are as they are without.
func (w Winograd) BF16(blocks bool) Winograd {
	w.bf16, w.blocks = true, blocks
	return w
}

// roundedRows is how many rows of weights are transformed before they are rounded.
const roundedRows = 64

// wide returns the floats that are transformed before they are rounded: a row of
// tiles, or some rows of a panel of weights.
func (w Winograd) wide(cols int) int {
	return 16 * max(w.cols*max(w.C, cols), min(roundedRows, w.C)*kernels.Width)
}

// row returns where a row of tiles of c channels goes before it is rounded.
func (w Winograd) row(s *winogradSpace, c int) kernels.Tiles {
	return kernels.Tiles{Data: s.wide, Plane: w.cols * c, Ld: c}
}

// channelPairs returns the transformed images in pairs of channels.
func (w Winograd) channelPairs(s *winogradSpace, n int) kernels.Tiles {
	v := kernels.Tiles{Data: s.v.Data, Ld: w.C / 2}
	if v.Ld%256 == 0 {
		v.Ld += kernels.Width
	}
	v.Plane = n * w.Tiles() * v.Ld
	return v
}

// tilePairs returns transformed images or gradients in pairs of tiles, ld apart.
func (w Winograd) tilePairs(data []float32, n, ld int) kernels.Tiles {
	return kernels.Tiles{Data: data, Plane: n * w.rows * PairedRows(w.cols) * ld, Ld: ld}
}

// pairChannels rounds a row of tiles, the i-th of all.
func (w Winograd) pairChannels(v, row kernels.Tiles, i int) {
	for p := range 16 {
		roundRowsTo(v.Data[p*v.Plane+i*w.cols*v.Ld:], row.Data[p*row.Plane:], w.cols, w.C, v.Ld)
	}
}

// roundRowsTo makes pairs of neighbours in rows of n floats, an even number, that
// follow one another; the rows of pairs are ld apart.
func roundRowsTo(dst, src []float32, rows, n, ld int) {
	if ld == n/2 {
		kernels.RoundPairs(dst, src[:rows*n])
		return
	}
	for i := range rows {
		kernels.RoundPairs(dst[i*ld:], src[i*n:][:n])
	}
}

// pairTiles rounds a row of tiles of c channels, the i-th of all, in pairs of
// tiles.
func (w Winograd) pairTiles(v, row kernels.Tiles, i, c int) {
	pairs := PairedRows(w.cols)
	for p := range 16 {
		r := kernels.PairRows{
			Rows: pairs, N: c, Src: row.Data[p*row.Plane:], Step: 2 * row.Ld, Other: row.Ld, Single: w.cols%2 > 0,
			Dst: v.Data[p*v.Plane+i*pairs*v.Ld:], Ld: v.Ld,
		}
		r.Run()
	}
}

// roundWeights makes the transformed weights of panels panels in pairs of channels.
func (w Winograd) roundWeights(s *winogradSpace, weights []float32, panels int) {
	const width = kernels.Width
	n := w.C * width
	for i := range panels {
		for c := 0; c < w.C; c += roundedRows {
			rows := min(roundedRows, w.C-c)
			kernels.WinogradWeights(s.wide, rows*width, weights[9*i*n+c*width:], n, rows*width)
			for p := range 16 {
				r := kernels.PairRows{
					Rows: rows / 2, N: width, Src: s.wide[p*rows*width:], Step: 2 * width, Other: width,
					Dst: s.u[(p*panels+i)*n/2+c/2*width:], Ld: width,
				}
				r.Run()
			}
		}
	}
}
