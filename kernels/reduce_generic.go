package kernels

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
