package tensor

import "github.com/fedfast/fedfast/kernels"

// Winograd computes a convolution of 3 x 3 windows at stride 1, or the gradient of
// its input, by Winograd's minimal filtering F(2x2, 3x3): 16 products where 36 are
// taken otherwise, for each tile of 2 x 2 outputs (Lavin and Gray 2016, section
// 4.1; package kernels has the transforms). The images of a call are worked on
// together: the products have a row for each tile of all images.
//
// The results are not those of the direct form bit by bit. An output differs from
// the exact one by at most
//
//	(C + 14) * 2^-24 * the sum over C channels of |A'| ((|G| |g| |G|') * (|B'| |d| |B|)) |A|
//
// and a gradient of a weight, over T tiles, by at most
//
//	(T + 14) * 2^-24 * the sum over T tiles of |G'| ((|B'| |d| |B|) * (|A| |dy| |A'|)) |G|,
//
// where nothing overflows or underflows. On random numbers the errors are no larger
// than the direct form's, whose sums are nine and four times as long. The bits are
// the same on every assembly level and for any number of images in a call.
type Winograd struct {
	Conv       // what is computed; for an input's gradient a convolution of the output's
	turned     bool
	bf16       bool // the factors of products are rounded
	rows, cols int  // of tiles in an image
}

// Images is where images lie: image i starts at Data[i*Sample], its first pixel or
// the left border before that, with Row floats from row to row.
type Images struct {
	Data        []float32
	Sample, Row int
	// Pair, if not nil, is called for rows 2*pair and 2*pair+1 of an image when
	// they are all that is in Data. A last row without a second is left out.
	Pair func(image, pair int)
}

const (
	winogradLeast   = 32      // channels and filters
	winogradImage   = 4       // rows and columns
	winogradWeights = 1 << 17 // floats of the transformed weights that are worked on at a time
	winogradTiles   = 64      // tiles, or few more, whose products are transformed back at a time
	winogradColumns = 4       // most panels that are worked on at a time, and all for the gradient of weights
	winogradPair    = 2       // fewest, which read the transformed images half as often as one does; twice that of bf16
)

// Winograd returns what computes v by F(2x2, 3x3), and whether it should be used:
// for windows of 3 x 3 at stride 1 with 32 channels, 32 filters and 4 x 4 outputs
// or more, whatever the batch, so that the bits depend on the shape alone. From 64
// channels on, all three passes are 1.2 to 1.9 times as fast as the direct form
// with AVX-512 and AVX2 on Zen 4 (BenchmarkWinograd), with 32 they are 0.9 to 1.6
// times; with 16 the transforms take what the products save, and so do the tiles
// that reach over the edges of smaller images. x has to have RightBorder zero
// columns after it, one more than v asks for if the output is odd.
func (v Conv) Winograd() (Winograd, bool) {
	w := Winograd{Conv: v, rows: (v.OH + 1) / 2, cols: (v.OW + 1) / 2}
	w.RightBorder = max(2*w.cols+2-v.Left-v.W, 0)
	return w, v.winogradPays()
}

// WinogradInput returns what computes the gradient of the input of v by F(2x2,
// 3x3), and whether it should be used.
func (v Conv) WinogradInput() (Winograd, bool) {
	back := Conv{
		H: v.OH, W: v.OW, C: v.N, OH: v.H, OW: v.W, N: kernels.Pad(v.C), KH: v.KH, KW: v.KW, Stride: 1,
		Top: v.KH - 1 - v.Top, Left: v.KW - 1 - v.Left,
	}
	w, ok := back.Winograd()
	w.turned = true
	return w, ok && v.Stride == 1 && v.C%kernels.Width == 0
}

// winogradPays is the rule.
func (v Conv) winogradPays() bool {
	return v.KH == 3 && v.KW == 3 && v.Stride == 1 && v.Top <= 2 && v.Left <= 2 && v.outPixel == 0 && v.C%kernels.Width == 0 &&
		v.C >= winogradLeast && v.N >= winogradLeast && v.OH >= winogradImage && v.OW >= winogradImage
}

// Tiles returns the tiles of an image.
func (w Winograd) Tiles() int { return w.rows * w.cols }

// panels returns how many panels of the weights are worked on at a time.
func (w Winograd) panels() int {
	n := max(winogradWeights/(16*kernels.Width*w.C), winogradPair)
	if w.bf16 {
		n *= 2
	}
	return min(n, w.gradientPanels())
}

