package kernels

import "math"

// RowNorm is the normalisation of one row X of values, each with a weight and a bias
// of its own:
//
//	y = (x - mean) * scale * Weight + Bias,   scale = 1/sqrt(variance + Epsilon)
//
// Without Center the mean counts as 0, and the variance is the mean of the squares.
type RowNorm struct {
	X, Weight, Bias []float32
	Center          bool
	Epsilon         float64
}

// RowNormGrad is its backward pass: from the gradient DY of a row's result to DX,
// that of the row, and to those of weight and bias, to which it adds. Mean and Scale
// are what RowNormForward returned.
type RowNormGrad struct {
	X, DY, DX, Weight    []float32
	WeightGrad, BiasGrad []float32
	Mean, Scale          float32
	Center               bool
}

// rowNormTable holds the loops of one level over n > 0 blocks of 16 floats, which
// store sums in 16 lanes, in the second of two rows of them that of products. Nothing
// is fused, so that every level gives the same bits.
type rowNormTable struct {
	sum      func(lanes, x *float32, n int)
	squares  func(lanes, x *float32, mean float32, n int)
	scale    func(y, x, weight, bias *float32, mean, scale float32, n int)
	gradient func(lanes, gw, gb, x, dy, weight *float32, mean, scale float32, n int)
	input    func(dx, x, dy, weight *float32, mean, scale, first, second float32, n int)
	// softmax stores p*(dst-mean) in dst.
	softmax func(dst, p *float32, mean float32, n int)
}

var rowNorms rowNormTable

const msgRowNorm = "kernels: RowNorm with slices of different lengths"

// rowLanes are the sums that a loop leaves.
type rowLanes [2][Width]float32

// RowNormForward computes the row y and returns its mean and scale. Sums go by 16
// lanes as in [Sum], in float32. It panics if the lengths differ. y may be X itself.
func RowNormForward(y []float32, r *RowNorm) (mean, scale float32) {
	if n := len(r.X); len(y) != n || len(r.Weight) != n || len(r.Bias) != n {
		panic(msgRowNorm)
	}
	raceRead(r.X)
	raceRead(r.Weight)
	raceRead(r.Bias)
	raceWrite(y)
	if len(y) == 0 {
		return 0, 0
	}
	return callRowNorm(y, r)
}

//go:noinline
func callRowNorm(y []float32, r *RowNorm) (mean, scale float32) {
	var space rowLanes
	lanes, x := noescape(&space), r.X
	blocks, size := len(x)/Width, float64(len(x))
	n := blocks * Width
	if r.Center {
		if blocks > 0 {
			rowNorms.sum(&lanes[0][0], &x[0], blocks)
		}
		for i, v := range x[n:] {
			lanes[0][i] += v
		}
		mean = float32(float64(tree(&lanes[0])) / size)
		lanes[0] = [Width]float32{}
	}
	if blocks > 0 {
		rowNorms.squares(&lanes[0][0], &x[0], mean, blocks)
	}
	for i, v := range x[n:] {
		lanes[0][i] += float32((v - mean) * (v - mean))
	}
	scale = float32(1 / math.Sqrt(float64(tree(&lanes[0]))/size+r.Epsilon))
	if blocks > 0 {
		rowNorms.scale(&y[0], &x[0], &r.Weight[0], &r.Bias[0], mean, scale, blocks)
	}
	for i := n; i < len(x); i++ {
		y[i] = float32(float32((x[i]-mean)*scale)*r.Weight[i]) + r.Bias[i]
	}
	return mean, scale
}

// RowNormBackward computes, with z = (x - Mean)*Scale and u = dy*Weight,
//
//	DX = Scale * (u - mean(u) - z*mean(u z)),   WeightGrad += dy*z,   BiasGrad += dy
//
// where mean(u) counts as 0 without Center. A nil DX is not wanted. It panics if the
// lengths differ.
func RowNormBackward(r *RowNormGrad) {
	n := len(r.X)
	if len(r.DY) != n || len(r.Weight) != n || len(r.WeightGrad) != n || len(r.BiasGrad) != n || r.DX != nil && len(r.DX) != n {
		panic(msgRowNorm)
	}
	raceRead(r.X)
	raceRead(r.DY)
	raceRead(r.Weight)
	raceWrite(r.WeightGrad)
	raceWrite(r.BiasGrad)
	raceWrite(r.DX)
	if n > 0 {
		callRowNormBackward(r)
	}
}

//go:noinline
func callRowNormBackward(r *RowNormGrad) {
	var space rowLanes
	lanes := noescape(&space)
	blocks, size := len(r.X)/Width, float64(len(r.X))
	n := blocks * Width
	if blocks > 0 {
		rowNorms.gradient(&lanes[0][0], &r.WeightGrad[0], &r.BiasGrad[0], &r.X[0], &r.DY[0], &r.Weight[0], r.Mean, r.Scale, blocks)
	}
	for i := n; i < len(r.X); i++ {
		z := (r.X[i] - r.Mean) * r.Scale
		u := float32(r.DY[i] * r.Weight[i])
		r.WeightGrad[i] += float32(r.DY[i] * z)
		r.BiasGrad[i] += r.DY[i]
		lanes[0][i-n] += u
		lanes[1][i-n] += float32(u * z)
	}
	if r.DX == nil {
		return
	}
	first, second := float32(0), float32(float64(tree(&lanes[1]))/size)
	if r.Center {
		first = float32(float64(tree(&lanes[0])) / size)
	}
	if blocks > 0 {
		rowNorms.input(&r.DX[0], &r.X[0], &r.DY[0], &r.Weight[0], r.Mean, r.Scale, first, second, blocks)
	}
	for i := n; i < len(r.X); i++ {
		z := (r.X[i] - r.Mean) * r.Scale
		u := float32(r.DY[i]*r.Weight[i]) - first
		r.DX[i] = (u - float32(z*second)) * r.Scale
	}
}

// SoftmaxRows applies the softmax to m rows of n values, ld >= Pad(n) floats apart,
// in place, with zeros in the columns n to Pad(n). A value of -Inf gets 0.
func SoftmaxRows(x []float32, ld, m, n int) {
	if m < 0 || n < 1 || ld < Pad(n) || m > 0 && len(x) < (m-1)*ld+Pad(n) {
		panic(msgSoftmaxShape)
	}
	for i := range m {
		row := x[i*ld:][:Pad(n)]
		raceWrite(row)
		callSoftmax(row, row[:n], 1)
	}
}

// SoftmaxBackward turns, for m rows of n values, ld floats apart, the gradient d of
// what a softmax gave into that of what it got: p*(d - sum of p*d), where p is what it
// gave. n must be a multiple of [Width].
func SoftmaxBackward(d, p []float32, ld, m, n int) {
	if m < 0 || n < 1 || n%Width != 0 || ld < n || m > 0 && (len(d) < (m-1)*ld+n || len(p) < (m-1)*ld+n) {
		panic(msgSoftmaxShape)
	}
	for i := range m {
		g, q := d[i*ld:][:n], p[i*ld:][:n]
		mean := float32(Dot(g, q))
		raceWrite(g)
		callSoftmaxBackward(g, q, mean)
	}
}

//go:noinline
func callSoftmaxBackward(d, p []float32, mean float32) {
	rowNorms.softmax(&d[0], &p[0], mean, len(d)/Width)
}
