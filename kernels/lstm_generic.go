package kernels

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
