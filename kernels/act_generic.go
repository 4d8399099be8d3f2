package kernels

import "math"

// actGeneric is the plain Go level, of the same bits as assembly.
var actGeneric = actTable{exp: expGeneric, sigmoid: sigmoidGeneric, tanh: tanhGeneric, reluBackward: reluBackwardGeneric}

// The constants of the exponential, the same on all levels. With n =
// round(x*log2e), e^x = 2^n e^r for r = x - n ln2, which is taken in two steps;
// ln2Hi has 15 bits, so that n*ln2Hi is exact. On |r| <= ln2/2
//
//	e^r - 1 = r + r²(exp2 + r(exp3 + r(exp4 + r(exp5 + r exp6))))
//
// where the coefficients have the least relative error (2^-26.1), found by
// Remez exchange and rounded one after the other.
const (
	log2e = 0x1.715476p+0
	ln2Hi = 0x1.62e4p-1
	ln2Lo = 0x1.7f7d1cp-20
	exp2  = 0x1.fffffep-2
	exp3  = 0x1.5554aap-3
	exp4  = 0x1.55579ep-5
	exp5  = 0x1.122c86p-7
	exp6  = 0x1.6ab168p-10
)

// Arguments are limited to these ranges first. Beyond them exp gives 0 and +Inf,
// tanh gives 1, and softmax gives 0.
const (
	expLow, expHigh         = -104, 89
	sigmoidLow, sigmoidHigh = -87, 88.25 // of -x
	tanhHigh                = 10
	softmaxLow              = -60
)

// reduce returns n, the integer nearest to x*log2e (ties to even), and e^r - 1
// where r = x - n ln2. |x| must be below 2^21.
func reduce(x float32) (n, q float32) {
	const magic = 3 << 22 // adding it leaves no room for a fraction
	n = float32(float32(x*log2e)+magic) - magic
	r := mulAdd(-n, ln2Hi, x)
	r = mulAdd(-n, ln2Lo, r)
	p := mulAdd(exp6, r, exp5)
	p = mulAdd(p, r, exp4)
	p = mulAdd(p, r, exp3)
	p = mulAdd(p, r, exp2)
	return n, mulAdd(p, r*r, r)
}

// power returns 2^n for -126 <= n <= 127.
func power(n int32) float32 { return math.Float32frombits(uint32(n+127) << 23) }

// clamp limits x to [low, high] and lets NaN through.
func clamp(x, low, high float32) float32 {
	if x < low {
		return low
	}
	if x > high {
		return high
	}
	return x
}

func exp32(x float32) float32 {
	if x != x {
		return x
	}
	n, q := reduce(clamp(x, expLow, expHigh))
	half := int32(n) >> 1
	s := power(half)
	return mulAdd(q, s, s) * power(int32(n)-half)
}

func sigmoid32(x float32) float32 {
	if x != x {
		return x
	}
	n, q := reduce(clamp(-x, sigmoidLow, sigmoidHigh))
	s := power(int32(n))
	return 1 / (1 + mulAdd(q, s, s))
}

func tanh32(x float32) float32 {
	if x != x {
		return x
	}
	const sign = 1 << 31
	b := math.Float32bits(x)
	a := clamp(math.Float32frombits(b&^sign), 0, tanhHigh)
	n, q := reduce(a + a)
	s := power(int32(n))
	t := mulAdd(q, s, s-1) // e^2a - 1
	return math.Float32frombits(math.Float32bits(t/(t+2)) | b&sign)
}

func expGeneric(dst, src []float32) {
	for i, x := range src {
		dst[i] = exp32(x)
	}
}

func sigmoidGeneric(dst, src []float32) {
	for i, x := range src {
		dst[i] = sigmoid32(x)
	}
}

func tanhGeneric(dst, src []float32) {
	for i, x := range src {
		dst[i] = tanh32(x)
	}
}

func reluBackwardGeneric(dx, dy, y []float32) {
	for i, v := range y {
		if v > 0 {
			dx[i] = dy[i]
		} else {
			dx[i] = 0
		}
	}
}
