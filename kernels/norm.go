package kernels

// ImageNorm is an image, or two of one size, of which every channel is normalised:
// H rows of W pixels of C channels, a multiple of [Width].
type ImageNorm struct {
	H, W, C    int
	X          []float32 // the image; forward: read
	XRow       int       // floats from one row to the next
	Y          []float32 // forward: the result; backward: the gradient of the result
	YRow       int
	DX         []float32 // backward: the gradient of the image
	DXRow      int
	Value      []float32 // of each channel, see NormForward and NormBackward
	Shift      []float32
	Grad       []float32
	ReLU       bool
	HardSwish  bool
	Sum, Inner []float64 // of each channel, see NormSums
}

// normTable holds the loops of one level over one or more rows. Channels are
// counted in units of 16 floats, and all sizes are above 0; next is the distance in
// bytes from the end of a row to the next one.
type normTable struct {
	sums     func(sum, inner *float64, a, b *float32, channels, rows, pixels, aNext, bNext int)
	moments  func(sum, inner *float64, x *float32, channels, rows, pixels, next int) // sums of x with itself
	forward  func(y, x, value, shift *float32, channels, pixels, relu int)
	swish    func(y, x, value, shift *float32, channels, pixels int)
	backward func(dx, dy, x, grad, value, shift *float32, channels, pixels int)
	groups   groupTable // nil functions without
	// reluSlopes and swishSlopes multiply dy by slopes at value*x + shift.
	reluSlopes, swishSlopes func(dy, x, value, shift *float32, channels, pixels int)
	// Those of a share of d, over the first half of 16 channels unless half is 0, or over all; nil
	// without.
	shareSums     func(sum, inner *float64, dots, d, x, value, shift *float32, share float32, half, rows, pixels, dNext, xNext int)
	shareBackward func(dx, dy, x, grad, value, shift *float32, share float32, channels, pixels int)
	shareForward  func(y, x, value, shift *float32, share float32, channels, pixels int)
}

var norms normTable

const msgNorm = "kernels: ImageNorm with C that is no multiple of Width, a negative size, or a slice too short"

// image panics unless x holds the image.
func (n *ImageNorm) image(x []float32, row int) {
	if n.H < 0 || n.W < 0 || n.C < 0 || n.C%Width != 0 || row < 0 || n.H > 0 && len(x) < (n.H-1)*row+n.W*n.C {
		panic(msgNorm)
	}
}

func (n *ImageNorm) empty() bool { return n.H == 0 || n.W == 0 || n.C == 0 }

func (n *ImageNorm) rows(x []float32, row int, f func(x []float32)) {
	if raceEnabled {
		for y := range n.H {
			f(x[y*row:][:n.W*n.C])
		}
	}
}

// span returns how many rows go through a call, and their pixels: several, of block values or
// fewer, where all images have these distances, so that rows follow one another.
func (n *ImageNorm) span(block int, distances ...int) (rows, pixels int) {
	rows = 1
	for _, d := range distances {
		if d != n.W*n.C {
			return rows, n.W
		}
	}
	for n.H%(2*rows) == 0 && 2*rows*n.W*n.C <= block {
		rows *= 2
	}
	return rows, rows * n.W
}

// startSums checks the images X and Y and the sums, clears these, and reports whether there
// are pixels.
func (n *ImageNorm) startSums() bool {
	n.image(n.X, n.XRow)
	n.image(n.Y, n.YRow)
	if len(n.Sum) < n.C || len(n.Inner) < n.C {
		panic(msgNorm)
	}
	clear(n.Sum[:n.C])
	clear(n.Inner[:n.C])
	return !n.empty()
}

// NormSums stores in Sum and Inner the sums over the pixels, row after row, of a
// channel of Y and of its products with X, in float64: the products are exact. X
// and Y may be the same.
func NormSums(n *ImageNorm) {
	if !n.startSums() {
		return
	}
	n.rows(n.X, n.XRow, raceRead[float32])
	n.rows(n.Y, n.YRow, raceRead[float32])
	most := max(mapBlock/(n.W*n.C), 1)
	same := &n.X[0] == &n.Y[0] && n.XRow == n.YRow
	for y := 0; y < n.H; y += most {
		if same {
			callNormMoments(n, y, min(most, n.H-y))
			continue
		}
		callNormSums(&n.Sum[0], &n.Inner[0], &n.Y[y*n.YRow], &n.X[y*n.XRow], n.C/Width, min(most, n.H-y), n.W, 4*(n.YRow-n.W*n.C), 4*(n.XRow-n.W*n.C))
	}
}

