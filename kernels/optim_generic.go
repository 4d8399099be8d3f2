package kernels

var optimGeneric = optimTable{plain: sgdPlainGeneric, momentum: sgdMomentumGeneric, velocity: sgdVelocityGeneric, nesterov: sgdNesterovGeneric}

// direction returns the gradient with weight decay and the proximal term.
func (r *sgdRates) direction(i int, w, g, anchor []float32) float32 {
	d := float32(r.decay*w[i]) + g[i]
	if len(anchor) > 0 {
		d += float32(r.mu * (w[i] - anchor[i]))
	}
	return d
}

func sgdPlainGeneric(w, g, anchor []float32, r sgdRates) {
	for i := range w {
		w[i] -= float32(r.lr * r.direction(i, w, g, anchor))
	}
}

func sgdVelocityGeneric(w, g, v, anchor []float32, r sgdRates) {
	for i := range w {
		v[i] = r.direction(i, w, g, anchor)
		w[i] -= float32(r.lr * v[i])
	}
}

func sgdMomentumGeneric(w, g, v, anchor []float32, r sgdRates) {
	for i := range w {
		v[i] = float32(r.momentum*v[i]) + r.direction(i, w, g, anchor)
		w[i] -= float32(r.lr * v[i])
	}
}

func sgdNesterovGeneric(w, g, v, anchor []float32, r sgdRates) {
	for i := range w {
		d := r.direction(i, w, g, anchor)
		v[i] = float32(r.momentum*v[i]) + d
		d += float32(r.momentum * v[i])
		w[i] -= float32(r.lr * d)
	}
}
