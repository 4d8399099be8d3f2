package tensor

import "github.com/fedfast/fedfast/kernels"

// The backward passes of Dense take the weights in tiles of tileCols columns, four
// whole panels, and as many rows as make tileFloats: 128 KiB, so that a tile, its
// transpose and its gradient stay in a second-level cache, while a tile's part
// of a panel is long enough to be read from memory at full speed.
const (
	tileFloats = 1 << 15
	tileCols   = 4 * kernels.Width
)

// Dense is a fully connected product y = x W + b with packed W of K x N. N is the
// padded number of outputs, a multiple of 16.
type Dense struct{ K, N int }

// Forward computes m rows y = x W + bias, followed by a ReLU if relu. Rows of x
// and y are ldx and ldy floats apart; bias has N values.
func (d Dense) Forward(y []float32, ldy int, x []float32, ldx, m int, w, bias []float32, relu bool) {
	kernels.GemmNN(&kernels.NN{M: m, N: d.N, K: d.K, A: x, Lda: ldx, B: w, Bias: bias, C: y, Ldc: ldy, ReLU: relu})
}

// Tile returns the rows and columns of the tiles that cut W; those at the ends are
// smaller.
func (d Dense) Tile() (rows, cols int) {
	cols = min(tileCols, d.N)
	return min(tileFloats/cols, d.K), cols
}

// TileSize returns the floats of a tile, its rows padded to whole panels.
func (d Dense) TileSize() int {
	rows, cols := d.Tile()
	return kernels.Pad(rows) * cols
}

// BackwardInput computes m rows dx = dy W^T of Pad(K) columns; tile is scratch
// memory of TileSize floats. The weights are transposed tile by tile, which saves
// a transposed copy's way to memory and back.
func (d Dense) BackwardInput(dx []float32, lddx int, dy []float32, lddy, m int, w, tile []float32) {
	rows, cols := d.Tile()
	for k := 0; k < d.K; k += rows {
		for j := 0; j < d.N; j += cols {
			d.InputTile(dx, lddx, dy, lddy, m, w, tile, k, j)
		}
	}
}

// InputTile is the part of BackwardInput for the tile of W at row k and column j.
// The tiles of the same rows must be taken in the order of their columns.
func (d Dense) InputTile(dx []float32, lddx int, dy []float32, lddy, m int, w, tile []float32, k, j int) {
	rows, cols := d.tile(k, j)
	kernels.PackT(tile, cols, w[j*d.K+k*kernels.Width:], d.K, rows, cols)
	kernels.GemmNN(&kernels.NN{M: m, N: kernels.Pad(rows), K: cols, A: dy[j:], Lda: lddy, B: tile, C: dx[k:], Ldc: lddx, Accumulate: j > 0})
}

// tile returns the size of the tile at row k and column j.
func (d Dense) tile(k, j int) (rows, cols int) {
	rows, cols = d.Tile()
	return min(rows, d.K-k), min(cols, d.N-j)
}

// BackwardWeights computes the weights' gradient gw = x^T dy over m rows, or adds
// it to gw if accumulate.
func (d Dense) BackwardWeights(gw, x []float32, ldx int, dy []float32, lddy, m int, accumulate bool) {
	kernels.GemmTN(&kernels.TN{M: m, K: d.K, N: d.N, A: x, Lda: ldx, G: dy, Ldg: lddy, C: gw, Accumulate: accumulate})
}

// WeightsTile is the part of BackwardWeights for the tile at row k and column j.
// gw starts at the tile; its panels are panel floats apart, K*16 within a whole
// gradient.
func (d Dense) WeightsTile(gw []float32, panel int, x []float32, ldx int, dy []float32, lddy, m, k, j int, accumulate bool) {
	rows, cols := d.tile(k, j)
	kernels.GemmTN(&kernels.TN{M: m, K: rows, N: cols, A: x[k:], Lda: ldx, G: dy[j:], Ldg: lddy, C: gw, CRows: panel / kernels.Width, Accumulate: accumulate})
}

// BackwardBias computes the bias' gradient gb, the column sums of m rows of dy, or
// adds them to gb if accumulate.
func (d Dense) BackwardBias(gb, dy []float32, lddy, m int, accumulate bool) {
	if !accumulate {
		clear(gb[:d.N])
	}
	kernels.ColSum(gb, dy, m, d.N, lddy)
}