//go:noinline
func callNormSums(sum, inner *float64, a, b *float32, channels, rows, pixels, aNext, bNext int) {
	norms.sums(sum, inner, a, b, channels, rows, pixels, aNext, bNext)
}

//go:noinline
func callNormMoments(n *ImageNorm, y, rows int) {
	norms.moments(&n.Sum[0], &n.Inner[0], &n.X[y*n.XRow], n.C/Width, rows, n.W, 4*(n.XRow-n.W*n.C))
}

// NormSlopeSums multiplies Y, the gradient of what NormForward gave with the ReLU or hard
// swish, by the slope of that at Value*x + Shift, every operation rounded, and then does what
// NormSums does.
func NormSlopeSums(n *ImageNorm) {
	if len(n.Value) < n.C || len(n.Shift) < n.C {
		panic(msgNorm)
	}
	if !n.startSums() {
		return
	}
	n.rows(n.X, n.XRow, raceRead[float32])
	n.rows(n.Y, n.YRow, raceWrite[float32])
	per, pixels := n.span(slopeBlock, n.XRow, n.YRow)
	most := max(slopeBlock/(n.W*n.C)/per, 1) * per
	for y := 0; y < n.H; y += most {
		end := min(y+most, n.H)
		for row := y; row < end; row += per {
			callNormSlopes(n, row, pixels)
		}
		callNormSums(&n.Sum[0], &n.Inner[0], &n.Y[y*n.YRow], &n.X[y*n.XRow], n.C/Width, end-y, n.W, 4*(n.YRow-n.W*n.C), 4*(n.XRow-n.W*n.C))
	}
}

// slopeBlock is how many gradients, 16 KiB, NormSlopeSums multiplies before it sums them, so that they and
// as many inputs are still in the nearest cache.
const slopeBlock = 1 << 12

//go:noinline
func callNormSlopes(n *ImageNorm, y, pixels int) {
	f := norms.reluSlopes
	if n.HardSwish {
		f = norms.swishSlopes
	}
	f(&n.Y[y*n.YRow], &n.X[y*n.XRow], &n.Value[0], &n.Shift[0], n.C/Width, pixels)
}

// NormForward stores Value*x + Shift of every pixel x in Y, both operations
// rounded, followed by a ReLU if ReLU, which keeps NaN and -0, or by what [Curves] does of
// [CurveHardSwish] if HardSwish.
func NormForward(n *ImageNorm) {
	n.image(n.X, n.XRow)
	n.image(n.Y, n.YRow)
	if len(n.Value) < n.C || len(n.Shift) < n.C {
		panic(msgNorm)
	}
	if n.empty() {
		return
	}
	n.rows(n.X, n.XRow, raceRead[float32])
	n.rows(n.Y, n.YRow, raceWrite[float32])
	relu := 0
	if n.ReLU {
		relu = 1
	}
	per, pixels := n.span(mapBlock, n.XRow, n.YRow)
	for y := 0; y < n.H; y += per {
		if n.HardSwish {
			callNormSwish(&n.Y[y*n.YRow], &n.X[y*n.XRow], &n.Value[0], &n.Shift[0], n.C/Width, pixels)
		} else {
			callNormForward(&n.Y[y*n.YRow], &n.X[y*n.XRow], &n.Value[0], &n.Shift[0], n.C/Width, pixels, relu)
		}
	}
}

//go:noinline
func callNormForward(y, x, value, shift *float32, channels, pixels, relu int) {
	norms.forward(y, x, value, shift, channels, pixels, relu)
}

//go:noinline
func callNormSwish(y, x, value, shift *float32, channels, pixels int) {
	norms.swish(y, x, value, shift, channels, pixels)
}

// NormBackward stores Grad*dy + (Value*x + Shift) of the pixels dy of Y and x of X
// in DX, every operation rounded.
func NormBackward(n *ImageNorm) {
	if !n.startBackward() {
		return
	}
	per, pixels := n.span(mapBlock, n.XRow, n.YRow, n.DXRow)
	for y := 0; y < n.H; y += per {
		callNormBackward(&n.DX[y*n.DXRow], &n.Y[y*n.YRow], &n.X[y*n.XRow], &n.Grad[0], &n.Value[0], &n.Shift[0], n.C/Width, pixels)
	}
}