// gradientPanels returns how many panels of the weights' gradient are worked on at a time.
func (w Winograd) gradientPanels() int { return min(winogradColumns, w.N/kernels.Width) }

// Pairs reports whether Forward can hand out its outputs to Images.Pair.
func (w Winograd) Pairs() bool { return w.panels()*kernels.Width >= w.N }

// blockRows returns how many rows of tiles are transformed back at a time.
func (w Winograd) blockRows() int { return (winogradTiles + w.cols - 1) / w.cols }

// ld returns the distance between the tiles in the transformed input: rows a
// multiple of 1 KiB apart would meet in few sets of a first-level cache.
func (w Winograd) ld() int {
	if w.C%256 == 0 {
		return w.C + kernels.Width
	}
	return w.C
}

// winogradSpace is the memory of a call.
type winogradSpace struct {
	v    kernels.Tiles // the transformed images
	u    []float32     // transformed weights, or their gradient
	m    []float32     // products, or the transformed gradient of the output
	w    []float32     // turned weights
	zero []float32     // a row of zeros
	edge []float32     // a tile over the edge of an odd image
	wide []float32     // what is rounded next; see winogradBF16
}

// Space returns the floats of scratch memory that the methods need for n images.
func (w Winograd) Space(n int) int {
	s := w.sizes(n)
	return s[0] + s[1] + s[2] + s[3] + s[4] + s[5] + s[6]
}

func (w Winograd) sizes(n int) [7]int {
	cols, most := w.panels()*kernels.Width, w.gradientPanels()*kernels.Width
	u := 16 * max(w.C*cols, min(w.C, winogradDepth)*most)
	s := [7]int{16 * n * w.Tiles() * w.ld(), u, 16 * n * w.Tiles() * most, 0, (2*w.cols + 2) * max(w.C, w.N), 4 * most, 0}
	if w.turned {
		s[3] = 9 * w.C * cols
	}
	if w.bf16 {
		s[6] = w.wide(most)
	}
	return s
}

func (w Winograd) space(n int, scratch []float32) (s winogradSpace) {
	var parts [7][]float32
	for i, size := range w.sizes(n) {
		parts[i], scratch = scratch[:size], scratch[size:]
	}
	s.v = kernels.Tiles{Data: parts[0], Plane: n * w.Tiles() * w.ld(), Ld: w.ld()}
	s.u, s.m, s.w, s.zero, s.edge, s.wide = parts[1], parts[2], parts[3], parts[4], parts[5], parts[6]
	return s
}

// Input transforms image i of the n images of the calls that follow: of Forward, or byTiles of
// BackwardWeights. x starts at the left border of the image's first row.
func (w Winograd) Input(scratch []float32, n, i int, x []float32, xRow int, byTiles bool) {
	s := w.space(n, scratch)
	clear(s.zero)
	for r := range w.rows {
		var rows [4][]float32
		for k := range rows {
			rows[k] = s.zero
			if y := 2*r - w.Top + k; y >= 0 && y < w.H {
				rows[k] = x[y*xRow:]
			}
		}
		v := s.v
		if w.bf16 {
			v = w.row(&s, w.C)
		} else {
			v.Data = v.Data[(i*w.rows+r)*w.cols*v.Ld:]
		}
		kernels.WinogradInput(v, &rows, w.C, w.cols, w.C)
		switch {
		case !w.bf16:
		case byTiles:
			w.pairTiles(w.tilePairs(s.v.Data, n, w.ld()), v, i*w.rows+r, w.C)
		default:
			w.pairChannels(w.channelPairs(&s, n), v, i*w.rows+r)
		}
	}
}

// Forward computes the convolution of the n images that Input got, with the weights
// of the convolution that w was made from: y = x * w + bias, followed by a ReLU if
// relu. bias may be nil.
func (w Winograd) Forward(y Images, n int, scratch, weights, bias []float32, relu bool) {
	w.ForwardKept(y, n, scratch, nil, weights, bias, relu)
}

