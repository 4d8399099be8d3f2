package kernels

import "math"

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
