package kernels

import "math"

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
