package tensor

import "github.com/fedfast/fedfast/kernels"

// Pooled computes the gradients of a convolution behind a max-pool with windows of 2 x 2 pixels, two apart. At most a quarter of the
// gradient of the convolution's output is not zero, and fewer behind a ReLU; only those values are multiplied. Every sum is taken in the
// order of [Conv.BackwardWeights] and [ConvInput.Forward], which work on the whole gradient, so the results have the same bits (but where
// an input or a weight that the whole form multiplies by zero is not finite). A Pooled is the scratch memory of one goroutine.
type Pooled struct {
	v          Conv
	rows, cols int // windows
	pixels     kernels.SparsePixels
	filters    kernels.SparseFilters
	band       int       // rows of windows whose part of the input stays in a first-level cache
	weights    []float32 // by kernel row, block of channels, filter, kernel column; see blocks
	sums       []float32 // by rows of the kernel that are summed at once, block, filter, row, column
	tile       []float32 // one pixel of the kernel: by 16 channels, filter
	x, dx      []float32 // an image and its gradient with the padding on all sides, for padded convolutions
}

// bandBytes is three quarters of a first-level cache.
const bandBytes = 24 << 10

// CanPool reports whether Pooled has kernels for the convolution.
func (v Conv) CanPool() bool {
	return v.Stride == 1 && v.C%kernels.Width == 0 && v.KH == v.KW && kernels.SparseGroups(v.KW) > 0 && v.OH > 1 && v.OW > 1
}

// NewPooled allocates what the gradients of v take. Without input, BackwardInput must not be called.
func NewPooled(v Conv, a *Arena, input bool) *Pooled {
	p := &Pooled{v: v, rows: v.OH / 2, cols: v.OW / 2}
	row := p.row()
	p.band = min(max((bandBytes/(4*row)-v.KH+1)/2, 1), p.rows)
	entries := (p.rows+1)*p.cols*v.N + kernels.Width
	p.pixels = kernels.SparsePixels{
		N: v.N, Start: make([]int32, v.OH*v.OW+1), Value: a.Alloc(entries), Filter: make([]uint32, entries),
	}
	// Lists an odd number of lines apart do not meet in one set of a cache.
	room := kernels.Pad(2*p.band*v.OW) | kernels.Width
	p.filters = kernels.SparseFilters{Room: room, Tail: make([]int32, v.N), Value: a.Alloc(v.N * room), At: make([]uint32, v.N*room)}
	p.sums, p.tile = a.Alloc(v.Rows()*v.N), a.Alloc(v.C*v.N)
	if p.padded() {
		p.x = a.Alloc((v.OH + v.KH - 1) * row)
	}
	if input {
		p.weights = a.Alloc(v.Rows() * v.N)
		if p.padded() {
			p.dx = a.Alloc(v.H * row)
		}
	}
	return p
}

// row returns the floats of an image row with its padding.
func (p *Pooled) row() int { return (p.v.OW + p.v.KW - 1) * p.v.C }

func (p *Pooled) padded() bool {
	return p.v.OH+p.v.KH-1 > p.v.H || p.v.OW+p.v.KW-1 > p.v.W
}

// blocks calls f for blocks of up to 2 groups of 16 channels, from group lo on.
func (p *Pooled) blocks(f func(lo, groups int)) {
	for lo := 0; lo < p.v.C/kernels.Width; {
		n := min(kernels.SparseGroups(p.v.KW), p.v.C/kernels.Width-lo)
		f(lo, n)
		lo += n
	}
}

// Load takes over the packed weights w for BackwardInput.
func (p *Pooled) Load(w []float32) {
	v := p.v
	for k := range v.KH * v.KW {
		kernels.PackT(p.tile, v.N, w[k*v.C*kernels.Width:], v.Rows(), v.C, v.N)
		p.chunks(p.weights, 1, k, func(block, tile *[kernels.Width]float32) { *block = *tile })
	}
}

// Store writes the sums of BackwardWeights to the packed gradient gw.
func (p *Pooled) Store(gw []float32) {
	v := p.v
	for k := range v.KH * v.KW {
		p.chunks(p.sums, kernels.SparseRows(v.KH, v.KW), k, func(block, tile *[kernels.Width]float32) { *tile = *block })
		kernels.PackT(gw[k*v.C*kernels.Width:], v.Rows(), p.tile, v.N, v.N, v.C)
	}
}

