package tensor

import "github.com/fedfast/fedfast/kernels"

// Sparse computes the gradients of a convolution from the values of its output's
// gradient that are not zero: after a max-pool with windows of 2 x 2 pixels that
// is a quarter at most, after a ReLU perhaps half. Every sum is taken in the order
// of [Conv.BackwardWeights], [Conv.BackwardBias] and [ConvInput.Forward], which
// work on the whole gradient, so the results have the same bits (but where an input
// or a weight that the whole form multiplies by zero is not finite). A Sparse is
// the scratch memory of one goroutine.
type Sparse struct {
	v       Conv
	pixels  kernels.SparsePixels
	filters kernels.SparseFilters
	band    int       // rows of the output whose part of the input stays in a first-level cache
	weights []float32 // by kernel row, block of channels, filter, kernel column; see blocks
	sums    []float32 // by rows of the kernel that are summed at once, block, filter, row, column
	tile    []float32 // one pixel of the kernel: by 16 channels, filter
	x       []float32 // an image with its padding on all sides, block by block, if it has padding or more than one block
	dx      []float32 // an image's gradient with the padding of its rows, if there is any
	bf16    bool      // the factors of products are rounded
}

// bandBytes is three quarters of a first-level cache.
const bandBytes = 24 << 10

// CanSparse reports whether Sparse has kernels for the convolution.
func (v Conv) CanSparse() bool {
	return v.Stride == 1 && v.C%kernels.Width == 0 && v.KH == v.KW && kernels.SparseGroups(v.KW) > 0 && v.OH > 1 && v.OW > 1
}

// NewSparse allocates what the gradients of v take. Without input, BackwardInput
// must not be called; if maxima, All must not. With bf16 both factors of products are
// rounded to bf16, so that a product is exact in float32 where it does not underflow.
func NewSparse(v Conv, a *Arena, input, maxima, bf16 bool) *Sparse {
	s := &Sparse{v: v, bf16: bf16}
	row, pixel := s.layout()
	s.band = min(max((bandBytes/(4*row)-v.KH+1)&^1, 2), v.OH)
	entries := v.OH * v.OW * v.N
	if maxima {
		entries = (v.OH/2 + 1) * (v.OW / 2) * v.N
	}
	entries += kernels.Width
	s.pixels = kernels.SparsePixels{N: v.N, Start: make([]int32, v.OH*v.OW+1), Value: a.Alloc(entries), Filter: make([]uint32, entries)}
	// Lists an odd number of lines apart do not meet in one set of a cache.
	room := kernels.Pad(s.band*v.OW) | kernels.Width
	s.filters = kernels.SparseFilters{Room: room, Tail: make([]int32, v.N), Value: a.Alloc(v.N * room), At: make([]uint32, v.N*room)}
	s.sums, s.tile = a.Alloc(v.Rows()*v.N), a.Alloc(v.C*v.N)
	if s.padded() || pixel < v.C || bf16 {
		blocks := (v.C + pixel - 1) / pixel
		s.x = a.Alloc(blocks * (v.OH + v.KH - 1) * row)
	}
	if input {
		s.weights = a.Alloc(v.Rows() * v.N)
		if s.padded() {
			s.dx = a.Alloc(v.H * (v.OW + v.KW - 1) * v.C)
		}
	}
	return s
}

// layout returns the floats of a row and of a pixel of x.
func (s *Sparse) layout() (row, pixel int) {
	pixel = min(kernels.SparseGroups(s.v.KW)*kernels.Width, s.v.C)
	return (s.v.OW + s.v.KW - 1) * pixel, pixel
}

func (s *Sparse) padded() bool { return s.v.OH+s.v.KH-1 > s.v.H || s.v.OW+s.v.KW-1 > s.v.W }

// blocks calls f for blocks of up to 2 groups of 16 channels, from group lo on.
func (s *Sparse) blocks(f func(lo, groups int)) {
	for lo := 0; lo < s.v.C/kernels.Width; {
		n := min(kernels.SparseGroups(s.v.KW), s.v.C/kernels.Width-lo)
		f(lo, n)
		lo += n
	}
}

// Load takes over the packed weights w for BackwardInput.
func (s *Sparse) Load(w []float32) {
	v := s.v
	for k := range v.KH * v.KW {
		kernels.PackT(s.tile, v.N, w[k*v.C*kernels.Width:], v.Rows(), v.C, v.N)
		s.chunks(s.weights, 1, k, func(block, tile *[kernels.Width]float32) { *block = *tile })
	}
	s.round(s.weights)
}

// Store writes the sums of BackwardWeights to the packed gradient gw.
func (s *Sparse) Store(gw []float32) {
	v := s.v
	for k := range v.KH * v.KW {
		s.chunks(s.sums, kernels.SparseRows(v.KH, v.KW), k, func(block, tile *[kernels.Width]float32) { *tile = *block })
		kernels.PackT(gw[k*v.C*kernels.Width:], v.Rows(), s.tile, v.N, v.N, v.C)
	}
}

// chunks calls f for all filters and groups of channels of pixel k of the kernel,
// with their places in blocks, which holds rows of the kernel together, and in the
// tile.
func (s *Sparse) chunks(blocks []float32, rows, k int, f func(block, tile *[kernels.Width]float32)) {
	v := s.v
	ky, kx := k/v.KW, k%v.KW
	s.blocks(func(lo, groups int) {
		n := groups * kernels.Width
		filter := rows * v.KW * n
		block := blocks[(ky/rows*v.C+lo*kernels.Width)*rows*v.KW*v.N+(ky%rows*v.KW+kx)*n:]
		for g := range groups {
			tile := s.tile[(lo+g)*v.N*kernels.Width:]
			for j := range v.N {
				f((*[kernels.Width]float32)(block[j*filter+g*kernels.Width:]), (*[kernels.Width]float32)(tile[j*kernels.Width:]))
			}
		}
	})
}

