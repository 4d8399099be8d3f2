package kernels

import "unsafe"

// sparseGeneric is the plain Go level.
var sparseGeneric = sparseTable{
	maxima: maximaGeneric, nonZero: nonZeroGeneric, append: appendGeneric,
	weights: [3]func(*sparseWeightsArgs){rowWeightsGeneric(3, 1), rowWeightsGeneric(3, 2), rowWeightsGeneric(5, 1)},
	input:   [3]func(*sparseInputArgs){rowInputGeneric(3, 1), rowInputGeneric(3, 2), rowInputGeneric(5, 1)},
}

func maximaGeneric(a *maximaArgs) {
	n := a.groups * Width
	grad, idx := unsafe.Slice(a.grad, a.windows*n), unsafe.Slice(a.idx, a.windows*n)
	start := unsafe.Slice(a.start, 2*a.windows+1)
	e := int(start[0])
	value, filter := unsafe.Slice(a.value, e+len(grad)), unsafe.Slice(a.filter, e+len(grad))
	for x := range 2 * a.windows {
		at, position := x/2*n, uint8(a.position+x%2)
		for f, g := range grad[at:][:n] {
			if g != 0 && idx[at+f] == position {
				value[e], filter[e] = g, uint32(f)
				e++
			}
		}
		start[x+1] = int32(e)
	}
}

func nonZeroGeneric(a *maximaArgs) {
	n := a.groups * Width
	grad := unsafe.Slice(a.grad, a.windows*n)
	start := unsafe.Slice(a.start, a.windows+1)
	e := int(start[0])
	value, filter := unsafe.Slice(a.value, e+len(grad)), unsafe.Slice(a.filter, e+len(grad))
	for x := range a.windows {
		for f, g := range grad[x*n:][:n] {
			if g != 0 {
				value[e], filter[e] = g, uint32(f)
				e++
			}
		}
		start[x+1] = int32(e)
	}
}

func appendGeneric(a *appendArgs) {
	start := unsafe.Slice(a.start, a.pixels+1)
	end := int(start[a.pixels])
	value, filter := unsafe.Slice(a.value, end), unsafe.Slice(a.filter, end)
	for x := range a.pixels {
		at := uint32(a.at + x*a.step)
		for e := start[x]; e < start[x+1]; e++ {
			f := filter[e]
			tail, sum := index(a.tail, int(f)), index(a.sum, int(f))
			*index(a.listValue, int(*tail)), *index(a.listAt, int(*tail)) = value[e], at
			*tail++
			*sum += value[e]
		}
	}
}

// index returns the address of element i after p.
func index[T any](p *T, i int) *T {
	return (*T)(unsafe.Add(unsafe.Pointer(p), uintptr(i)*unsafe.Sizeof(*p)))
}

func rowWeightsGeneric(cols, groups int) func(a *sparseWeightsArgs) {
	n := groups * Width
	return func(a *sparseWeightsArgs) {
		for f := range a.filters {
			first := a.first + f*a.room
			for e := first; e < int(*index(a.tail, f)); e++ {
				g, at := *index(a.value, e), int(*index(a.at, e))
				for kx := range cols {
					x := unsafe.Slice(index(a.x, at+kx*(a.pixel/4)), n)
					sums := unsafe.Slice(index(a.sums, (f*cols+kx)*n), n)
					for c, v := range x {
						sums[c] = mulAdd(g, v, sums[c])
					}
				}
			}
		}
	}
}

func rowInputGeneric(cols, groups int) func(a *sparseInputArgs) {
	n := groups * Width
	return func(a *sparseInputArgs) {
		if a.fresh != 0 {
			for x := range a.pixels + cols - 1 {
				clear(unsafe.Slice(index(a.dx, x*(a.pixel/4)), n))
			}
		}
		for x := range a.pixels {
			for e := int(*index(a.start, x)); e < int(*index(a.start, x+1)); e++ {
				g, f := *index(a.value, e), int(*index(a.filter, e))
				for kx := range cols {
					dx := unsafe.Slice(index(a.dx, (x+kx)*(a.pixel/4)), n)
					w := unsafe.Slice(index(a.w, (f*cols+kx)*n), n)
					for c, v := range w {
						dx[c] = mulAdd(g, v, dx[c])
					}
				}
			}
		}
	}
}
