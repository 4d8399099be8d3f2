package kernels_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/fedfast/fedfast/internal/test/kernelstest"
	"github.com/fedfast/fedfast/kernels"
)

// The functions here say, one fused step after the other, what every level must
// return to the bit.

var fma = kernelstest.FMA32

func reduceOracle(x float32) (n int, q float32) {
	f := float32(math.RoundToEven(float64(x * kernels.Log2e)))
	r := fma(-f, kernels.Ln2Hi, x)
	r = fma(-f, kernels.Ln2Lo, r)
	p := fma(kernels.Exp6, r, kernels.Exp5)
	p = fma(p, r, kernels.Exp4)
	p = fma(p, r, kernels.Exp3)
	p = fma(p, r, kernels.Exp2)
	return int(f), fma(p, r*r, r)
}

func power(n int) float32 { return float32(math.Ldexp(1, n)) }

func expOracle(x float32) float32 {
	if x != x {
		return x
	}
	n, q := reduceOracle(min(max(x, kernels.ExpLow), kernels.ExpHigh))
	return fma(q, power(n>>1), power(n>>1)) * power(n-n>>1)
}

func sigmoidOracle(x float32) float32 {
	if x != x {
		return x
	}
	n, q := reduceOracle(min(max(-x, kernels.SigmoidLow), kernels.SigmoidHigh))
	return 1 / (1 + fma(q, power(n), power(n)))
}

func tanhOracle(x float32) float32 {
	if x != x {
		return x
	}
	a := min(float32(math.Abs(float64(x))), kernels.TanhHigh)
	n, q := reduceOracle(2 * a)
	t := fma(q, power(n), power(n)-1)
	return float32(math.Copysign(float64(t/(t+2)), float64(x)))
}

func softmaxOracle(x float32) float32 {
	if x != x {
		return x
	}
	if x < kernels.SoftmaxLow {
		return 0
	}
	n, q := reduceOracle(x)
	return fma(q, power(n), power(n))
}

// lanesOracle sums n terms in 16 lanes, where step adds term i to a lane.
func lanesOracle(n int, step func(lane float32, i int) float32) float32 {
	var lanes [16]float32
	for i := range n {
		lanes[i%16] = step(lanes[i%16], i)
	}
	for half := 8; half > 0; half /= 2 {
		for i := range half {
			lanes[i] += lanes[i+half]
		}
	}
	return lanes[0]
}

// equal compares bits, except that all NaN are one.
func equal(a, b float32) bool {
	return math.Float32bits(a) == math.Float32bits(b) || a != a && b != b
}

// ulp is the distance between want and its neighbours as float32.
func ulp(want float64) float64 {
	_, e := math.Frexp(want)
	return math.Ldexp(1, max(e-24, -149))
}

// ulps is the error of got in units of the last place of want.
func ulps(got float32, want float64) float64 {
	if float64(got) == want || got != got && want != want {
		return 0
	}
	if e := math.Abs(float64(got)-want) / ulp(want); e == e {
		return e
	}
	return math.Inf(1)
}

// expect compares got with what the oracle says, on every level.
func expect(t testing.TB, what string, i int, got, want float32) {
	t.Helper()
	if !equal(got, want) {
		t.Fatalf("%s: element %d is %v (%#08x), want %v (%#08x)", what, i, got, math.Float32bits(got), want,
			math.Float32bits(want))
	}
}

// eachLength calls f for all lengths around the vector widths, at changing
// alignments, and for some larger ones.
func eachLength(f func(n, offset int)) {
	for n := range 131 {
		if !kernelstest.Small() || n <= 34 || n%16 < 2 {
			f(n, n*5%16)
		}
	}
	for _, n := range []int{255, 257, 1023, 4096, 4111} {
		f(n, n%7)
	}
	if !kernelstest.Small() {
		f(kernels.MapBlock+16, 0)
		f(2*kernels.MapBlock+37, 3)
	}
}

// unusual are the values at which functions of floats tend to fail.
var unusual = []float32{
	0, float32(math.Copysign(0, -1)), 1, -1, float32(math.Inf(1)), float32(math.Inf(-1)), float32(math.NaN()),
	math.MaxFloat32,
	-math.MaxFloat32, math.SmallestNonzeroFloat32, -math.SmallestNonzeroFloat32, 0x1p-126, -0x1p-126, 0.34657, 0.34658,
	-0.34657, 88.72, 88.73,
	89, -87.3, -87.4, -103.9, -104, -105, 9.01, -10, 10.5, 60, -60, -59.99, -60.01, 1e10, -1e10, 1e-10, -1e-10, 88.25,
	88.5,
}

// spread returns n numbers of all sizes, with unusual ones among them, between
// guard words.
func spread(r *rand.Rand, n, offset int) *kernelstest.Slice {
	s := kernelstest.Random(r, n, offset)
	for i := range s.Data {
		switch r.IntN(8) {
		case 0:
			s.Data[i] = unusual[r.IntN(len(unusual))]
		case 1, 2:
			s.Data[i] *= 30
		case 3:
			s.Data[i] *= 1e-3
		}
	}
	return s
}

// noAllocation fails the test if f allocates.
func noAllocation(t *testing.T, f func()) {
	t.Helper()
	if n := testing.AllocsPerRun(10, f); n != 0 {
		t.Errorf("%v allocations a call", n)
	}
}

func clone(x []float32) []float32 { return append([]float32(nil), x...) }
