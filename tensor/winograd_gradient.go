package tensor

import "github.com/fedfast/fedfast/kernels"

// winogradDepth is how many channels the transformed gradient of the weights is
// worked on at a time.
const winogradDepth = 64

// Sums returns the floats of memory that carries the gradient of the weights from
// one call of BackwardWeights to the next.
func (w Winograd) Sums() int { return 16 * w.C * w.N }

// BackwardWeights adds up the gradient of the weights over the n images that
// Input got by tiles and the gradients dy of their outputs. Sums are taken over the
// tiles (image, row, column) before the transform, from the first call of a batch
// to the last, which overwrites gw with the gradient. In between they are in sums;
// a call that is first and last does not need it.
func (w Winograd) BackwardWeights(gw, sums []float32, dy Images, n int, scratch []float32, first, last bool) {
	s := w.space(n, scratch)
	v := s.v
	t := kernels.TN{M: n * w.Tiles(), Accumulate: !first, BF16: w.bf16, Blocks: w.blocks}
	if w.bf16 {
		v = w.tilePairs(s.v.Data, n, w.ld())
		t.M = n * w.rows * PairedRows(w.cols)
	}
	t.Lda = v.Ld
	for p := 0; p < w.N/kernels.Width; p += w.gradientPanels() {
		panels := min(w.gradientPanels(), w.N/kernels.Width-p)
		cols := panels * kernels.Width
		plane := t.M * cols
		w.spread(dy, n, &s, p, cols)
		for c := 0; c < w.C; c += winogradDepth {
			depth := min(winogradDepth, w.C-c)
			u := s.u
			if !first || !last {
				u = sums[16*(p*kernels.Width*w.C+c*cols):]
			}
			t.K, t.N, t.Ldg = depth, cols, cols
			for i := range 16 {
				t.A = v.Data[i*v.Plane+c:]
				t.G = s.m[i*plane:]
				t.C = u[i*depth*cols:]
				kernels.GemmTN(&t)
			}
			if !last {
				continue
			}
			for i := range panels {
				kernels.WinogradGradient(gw[((p+i)*9*w.C+c)*kernels.Width:], w.C*kernels.Width, u[i*depth*kernels.Width:], depth*cols, depth*kernels.Width)
			}
		}
	}
}

// spread transforms some panels of the gradient of the output.
func (w Winograd) spread(dy Images, n int, s *winogradSpace, p, cols int) {
	z := kernels.Tiles{Data: s.m, Plane: n * w.Tiles() * cols, Ld: cols}
	for i := range n * w.rows {
		image, row := i/w.rows, i%w.rows
		top := dy.Data[image*dy.Sample+2*row*dy.Row+p*kernels.Width:]
		rows := [2][]float32{top, s.zero}
		if 2*row+1 < w.OH {
			rows[1] = top[dy.Row:]
		}
		t := z
		if w.bf16 {
			t = w.row(s, cols)
		} else {
			t.Data = z.Data[i*w.cols*cols:]
		}
		w.spreadRow(t, s, &rows, cols)
		if w.bf16 {
			w.pairTiles(w.tilePairs(s.m, n, cols), t, i, cols)
		}
	}
}

// spreadRow transforms a row of tiles. The right column of the last one may lie
// beyond the image.
func (w Winograd) spreadRow(z kernels.Tiles, s *winogradSpace, rows *[2][]float32, cols int) {
	whole, pixel := w.OW/2, w.N
	kernels.WinogradSpread(z, rows, pixel, whole, cols)
	if whole == w.cols {
		return
	}
	tile := s.edge[:4*cols]
	clear(tile)
	for i, r := range rows {
		copy(tile[2*i*cols:][:cols], r[2*whole*pixel:])
	}
	z.Data = z.Data[whole*z.Ld:]
	kernels.WinogradSpread(z, &[2][]float32{tile, tile[2*cols:]}, cols, 1, cols)
}
