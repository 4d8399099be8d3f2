package kernels

import "unsafe"

var normGeneric = normTable{
	sums: normSumsGeneric, moments: normMomentsGeneric, forward: normForwardGeneric, swish: normSwishGeneric, backward: normBackwardGeneric,
	reluSlopes: normSlopesGeneric(func(v, g float32) float32 {
		if v > 0 {
			return g
		}
		return 0
	}),
	swishSlopes: normSlopesGeneric(func(v, g float32) float32 { _, slope := hardSwish32(v, 0); return slope * g }),
}

func normMomentsGeneric(sum, inner *float64, x *float32, channels, rows, pixels, next int) {
	normSumsGeneric(sum, inner, x, x, channels, rows, pixels, next, next)
}

// normSlopesGeneric returns the loop for an activation: slope returns the gradient g in
// front of it, where it was taken at v.
func normSlopesGeneric(slope func(v, g float32) float32) func(dy, x, value, shift *float32, channels, pixels int) {
	return func(dy, x, value, shift *float32, channels, pixels int) {
		n := channels * Width
		values, shifts := unsafe.Slice(value, n), unsafe.Slice(shift, n)
		for p := range pixels {
			g := unsafe.Slice(lane(dy, 4*n*p), n)
			for c, v := range unsafe.Slice(lane(x, 4*n*p), n) {
				g[c] = slope(float32(values[c]*v)+shifts[c], g[c])
			}
		}
	}
}

func normSumsGeneric(sum, inner *float64, a, b *float32, channels, rows, pixels, aNext, bNext int) {
	n := channels * Width
	first := unsafe.Slice(sum, n)
	other := unsafe.Slice(inner, n)
	for range rows {
		for range pixels {
			x := unsafe.Slice(b, n)
			for c, v := range unsafe.Slice(a, n) {
				d := float64(v)
				first[c] += d
				other[c] += float64(d * float64(x[c]))
			}
			a, b = lane(a, 4*n), lane(b, 4*n)
		}
		a, b = lane(a, aNext), lane(b, bNext)
	}
}

func normForwardGeneric(y, x, value, shift *float32, channels, pixels, relu int) {
	n := channels * Width
	values := unsafe.Slice(value, n)
	shifts := unsafe.Slice(shift, n)
	for p := range pixels {
		out := unsafe.Slice(lane(y, 4*n*p), n)
		for c, v := range unsafe.Slice(lane(x, 4*n*p), n) {
			r := float32(values[c]*v) + shifts[c]
			if relu != 0 && r < 0 {
				r = 0
			}
			out[c] = r
		}
	}
}

func normSwishGeneric(y, x, value, shift *float32, channels, pixels int) {
	normForwardGeneric(y, x, value, shift, channels, pixels, 0)
	out := unsafe.Slice(y, channels*Width*pixels)
	for i, v := range out {
		out[i], _ = hardSwish32(v, 0)
	}
}

func normBackwardGeneric(dx, dy, x, grad, value, shift *float32, channels, pixels int) {
	n := channels * Width
	grads := unsafe.Slice(grad, n)
	values := unsafe.Slice(value, n)
	shifts := unsafe.Slice(shift, n)
	for p := range pixels {
		out := unsafe.Slice(lane(dx, 4*n*p), n)
		v := unsafe.Slice(lane(x, 4*n*p), n)
		for c, g := range unsafe.Slice(lane(dy, 4*n*p), n) {
			out[c] = float32(grads[c]*g) + (float32(values[c]*v[c]) + shifts[c])
		}
	}
}
