package kernels

import "math"

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
