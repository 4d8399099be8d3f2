package kernels

import "cmp"

// Pool is pooling of one image in NHWC order: windows of KH x KW pixels, Stride
// pixels apart, over C channels (a multiple of [Width]). The source has rows of
// SrcW pixels and must hold all windows, but they need not cover it.
type Pool struct {
	OH, OW, C      int // output height and width; channels
	KH, KW, Stride int
	Src            []float32 // forward: the image; backward: its gradient, added to
	SrcW           int
	Dst            []float32 // OH x OW x C; forward: the maxima or means, out; backward: their gradient
	Idx            []uint8   // OH x OW x C: the position ky*KW+kx of each maximum in its window
	// DstRow and IdxRow are the floats and bytes from a row of Dst and Idx to the next; 0
	// means OW x C.
	DstRow, IdxRow int
}

// poolTable holds the functions of one level for one output row. Those of 2 x 2
// windows with stride 2 get the two source rows top and bottom of 2*len(dst)
// floats; idx is as long as dst, and c channels divide it. The others are for
// windows of any size.
type poolTable struct {
	forward, backward       func(dst []float32, idx []uint8, top, bottom []float32, c int)
	forwardAny, backwardAny func(a *poolArgs)
	mean, meanBackward      func(a *poolArgs)
	severalRows             bool // whether those for windows of any size take several rows
	// Those of windows of three columns that are a pixel apart; nil without.
	threeBackward, meanThreeBackward func(a *poolArgs)
}

// poolArgs is what the functions for windows of any size read, for a run of windows
// in a row. Distances are in bytes. Its offsets are known to _asm/pointwise.
type poolArgs struct {
	dst     *float32
	idx     *uint8
	src     *float32
	windows int // at least 1
	groups  int // of 16 channels, at least 1
	kh, kw  int
	row     int // from a row of the source to the next
	pixel   int // from a pixel to the next
	step    int // from a window to the next
	part    float32
	rows    int // of windows, which a function of assembly counts down; 1 for others
	// Bytes by which dst, idx and src move from a row of windows to the next.
	nextDst, nextIdx, nextSrc int
}

var pools poolTable

const msgPool = "kernels: Pool with a size that is not positive, C that is no multiple of Width, more than 256 pixels a window, or a slice too short"

// check panics if a size or a slice is wrong; indexed says that Idx is needed.
func (p *Pool) check(indexed bool) {
	if p.OH < 0 || p.OW < 0 || p.C < 0 || p.C%Width != 0 || p.KH < 1 || p.KW < 1 || p.Stride < 1 || indexed && p.KH*p.KW > 256 {
		panic(msgPool)
	}
	n := p.OW * p.C
	if p.OH*n == 0 {
		return
	}
	dst, at := p.distances()
	right := (p.OW-1)*p.Stride + p.KW
	if p.SrcW < right || len(p.Src) < (((p.OH-1)*p.Stride+p.KH-1)*p.SrcW+right)*p.C || dst < n || len(p.Dst) < (p.OH-1)*dst+n ||
		indexed && (at < n || len(p.Idx) < (p.OH-1)*at+n) {
		panic(msgPool)
	}
}

// distances returns DstRow and IdxRow.
func (p *Pool) distances() (dst, idx int) {
	return cmp.Or(p.DstRow, p.OW*p.C), cmp.Or(p.IdxRow, p.OW*p.C)
}

// MaxPool stores in Dst the largest pixel of every window and in Idx its position,
// the first one in scan order among equals. A NaN in the window is its maximum (the
// last one, if there are several).
func MaxPool(p *Pool) { p.rows(pools.forward, pools.forwardAny) }

// MaxPoolBackward adds every gradient in Dst to the pixel of Src that Idx names. An
// Idx that [MaxPool] did not write gives an undefined result or a panic.
func MaxPoolBackward(p *Pool) {
	p.rows(pools.backward, p.or(pools.threeBackward, pools.backwardAny))
}