// chunks calls f for all filters and groups of channels of pixel k of the kernel, with their places in blocks, which holds rows of the kernel
// together, and in the tile.
func (p *Pooled) chunks(blocks []float32, rows, k int, f func(block, tile *[kernels.Width]float32)) {
	v := p.v
	ky, kx := k/v.KW, k%v.KW
	p.blocks(func(lo, groups int) {
		n := groups * kernels.Width
		filter := rows * v.KW * n
		block := blocks[(ky/rows*v.C+lo*kernels.Width)*rows*v.KW*v.N+(ky%rows*v.KW+kx)*n:]
		for g := range groups {
			tile := p.tile[(lo+g)*v.N*kernels.Width:]
			for j := range v.N {
				f((*[kernels.Width]float32)(block[j*filter+g*kernels.Width:]), (*[kernels.Width]float32)(tile[j*kernels.Width:]))
			}
		}
	})
}

// Reset sets the sums of BackwardWeights to zero.
func (p *Pooled) Reset() { clear(p.sums) }

// Gradient takes the gradient of one image's maxima, whose rows of windows are gradRow floats apart, and their places idx as kernels.MaxPool
// left them.
func (p *Pooled) Gradient(grad []float32, gradRow int, idx []uint8) {
	n, l := p.cols*p.v.N, &p.pixels
	for y := range p.v.OH {
		at := y * p.v.OW
		row := l.Start[at : at+p.v.OW+1]
		done := 0
		if y < 2*p.rows {
			kernels.ListMaxima(l, at, grad[y/2*gradRow:][:n], idx[y/2*n:][:n], y%2)
			done = 2 * p.cols
		}
		for x := done; x < p.v.OW; x++ { // pixels that the pool drops
			row[x+1] = row[x]
		}
	}
}

// BackwardWeights adds the image's part to the sums and, unless that is nil, to the gradient gb of the bias. x starts at the left border of
// the first row, as in [Conv.Forward].
func (p *Pooled) BackwardWeights(gb, x []float32, xRow int) {
	v, l := p.v, &p.filters
	if p.padded() {
		row := p.row()
		for y := range v.H {
			copy(p.x[(v.Top+y)*row:][:row], x[y*xRow:])
		}
		x, xRow = p.x, row
	}
	if l.Sum = gb; gb == nil {
		l.Sum = p.tile // never read
	}
	rows := kernels.SparseRows(v.KH, v.KW)
	for from := 0; from < 2*p.rows; from += 2 * p.band {
		l.Reset()
		part := x[from*xRow:]
		for y := range min(2*p.band, 2*p.rows-from) {
			kernels.AppendByFilter(l, &p.pixels, (from+y)*v.OW, v.OW, y*xRow, v.C)
		}
		for ky := 0; ky < v.KH; ky += rows {
			p.blocks(func(lo, groups int) {
				kernels.SparseWeightsAdd(&kernels.SparseWeights{
					Rows: rows, Cols: v.KW, Groups: groups, Lists: l, X: part[ky*xRow+lo*kernels.Width:], XRow: xRow, Pixel: v.C,
					Sums: p.sums[(ky*v.C+lo*kernels.Width*rows)*v.KW*v.N:],
				})
			})
		}
	}
}

// BackwardInput computes the gradient dx of the image, whose rows are dxRow floats apart, with the weights of Load.
func (p *Pooled) BackwardInput(dx []float32, dxRow int) {
	v := p.v
	to, toRow := dx, dxRow
	if p.padded() {
		to, toRow = p.dx, p.row()
	}
	p.blocks(func(lo, groups int) {
		s := kernels.SparseInput{Cols: v.KW, Groups: groups, Lists: &p.pixels, Pixels: v.OW, Pixel: v.C}
		// The last row of the kernel belongs to the earliest row of the output.
		for ky := v.KH - 1; ky >= 0; ky-- {
			s.W = p.weights[(ky*v.C+lo*kernels.Width)*v.KW*v.N:]
			for y := range v.OH {
				row := y + ky - v.Top
				s.First, s.Fresh = y*v.OW, ky == v.KH-1 || y == 0
				if row < 0 || row >= v.H || !s.Fresh && p.pixels.Start[s.First] == p.pixels.Start[s.First+v.OW] {
					continue
				}
				s.DX = to[row*toRow+lo*kernels.Width:]
				kernels.SparseInputAdd(&s)
			}
		}
	})
	if p.padded() {
		for y := range v.H {
			copy(dx[y*dxRow:][:v.W*v.C], to[y*toRow+v.Left*v.C:])
		}
	}
}