// startBackward checks what a backward pass takes, and reports whether there are pixels.
func (n *ImageNorm) startBackward() bool {
	n.image(n.X, n.XRow)
	n.image(n.Y, n.YRow)
	n.image(n.DX, n.DXRow)
	if len(n.Value) < n.C || len(n.Shift) < n.C || len(n.Grad) < n.C {
		panic(msgNorm)
	}
	n.rows(n.X, n.XRow, raceRead[float32])
	n.rows(n.Y, n.YRow, raceRead[float32])
	n.rows(n.DX, n.DXRow, raceWrite[float32])
	return !n.empty()
}

//go:noinline
func callNormBackward(dx, dy, x, grad, value, shift *float32, channels, pixels int) {
	norms.backward(dx, dy, x, grad, value, shift, channels, pixels)
}

// TakesShares reports whether NormShareForward, NormShareSums and NormShareBackward are there for an image: of at
// most [Width] channels, with the instructions of the machine.
func (n *ImageNorm) TakesShares() bool {
	return norms.shareSums != nil && n.C == Width && n.W*n.C <= reduceBlock && !raceEnabled
}

// NormShareForward adds the share of Value*X + Shift to Y, as [NormForward] without an activation
// and then [Axpy] do.
func NormShareForward(n *ImageNorm, share float32) {
	n.image(n.X, n.XRow)
	n.image(n.Y, n.YRow)
	if !n.TakesShares() || len(n.Value) < n.C || len(n.Shift) < n.C {
		panic(msgNorm)
	}
	if n.empty() {
		return
	}
	per, pixels := n.span(mapBlock, n.XRow, n.YRow)
	for y := 0; y < n.H; y += per {
		callNormShareForward(&n.Y[y*n.YRow], &n.X[y*n.XRow], &n.Value[0], &n.Shift[0], share, n.C/Width, pixels)
	}
}

//go:noinline
func callNormShareForward(y, x, value, shift *float32, share float32, channels, pixels int) {
	norms.shareForward(y, x, value, shift, share, channels, pixels)
}

// NormShareSums does for an output Value*X + Shift, of which a sum takes a share, what three passes
// do: it stores in dots, of each row of the image, the product of Y, the gradient of the sum, with
// the output, as [Dot] gives it; and in Sum and Inner what [NormSums] gives for share*Y in place of
// Y. used are the channels that count: the others are 0 in X and Y.
func NormShareSums(n *ImageNorm, share float32, used int, dots []float32) {
	if !n.TakesShares() || len(n.Value) < n.C || len(n.Shift) < n.C || len(dots) < n.H {
		panic(msgNorm)
	}
	if !n.startSums() {
		clear(dots[:n.H])
		return
	}
	half := 0
	if used <= Width/2 {
		half = 1
	}
	most := max(mapBlock/(n.W*n.C), 1)
	for y := 0; y < n.H; y += most {
		callNormShareSums(n, share, half, y, min(most, n.H-y), &dots[y])
	}
}

//go:noinline
func callNormShareSums(n *ImageNorm, share float32, half, y, rows int, dots *float32) {
	norms.shareSums(&n.Sum[0], &n.Inner[0], dots, &n.Y[y*n.YRow], &n.X[y*n.XRow], &n.Value[0], &n.Shift[0], share, half, rows, n.W, 4*(n.YRow-n.W*n.C), 4*(n.XRow-n.W*n.C))
}

// NormShareBackward is [NormBackward] for share*Y, rounded, in place of Y.
func NormShareBackward(n *ImageNorm, share float32) {
	if !n.TakesShares() {
		panic(msgNorm)
	}
	if !n.startBackward() {
		return
	}
	per, pixels := n.span(mapBlock, n.XRow, n.YRow, n.DXRow)
	for y := 0; y < n.H; y += per {
		callNormShareBackward(n, share, y, pixels)
	}
}

//go:noinline
func callNormShareBackward(n *ImageNorm, share float32, y, pixels int) {
	norms.shareBackward(&n.DX[y*n.DXRow], &n.Y[y*n.YRow], &n.X[y*n.XRow], &n.Grad[0], &n.Value[0], &n.Shift[0], share, n.C/Width, pixels)
}
