package kernels

// LRN is local response normalisation across the channels of pixels that lie one
// after the other. With sums over the channels j of a pixel that exist and have |j
// - c| <= Radius:
//
//	base_c = Bias + Alpha * sum of x_j*x_j,  power_c = base_c^(-Quarters/4),  y_c = x_c * power_c
//
// Sums run from the lowest channel to the highest; nothing is fused, so all levels
// give the same bits.
type LRN struct {
	Pixels, C   int // C is a multiple of Width; channels that are there for that only must be zero
	Radius      int // at most C
	Bias, Alpha float32
	Quarters    int // 1 to 4

	X           []float32 // Pixels x C
	Base, Power []float32 // Pixels x C: what LRNForward leaves for LRNBackward
	Space       []float32 // scratch of LRNSpace floats that the caller has zeroed once
}

// lrnArgs is what assembly reads; its offsets are known to _asm/pointwise.
// Distances are in bytes.
type lrnArgs struct {
	x, base, power *float32
	dy, out        *float32
	space          *float32 // of the first pixel
	pixels, groups int      // at least 1
	gap            int      // from the end of a pixel's part of the space to the next
	radius         int      // in bytes
	terms          int      // of a sum
	quarters       int
	bias, alpha    float32 // backward: alpha is the factor of the sums
}

// lrnTable holds the functions of one level: the squares or quotients that are
// summed, and what follows from the sums.
type lrnTable struct {
	squares, normalize, quotients, gradient func(a *lrnArgs)
}

var lrns lrnTable

const msgLRN = "kernels: LRN with a negative size, C that is no multiple of Width, Radius above C, Quarters outside 1 to 4, or a slice too short"

// LRNSpace returns the number of floats of scratch memory that an LRN of the given size
// takes.
func LRNSpace(pixels, c, radius int) int { return pixels*(c+Pad(radius)) + Pad(radius) }

func (l *LRN) check(other []float32) {
	n := l.Pixels * l.C
	if l.Pixels < 0 || l.C < 0 || l.C%Width != 0 || l.Radius < 0 || l.Radius > l.C || l.Quarters < 1 || l.Quarters > 4 ||
		len(l.X) < n || len(l.Base) < n || len(l.Power) < n || len(other) < n || len(l.Space) < LRNSpace(l.Pixels, l.C, l.Radius) {
		panic(msgLRN)
	}
}

// LRNForward stores the normalised pixels in y, which must not overlap the slices
// of l.
func LRNForward(l *LRN, y []float32) {
	l.check(y)
	raceRead(l.X)
	raceWrite(l.Base)
	raceWrite(l.Power)
	raceWrite(y)
	l.run(lrns.squares, lrns.normalize, nil, y, l.Alpha)
}

// LRNBackward stores in dx the gradient of X from dy, that of the normalised
// pixels:
//
//	dx_c = dy_c*power_c - x_c * (2*Alpha*Quarters/4 * sum of dy_j*x_j*power_j/base_j)
//
// dx may be dy itself.
func LRNBackward(l *LRN, dx, dy []float32) {
	l.check(dx)
	l.check(dy)
	raceRead(l.X)
	raceRead(dy)
	raceWrite(dx)
	l.run(lrns.quotients, lrns.gradient, dy, dx, float32(2*l.Alpha)*(float32(l.Quarters)/4))
}

// maxLRN bounds the floats of one call.
const maxLRN = 1 << 14

func (l *LRN) run(terms, sums func(a *lrnArgs), dy, out []float32, alpha float32) {
	if l.Pixels == 0 || l.C == 0 {
		return
	}
	gap := Pad(l.Radius)
	a := lrnArgs{
		groups: l.C / Width, gap: 4 * gap, radius: 4 * l.Radius, terms: 2*l.Radius + 1,
		quarters: l.Quarters, bias: l.Bias, alpha: alpha,
	}
	step := max(1, maxLRN/l.C)
	for p := 0; p < l.Pixels; p += step {
		at := p * l.C
		a.pixels = min(step, l.Pixels-p)
		a.x, a.base, a.power, a.out, a.space = &l.X[at], &l.Base[at], &l.Power[at], &out[at], &l.Space[gap]
		if dy != nil {
			a.dy = &dy[at]
		}
		callLRN(terms, noescape(&a))
		callLRN(sums, noescape(&a))
	}
}

//go:noinline
func callLRN(f func(a *lrnArgs), a *lrnArgs) { f(a) }