// ForwardKept is Forward that leaves the transformed weights in kept, or takes those that are
// there if the weights are nil. kept is for bf16 and has as many floats as the weights, or is nil.
func (w Winograd) ForwardKept(y Images, n int, scratch, kept, weights, bias []float32, relu bool) {
	s := w.space(n, scratch)
	step := w.blockRows()
	for p := 0; p < w.N/kernels.Width; p += w.panels() {
		panels := min(w.panels(), w.N/kernels.Width-p)
		if kept != nil {
			panel := 16 * w.C / 2 * kernels.Width
			s.u = kept[p*panel:][:panels*panel]
		}
		if weights != nil {
			w.transform(&s, weights, p, panels)
		}
		for r := 0; r < n*w.rows; r += step {
			w.block(y, n, &s, bias, p, panels, r, min(step, n*w.rows-r), relu)
		}
	}
}

// transform makes the transformed weights of panels panels from p on.
func (w Winograd) transform(s *winogradSpace, weights []float32, p, panels int) {
	size := 9 * w.C * kernels.Width // of a panel
	from := weights[min(p*size, len(weights)):]
	if w.turned {
		// Panels of the turned weights are rows of the given ones.
		for k := range 9 {
			kernels.PackT(s.w[(8-k)*w.C*kernels.Width:], 9*w.C, weights[(k*w.N+p*kernels.Width)*kernels.Width:], 9*w.N, panels*kernels.Width, w.C)
		}
		from = s.w
	}
	n := w.C * kernels.Width
	if w.bf16 {
		w.roundWeights(s, from, panels)
		return
	}
	for i := range panels {
		kernels.WinogradWeights(s.u[i*n:], panels*n, from[i*size:], n, n)
	}
}

// block computes the outputs of rows rows of tiles from row r on, in some panels.
func (w Winograd) block(y Images, n int, s *winogradSpace, bias []float32, p, panels, r, rows int, relu bool) {
	cols := panels * kernels.Width
	m := kernels.Tiles{Data: s.m, Plane: rows * w.cols * cols, Ld: cols}
	v, depth := s.v, w.C
	if w.bf16 {
		v, depth = w.channelPairs(s, n), w.C/2
	}
	g := kernels.NN{M: rows * w.cols, N: cols, K: depth, Lda: v.Ld, Ldc: cols, BF16: w.bf16, Blocks: w.blocks}
	for i := range 16 {
		g.A = v.Data[i*v.Plane+r*w.cols*v.Ld:]
		g.B = s.u[i*cols*depth:]
		g.C = m.Data[i*m.Plane:]
		kernels.GemmNN(&g)
	}
	b := s.zero[:cols]
	if bias != nil {
		b = bias[p*kernels.Width:][:cols]
	}
	for i := range rows {
		image, row := (r+i)/w.rows, (r+i)%w.rows
		t := m
		t.Data = t.Data[i*w.cols*cols:]
		if y.Pair != nil {
			if 2*row+1 < w.OH {
				w.output(y.Data, y.Row, true, s, t, b, relu)
				y.Pair(image, row)
			}
			continue
		}
		w.output(y.Data[image*y.Sample+2*row*y.Row+p*kernels.Width:], y.Row, 2*row+1 < w.OH, s, t, b, relu)
	}
}

// output transforms a row of tiles back into one row of outputs, or two if both.
func (w Winograd) output(y []float32, yRow int, both bool, s *winogradSpace, m kernels.Tiles, bias []float32, relu bool) {
	cols := len(bias)
	tile := s.edge[:4*cols]
	pixel, whole := w.N, w.OW/2
	if both {
		kernels.WinogradOutput(&[2][]float32{y, y[yRow:]}, pixel, m, bias, whole, cols, relu)
	} else {
		// The row below the image is of no use; one tile at a time needs little
		// room.
		for t := range whole {
			one := m
			one.Data = m.Data[t*m.Ld:]
			kernels.WinogradOutput(&[2][]float32{tile, tile[2*cols:]}, cols, one, bias, 1, cols, relu)
			copy(y[2*t*pixel:][:cols], tile)
			copy(y[(2*t+1)*pixel:][:cols], tile[cols:])
		}
	}
	if whole == w.cols {
		return
	}
	m.Data = m.Data[whole*m.Ld:]
	kernels.WinogradOutput(&[2][]float32{tile, tile[2*cols:]}, cols, m, bias, 1, cols, relu)
	copy(y[2*whole*pixel:][:cols], tile)
	if both {
		copy(y[yRow+2*whole*pixel:][:cols], tile[2*cols:])
	}
}