// Reset sets the sums of BackwardWeights to zero.
func (s *Sparse) Reset() { clear(s.sums) }

// Maxima takes the gradient of one image's maxima over windows of 2 x 2 pixels,
// whose rows of windows are gradRow floats apart, and their places idx as
// kernels.MaxPool left them.
func (s *Sparse) Maxima(grad []float32, gradRow int, idx []uint8) {
	n, l := s.v.OW/2*s.v.N, &s.pixels
	for y := range s.v.OH {
		at := y * s.v.OW
		row := l.Start[at : at+s.v.OW+1]
		done := 0
		if y/2 < s.v.OH/2 {
			kernels.ListMaxima(l, at, grad[y/2*gradRow:][:n], idx[y/2*n:][:n], y%2)
			done = s.v.OW &^ 1
		}
		for x := done; x < s.v.OW; x++ { // pixels that the pool drops
			row[x+1] = row[x]
		}
	}
}

// All takes the gradient of one image, whose rows are gradRow floats apart, and
// returns how many values are not zero.
func (s *Sparse) All(grad []float32, gradRow int) int {
	n := s.v.OW * s.v.N
	for y := range s.v.OH {
		kernels.ListNonZero(&s.pixels, y*s.v.OW, grad[y*gradRow:][:n])
	}
	return int(s.pixels.Start[s.v.OH*s.v.OW])
}

// BackwardWeights adds the image's part to the sums and, unless that is nil, to the
// gradient gb of the bias. x starts at the left border of the first row, as in
// [Conv.Forward].
func (s *Sparse) BackwardWeights(gb, x []float32, xRow int) {
	v, l := s.v, &s.filters
	row, pixel := xRow, v.C
	if s.x != nil {
		row, pixel = s.layout()
		s.copyImage(x, xRow, row, pixel)
		x = s.x
		s.round(x)
	}
	if l.Sum = gb; gb == nil {
		l.Sum = s.tile // never read
	}
	rows := kernels.SparseRows(v.KH, v.KW)
	for from := 0; from < v.OH; from += s.band {
		l.Reset()
		for y := range min(s.band, v.OH-from) {
			kernels.AppendByFilter(l, &s.pixels, (from+y)*v.OW, v.OW, y*row, pixel)
		}
		s.round(l.Value)
		for ky := 0; ky < v.KH; ky += rows {
			s.blocks(func(lo, groups int) {
				at := (from+ky)*row + lo*kernels.Width
				if s.x != nil {
					at = (lo*kernels.Width/pixel*(v.OH+v.KH-1) + from + ky) * row
				}
				kernels.SparseWeightsAdd(&kernels.SparseWeights{
					Rows: rows, Cols: v.KW, Groups: groups, Lists: l, X: x[at:], XRow: row, Pixel: pixel,
					Sums: s.sums[(ky*v.C+lo*kernels.Width*rows)*v.KW*v.N:],
				})
			})
		}
	}
}

// round rounds factors of products, if they are to be.
func (s *Sparse) round(x []float32) {
	if s.bf16 {
		kernels.RoundBF16(x, x)
	}
}

// copyImage copies an image to s.x, block by block.
func (s *Sparse) copyImage(x []float32, xRow, row, pixel int) {
	v := s.v
	for y := range v.H {
		from := x[y*xRow+v.Left*v.C:][:v.W*v.C]
		for c := 0; c < v.C; c += pixel {
			n := min(pixel, v.C-c)
			to := s.x[(c/pixel*(v.OH+v.KH-1)+v.Top+y)*row+v.Left*pixel:][:v.W*pixel]
			for px := range v.W {
				copy(to[px*pixel:][:n], from[px*v.C+c:])
			}
		}
	}
}

// BackwardInput computes the gradient dx of the image, whose rows are dxRow floats
// apart, with the weights of Load. It comes after BackwardWeights.
func (s *Sparse) BackwardInput(dx []float32, dxRow int) {
	s.round(s.pixels.Value[:s.pixels.Start[s.v.OH*s.v.OW]])
	v := s.v
	to, toRow := dx, dxRow
	if s.padded() {
		to, toRow = s.dx, (v.OW+v.KW-1)*v.C
	}
	s.blocks(func(lo, groups int) {
		in := kernels.SparseInput{Cols: v.KW, Groups: groups, Lists: &s.pixels, Pixels: v.OW, Pixel: v.C}
		// The last row of the kernel belongs to the earliest row of the output.
		for ky := v.KH - 1; ky >= 0; ky-- {
			in.W = s.weights[(ky*v.C+lo*kernels.Width)*v.KW*v.N:]
			for y := range v.OH {
				row := y + ky - v.Top
				in.First, in.Fresh = y*v.OW, ky == v.KH-1 || y == 0
				if row < 0 || row >= v.H || !in.Fresh && s.pixels.Start[in.First] == s.pixels.Start[in.First+v.OW] {
					continue
				}
				in.DX = to[row*toRow+lo*kernels.Width:]
				kernels.SparseInputAdd(&in)
			}
		}
	})
	if s.padded() {
		for y := range v.H {
			copy(dx[y*dxRow:][:v.W*v.C], to[y*toRow+v.Left*v.C:])
		}
	}
}
