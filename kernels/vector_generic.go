package kernels

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
