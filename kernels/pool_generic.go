package kernels

var poolGeneric = poolTable{forward: pool2x2Generic, backward: pool2x2BackwardGeneric}

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

// maxPoolRow computes output row y for windows of any size.
func maxPoolRow(p *Pool, y int) {
	for x := range p.OW {
		out := (y*p.OW + x) * p.C
		dst, idx := p.Dst[out:][:p.C], p.Idx[out:][:p.C]
		for k := range p.KH * p.KW {
			src := p.pixel(y, x, k)
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

func maxPoolBackwardRow(p *Pool, y int) {
	for x := range p.OW {
		out := (y*p.OW + x) * p.C
		for ch, k := range p.Idx[out:][:p.C] {
			p.pixel(y, x, int(k))[ch] += p.Dst[out+ch]
		}
	}
}

// pixel returns the channels of pixel k of window (y, x).
func (p *Pool) pixel(y, x, k int) []float32 {
	return p.Src[((y*p.Stride+k/p.KW)*p.SrcW+x*p.Stride+k%p.KW)*p.C:][:p.C]
}
