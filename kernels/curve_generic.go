package kernels

// The constants of the activations, the same on all levels. The tanh form of GELU is
// x sigmoid(x (geluLinear + geluCube x²)), with 2 sqrt(2/pi) and 0.044715 of it; the
// other one goes by Phi(-a) = e^(-a²/2) (erf1 t + ... + erf5 t^5), t = 1/(1 + erfScale
// a), a >= 0, within 7.5e-8 (Abramowitz and Stegun, 7.1.26).
const (
	geluLinear = 0x1.988454p+0
	geluCube   = 0x1.2444f2p-4
	geluSlope  = 0x1.b6676cp-3 // 3 geluCube

	erfScale = 0x1.da671p-3
	erf1     = 0x1.04f20cp-3
	erf2     = -0x1.23531cp-3
	erf3     = 0x1.6be1c6p-1
	erf4     = -0x1.7401c6p-1
	erf5     = 0x1.0fb844p-1
	density  = 0x1.988454p-2 // 1/sqrt(2 pi)

	sixth = 0x1.555556p-3
	third = 0x1.555556p-2
)

func geluArgument32(x float32) float32 {
	return x * (float32(float32(x*x)*geluCube) + geluLinear)
}

func geluTanh32(x, s float32) (y, slope float32) {
	y = x * s
	inner := float32(float32(x*x)*geluSlope) + geluLinear
	return y, s + float32(float32(y*(1-s))*inner)
}

func gelu32(x, e float32) (y, slope float32) {
	a := x
	if x < 0 {
		a = -x
	}
	t := 1 / (float32(a*erfScale) + 1)
	q := float32(t * erf5)
	for _, c := range [...]float32{erf4, erf3, erf2, erf1} {
		q = float32((q + c) * t)
	}
	q = float32(q * e)
	var phi float32
	switch {
	case x >= 0:
		phi = 1 - q
	case x < 0:
		phi = q
	}
	return x * phi, phi + float32(x*float32(e*density))
}

// ramp returns x+3 within [0, 6].
func ramp(x float32) float32 { return clamp(x+3, 0, 6) }

func hardSwish32(x, _ float32) (y, slope float32) {
	y = float32(x*ramp(x)) * sixth
	switch {
	case x >= 3:
		slope = 1
	case x > -3:
		slope = float32(x*third) + 0.5
	}
	return y, slope
}

func hardSigmoid32(x, _ float32) (y, slope float32) {
	if x > -3 && x < 3 {
		slope = sixth
	}
	return ramp(x) * sixth, slope
}