// or returns three, if there is one and several windows are for it, else others.
func (p *Pool) or(three, others func(a *poolArgs)) func(a *poolArgs) {
	if three != nil && p.KW == 3 && p.Stride == 1 && p.OW > 2 {
		return three
	}
	return others
}

// MeanPool stores in Dst the sum of every window's pixels, in scan order, times part. Idx
// is not used.
func MeanPool(p *Pool, part float32) { p.each(pools.mean, part) }

// MeanPoolBackward adds every gradient in Dst, times part, to all pixels of its window in
// Src, by one fused multiply-add. Idx is not used.
func MeanPoolBackward(p *Pool, part float32) {
	p.each(p.or(pools.meanThreeBackward, pools.meanBackward), part)
}

// each calls f for every output row.
func (p *Pool) each(f func(a *poolArgs), part float32) {
	p.check(false)
	p.any(f, part)
}

// any calls f for windows of any size, for as many output rows as go through a call.
func (p *Pool) any(f func(a *poolArgs), part float32) {
	rows := 1
	if pools.severalRows && !raceEnabled {
		rows = max(1, maxWindows/max(1, p.KH*p.KW*p.C*p.OW))
	}
	for y := 0; y < p.OH; y += rows {
		p.row(f, y, min(rows, p.OH-y), part)
	}
}

// maxWindows bounds the floats that one call of assembly reads from windows of any
// size.
const maxWindows = 1 << 19

// rows calls f2x2 or f for every output row, or parts of it.
func (p *Pool) rows(f2x2 func(dst []float32, idx []uint8, top, bottom []float32, c int), f func(a *poolArgs)) {
	p.check(true)
	n := p.OW * p.C
	if n == 0 {
		return
	}
	if p.KH != 2 || p.KW != 2 || p.Stride != 2 {
		p.any(f, 0)
		return
	}
	dst, idx := p.distances()
	for y := range p.OH {
		top := p.Src[2*y*p.SrcW*p.C:][:2*n]
		bottom := p.Src[(2*y+1)*p.SrcW*p.C:][:2*n]
		callPool(f2x2, p.Dst[y*dst:][:n], p.Idx[y*idx:][:n], top, bottom, p.C)
	}
}

//go:noinline
func callPool(f func(dst []float32, idx []uint8, top, bottom []float32, c int), dst []float32, idx []uint8, top, bottom []float32, c int) {
	raceWrite(dst) // one of dst and the source is only read, but nothing else may read it either
	raceWrite(idx)
	raceWrite(top)
	raceWrite(bottom)
	f(dst, idx, top, bottom, c)
}

// row calls f for some output rows from y on, or for parts of one.
func (p *Pool) row(f func(a *poolArgs), y, rows int, part float32) {
	dst, idx := p.distances()
	a := poolArgs{
		groups: p.C / Width, kh: p.KH, kw: p.KW, part: part,
		row: 4 * p.SrcW * p.C, pixel: 4 * p.C, step: 4 * p.Stride * p.C,
		nextDst: 4 * dst, nextSrc: 4 * p.SrcW * p.Stride * p.C,
	}
	if a.groups == 0 {
		return
	}
	step := max(1, maxWindows/(p.KH*p.KW*p.C))
	for x := 0; x < p.OW; x += step {
		from := (y*p.SrcW + x) * p.Stride * p.C
		a.windows, a.rows = min(step, p.OW-x), rows
		a.dst, a.src = &p.Dst[y*dst+x*p.C], &p.Src[from]
		if p.Idx != nil {
			a.idx, a.nextIdx = &p.Idx[y*idx+x*p.C], idx
		}
		if raceEnabled {
			raceWrite(p.Dst[y*dst+x*p.C:][:a.windows*p.C])
			if p.Idx != nil {
				raceWrite(p.Idx[y*idx+x*p.C:][:a.windows*p.C])
			}
			raceWrite(p.Src[from:][:((p.KH-1)*p.SrcW+(a.windows-1)*p.Stride+p.KW)*p.C])
		}
		callPoolAny(f, noescape(&a))
	}
}

//go:noinline
func callPoolAny(f func(a *poolArgs), a *poolArgs) { f(a) }
