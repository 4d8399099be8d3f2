package kernels

import "unsafe"

var poolGeneric = poolTable{
	forward: pool2x2Generic, backward: pool2x2BackwardGeneric, forwardAny: poolAnyGeneric,
	backwardAny: poolAnyBackwardGeneric, mean: poolMeanGeneric, meanBackward: poolMeanBackwardGeneric,
}

// pool2x2Generic is the row function for 2 x 2 windows, stated as the general one.
func pool2x2Generic(dst []float32, idx []uint8, top, bottom []float32, c int) {
	for x := range len(dst) / c {
		for ch := range c {
			at := 2*x*c + ch
			best, pos := top[at], uint8(0)
			for k, v := range [...]float32{top[at+c], bottom[at], bottom[at+c]} {
				if v > best || v != v {
					best, pos = v, uint8(k+1)
				}
			}
			dst[x*c+ch], idx[x*c+ch] = best, pos
		}
	}
}

func pool2x2BackwardGeneric(dst []float32, idx []uint8, top, bottom []float32, c int) {
	for i, d := range dst {
		at := 2*i - i%c + int(idx[i]&1)*c
		if idx[i] < 2 {
			top[at] += d
		} else {
			bottom[at] += d
		}
	}
}

// poolAnyGeneric computes a run of windows of any size.
func poolAnyGeneric(a *poolArgs) {
	n := a.groups * Width
	for x := range a.windows {
		dst, idx := unsafe.Slice(index(a.dst, x*n), n), unsafe.Slice(index(a.idx, x*n), n)
		for k := range a.kh * a.kw {
			src := a.pixels(x, k)
			if k == 0 {
				copy(dst, src)
				clear(idx)
				continue
			}
			for ch, v := range src {
				if v > dst[ch] || v != v {
					dst[ch], idx[ch] = v, uint8(k)
				}
			}
		}
	}
}

func poolAnyBackwardGeneric(a *poolArgs) {
	n := a.groups * Width
	for x := range a.windows {
		dst := unsafe.Slice(index(a.dst, x*n), n)
		for ch, k := range unsafe.Slice(index(a.idx, x*n), n) {
			a.pixels(x, int(k))[ch] += dst[ch]
		}
	}
}

// pixels returns the channels of pixel k of window x.
func (a *poolArgs) pixels(x, k int) []float32 {
	at := x*a.step + k/a.kw*a.row + k%a.kw*a.pixel
	return unsafe.Slice(index(a.src, at/4), a.groups*Width)
}

// poolMeanGeneric sums the pixels of a run of windows.
func poolMeanGeneric(a *poolArgs) {
	n := a.groups * Width
	for x := range a.windows {
		dst := unsafe.Slice(index(a.dst, x*n), n)
		clear(dst)
		for k := range a.kh * a.kw {
			vectors.add(dst, dst, a.pixels(x, k))
		}
		vectors.scale(dst, dst, a.part)
	}
}

func poolMeanBackwardGeneric(a *poolArgs) {
	n := a.groups * Width
	for x := range a.windows {
		dst := unsafe.Slice(index(a.dst, x*n), n)
		for k := range a.kh * a.kw {
			vectors.axpy(a.pixels(x, k), dst, a.part)
		}
	}
}
