package kernels

// Pool is max pooling of one image in NHWC order: windows of KH x KW pixels, Stride pixels apart, over C channels (a multiple of [Width]).
// The source has rows of SrcW pixels and must hold all windows, but they need not cover it.
type Pool struct {
	OH, OW, C      int // output height and width; channels
	KH, KW, Stride int
	Src            []float32 // forward: the image; backward: its gradient, added to
	SrcW           int
	Dst            []float32 // OH x OW x C; forward: the maxima, out; backward: their gradient
	Idx            []uint8   // OH x OW x C: the position ky*KW+kx of each maximum in its window
}

// poolTable holds the functions of one level for one output row of 2 x 2 windows with stride 2: top and bottom are the two source rows
// of 2*len(dst) floats, idx is as long as dst, and c channels divide it.
type poolTable struct {
	forward  func(dst []float32, idx []uint8, top, bottom []float32, c int)
	backward func(dst []float32, idx []uint8, top, bottom []float32, c int)
}

var pools poolTable

const msgPool = "kernels: Pool with a size that is not positive, C that is no multiple of Width, more than 256 pixels a window, or a slice too short"

func (p *Pool) check() {
	if p.OH < 0 || p.OW < 0 || p.C < 0 || p.C%Width != 0 || p.KH < 1 || p.KW < 1 || p.Stride < 1 || p.KH*p.KW > 256 {
		panic(msgPool)
	}
	n := p.OH * p.OW * p.C
	if n == 0 {
		return
	}
	right := (p.OW-1)*p.Stride + p.KW
	if p.SrcW < right || len(p.Src) < (((p.OH-1)*p.Stride+p.KH-1)*p.SrcW+right)*p.C || len(p.Dst) < n || len(p.Idx) < n {
		panic(msgPool)
	}
}

// MaxPool stores in Dst the largest pixel of every window and in Idx its position, the first one in scan order among equals. A NaN in
// the window is its maximum (the last one, if there are several).
func MaxPool(p *Pool) { p.rows(pools.forward, maxPoolRow) }

// MaxPoolBackward adds every gradient in Dst to the pixel of Src that Idx names. An Idx that [MaxPool] did not write gives an
// undefined result or a panic.
func MaxPoolBackward(p *Pool) { p.rows(pools.backward, maxPoolBackwardRow) }

// rows calls f2x2 or f for every output row.
func (p *Pool) rows(f2x2 func(dst []float32, idx []uint8, top, bottom []float32, c int), f func(p *Pool, y int)) {
	p.check()
	n := p.OW * p.C
	if n == 0 {
		return
	}
	for y := range p.OH {
		if p.KH != 2 || p.KW != 2 || p.Stride != 2 {
			f(p, y)
			continue
		}
		top := p.Src[2*y*p.SrcW*p.C:][:2*n]
		bottom := p.Src[(2*y+1)*p.SrcW*p.C:][:2*n]
		callPool(f2x2, p.Dst[y*n:][:n], p.Idx[y*n:][:n], top, bottom, p.C)
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
