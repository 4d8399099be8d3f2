package kernels

import (
	"math"
	"unsafe"
)

var vectorGeneric = vectorTable{axpy: axpyGeneric, scale: scaleGeneric, add: addGeneric, sub: subGeneric}

func axpyGeneric(y, x []float32, alpha float32) {
	for i, v := range x {
		y[i] = mulAdd(alpha, v, y[i])
	}
}

func scaleGeneric(dst, src []float32, alpha float32) {
	for i, v := range src {
		dst[i] = alpha * v
	}
}

func addGeneric(dst, a, b []float32) {
	for i, v := range a {
		dst[i] = v + b[i]
	}
}

func subGeneric(dst, a, b []float32) {
	for i, v := range a {
		dst[i] = v - b[i]
	}
}

var dropoutGeneric = dropoutTable{apply: dropoutApplyGeneric}

func dropoutApplyGeneric(dst, src []float32, d dropout) {
	var w [4]uint32
	for i, x := range src {
		if i%4 == 0 {
			b := d.block + uint64(i/4)
			w = Philox([4]uint32{uint32(b), uint32(b >> 32), uint32(d.stream), uint32(d.stream >> 32)}, [2]uint32{d.keys[0], d.keys[1]})
		}
		if w[i%4] >= d.threshold {
			dst[i] = x * d.scale
		} else {
			dst[i] = 0
		}
	}
}

var reduceGeneric = reduceTable{dot: dotGeneric, colSum: colSumGeneric, away: awayGeneric}

func awayGeneric(w, g, anchor []float32) (gg, gd, dd float32) {
	var memory [reduceBlock]float32
	d := memory[:len(w)]
	subGeneric(d, anchor, w)
	return dotGeneric(g, g), dotGeneric(g, d), dotGeneric(d, d)
}

func dotGeneric(x, y []float32) float32 {
	var lanes [16]float32
	for i, v := range x {
		lanes[i%16] = mulAdd(v, y[i], lanes[i%16])
	}
	return tree(&lanes)
}

// tree adds up 16 lanes: each half of the vector to the other half, until one
// number is left.
func tree(v *[16]float32) float32 {
	for half := 8; half > 0; half /= 2 {
		for i := range half {
			v[i] += v[i+half]
		}
	}
	return v[0]
}

func colSumGeneric(dst, src []float32, m, ld int) {
	for i := range m {
		for j, v := range src[i*ld:][:len(dst)] {
			dst[j] += v
		}
	}
}

var softmaxGeneric = softmaxTable{row: softmaxRowGeneric}

func softmaxRowGeneric(dst, src []float32, scale float32) (largest, sum float32) {
	largest = float32(math.Inf(-1))
	for _, x := range src {
		if x > largest {
			largest = x
		}
	}
	var lanes [16]float32
	for i, x := range src {
		e := softmax32(x - largest)
		lanes[i%16] += e
		if len(dst) > 0 {
			dst[i] = e
		}
	}
	sum = tree(&lanes)
	if len(dst) > 0 {
		scale /= sum
		for i, e := range dst[:len(src)] {
			dst[i] = e * scale
		}
		clear(dst[len(src):])
	}
	return largest, sum
}

// softmax32 returns e^x for x <= 0, and 0 below softmaxLow.
func softmax32(x float32) float32 {
	if x != x {
		return x
	}
	if x < softmaxLow {
		return 0
	}
	n, q := reduce(x)
	s := power(int32(n))
	return mulAdd(q, s, s)
}

var lstmGeneric = lstmTable{forward: lstmForwardGeneric, backward: lstmBackwardGeneric}

func lstmForwardGeneric(gates, cPrev, c, tanhC, h []float32) {
	for j := range c {
		b := gates[j/Width*4*Width+j%Width:]
		i, f, g, o := sigmoid32(b[0]), sigmoid32(b[Width]), tanh32(b[2*Width]), sigmoid32(b[3*Width])
		b[0], b[Width], b[2*Width], b[3*Width] = i, f, g, o
		cell := float32(i * g)
		if len(cPrev) > 0 {
			cell = mulAdd(f, cPrev[j], cell)
		}
		c[j] = cell
		tanhC[j] = tanh32(cell)
		h[j] = o * tanhC[j]
	}
}

func lstmBackwardGeneric(dGates, gates, cPrev, tanhC, dh, dc []float32) {
	for j := range dc {
		at := j/Width*4*Width + j%Width
		b, d := gates[at:], dGates[at:]
		i, f, g, o := b[0], b[Width], b[2*Width], b[3*Width]
		t := tanhC[j]
		dcell := mulAdd(dh[j]*o, mulAdd(-t, t, 1), dc[j])
		d[0] = float32(dcell*g) * mulAdd(-i, i, i)
		d[Width] = 0
		if len(cPrev) > 0 {
			d[Width] = float32(dcell*cPrev[j]) * mulAdd(-f, f, f)
		}
		d[2*Width] = float32(dcell*i) * mulAdd(-g, g, 1)
		d[3*Width] = float32(dh[j]*t) * mulAdd(-o, o, o)
		dc[j] = dcell * f
	}
}

func rowNormGeneric(r *RowNorm) {
	size := float64(r.N)
	for row := range r.Rows {
		x, y := r.X[row*r.LdX:][:r.N], r.Y[row*r.LdY:][:r.N]
		var lanes [Width]float32
		mean := float32(0)
		if r.Center {
			for i, v := range x {
				lanes[i%Width] += v
			}
			mean = float32(float64(tree(&lanes)) / size)
			lanes = [Width]float32{}
		}
		for i, v := range x {
			lanes[i%Width] += float32((v - mean) * (v - mean))
		}
		scale := float32(1 / math.Sqrt(float64(tree(&lanes))/size+r.Epsilon))
		for i, v := range x {
			y[i] = float32(float32((v-mean)*scale)*r.Weight[i]) + r.Bias[i]
		}
		r.Mean[row], r.Scale[row] = mean, scale
	}
}

