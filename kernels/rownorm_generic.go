package kernels

import "unsafe"

var rowNormGeneric = rowNormTable{
	sum: rowSumGeneric, squares: rowSquaresGeneric, scale: rowScaleGeneric,
	gradient: rowGradientGeneric, input: rowInputGeneric, softmax: softmaxGradientGeneric,
}

func rowSumGeneric(lanes, x *float32, n int) {
	to := unsafe.Slice(lanes, Width)
	clear(to)
	for i, v := range unsafe.Slice(x, n*Width) {
		to[i%Width] += v
	}
}

func rowSquaresGeneric(lanes, x *float32, mean float32, n int) {
	to := unsafe.Slice(lanes, Width)
	clear(to)
	for i, v := range unsafe.Slice(x, n*Width) {
		to[i%Width] += float32((v - mean) * (v - mean))
	}
}

func rowScaleGeneric(y, x, weight, bias *float32, mean, scale float32, n int) {
	n *= Width
	to, w, b := unsafe.Slice(y, n), unsafe.Slice(weight, n), unsafe.Slice(bias, n)
	for i, v := range unsafe.Slice(x, n) {
		to[i] = float32(float32((v-mean)*scale)*w[i]) + b[i]
	}
}

func rowGradientGeneric(lanes, gw, gb, x, dy, weight *float32, mean, scale float32, n int) {
	sums := unsafe.Slice(lanes, 2*Width)
	clear(sums)
	n *= Width
	dw, db, g, w := unsafe.Slice(gw, n), unsafe.Slice(gb, n), unsafe.Slice(dy, n), unsafe.Slice(weight, n)
	for i, v := range unsafe.Slice(x, n) {
		z := (v - mean) * scale
		u := float32(g[i] * w[i])
		dw[i] += float32(g[i] * z)
		db[i] += g[i]
		sums[i%Width] += u
		sums[Width+i%Width] += float32(u * z)
	}
}

func rowInputGeneric(dx, x, dy, weight *float32, mean, scale, first, second float32, n int) {
	n *= Width
	to, g, w := unsafe.Slice(dx, n), unsafe.Slice(dy, n), unsafe.Slice(weight, n)
	for i, v := range unsafe.Slice(x, n) {
		z := (v - mean) * scale
		u := float32(g[i]*w[i]) - first
		to[i] = (u - float32(z*second)) * scale
	}
}

func softmaxGradientGeneric(dst, p *float32, mean float32, n int) {
	q := unsafe.Slice(p, n*Width)
	to := unsafe.Slice(dst, n*Width)
	for i, v := range to {
		to[i] = (v - mean) * q[i]
	}
}