func rowNormGradGeneric(r *RowNormGrad) {
	size := float64(r.N)
	for row := range r.Rows {
		x, dy, mean, scale := r.X[row*r.LdX:][:r.N], r.DY[row*r.LdDY:][:r.N], r.Mean[row], r.Scale[row]
		var sums, products [Width]float32
		for i, v := range x {
			z := (v - mean) * scale
			u := float32(dy[i] * r.Weight[i])
			r.WeightGrad[i] += float32(dy[i] * z)
			r.BiasGrad[i] += dy[i]
			sums[i%Width] += u
			products[i%Width] += float32(u * z)
		}
		if r.DX == nil {
			continue
		}
		first, second := float32(0), float32(float64(tree(&products))/size)
		if r.Center {
			first = float32(float64(tree(&sums)) / size)
		}
		dx := r.DX[row*r.LdDX:][:r.N]
		for i, v := range x {
			z := (v - mean) * scale
			u := float32(dy[i]*r.Weight[i]) - first
			dx[i] = (u - float32(z*second)) * scale
		}
	}
}

var depthwiseGeneric = depthwiseTable{
	row: channelRowGeneric, run3: channelRowGeneric, run5: channelRowGeneric,
	one: channelWeightsGeneric(1), three: channelWeightsGeneric(3), five: channelWeightsGeneric(5),
	tile: 4,
}

func channelRowGeneric(y, x, w, bias *float32, taps *channelTap, count, pixels, channels, yStep, xStep, rows, yNext, xNext int) {
	n := channels * Width
	for r := range rows {
		for i := range pixels {
			to := unsafe.Slice(lane(y, r*(4*n+yNext)+i*yStep), n)
			copy(to, unsafe.Slice(bias, n))
			for _, t := range unsafe.Slice(taps, count) {
				weights := unsafe.Slice(lane(w, t.w), n)
				for c, v := range unsafe.Slice(lane(x, r*(4*n+xNext)+i*xStep+t.x), n) {
					to[c] += float32(weights[c] * v)
				}
			}
		}
	}
}

// channelWeightsGeneric returns the loop for taps neighbouring weights.
func channelWeightsGeneric(taps int) channelWeights {
	return func(gw, x, dy *float32, xTap, wTap, rows, pixels, channels, xStep, yStep, xNext, yNext, images, xImage, yImage int) {
		n := channels * Width
		for range images {
			for range rows {
				for range pixels {
					d := unsafe.Slice(dy, n)
					for t := range taps {
						g := unsafe.Slice(lane(gw, t*wTap), n)
						for c, v := range unsafe.Slice(lane(x, t*xTap), n) {
							g[c] += float32(d[c] * v)
						}
					}
					x, dy = lane(x, xStep), lane(dy, yStep)
				}
				x, dy = lane(x, xNext), lane(dy, yNext)
			}
			x, dy = lane(x, xImage), lane(dy, yImage)
		}
	}
}

var optimGeneric = optimTable{plain: sgdPlainGeneric, momentum: sgdMomentumGeneric, velocity: sgdVelocityGeneric, nesterov: sgdNesterovGeneric, adam: adamGeneric}

// direction returns the gradient with weight decay and the proximal term.
func (r *sgdRates) direction(i int, w, g, anchor []float32) float32 {
	d := mulAdd(r.decay, w[i], g[i])
	if len(anchor) > 0 {
		d = mulAdd(r.mu, w[i]-anchor[i], d)
	}
	return d
}

// roundedDirection is direction with products rounded before they are added, as
// Nesterov's and Adam's steps take them.
func (r *sgdRates) roundedDirection(i int, w, g, anchor []float32) float32 {
	d := float32(r.decay*w[i]) + g[i]
	if len(anchor) > 0 {
		d += float32(r.mu * (w[i] - anchor[i]))
	}
	return d
}

func sgdPlainGeneric(w, g, anchor []float32, r sgdRates) {
	for i := range w {
		w[i] = mulAdd(-r.lr, r.direction(i, w, g, anchor), w[i])
	}
}

func sgdVelocityGeneric(w, g, v, anchor []float32, r sgdRates) {
	for i := range w {
		v[i] = r.direction(i, w, g, anchor)
		w[i] = mulAdd(-r.lr, v[i], w[i])
	}
}

func sgdMomentumGeneric(w, g, v, anchor []float32, r sgdRates) {
	for i := range w {
		v[i] = mulAdd(r.momentum, v[i], r.direction(i, w, g, anchor))
		w[i] = mulAdd(-r.lr, v[i], w[i])
	}
}

func sgdNesterovGeneric(w, g, v, anchor []float32, r sgdRates) {
	for i := range w {
		d := r.roundedDirection(i, w, g, anchor)
		v[i] = float32(r.momentum*v[i]) + d
		d += float32(r.momentum * v[i])
		w[i] -= float32(r.lr * d)
	}
}

func adamGeneric(w, g, m, v, anchor []float32, r adamRates) {
	s := sgdRates{decay: r.decay, mu: r.mu}
	for i := range w {
		d := s.roundedDirection(i, w, g, anchor)
		m[i] = float32(r.beta1*m[i]) + float32(r.rest1*d)
		v[i] = float32(r.beta2*v[i]) + float32(float32(r.rest2*d)*d)
		root := float32(float32(math.Sqrt(float64(v[i])))*r.scale) + r.eps
		w[i] = float32(r.keep*w[i]) - float32(r.rate*(m[i]/root))
	}
}
