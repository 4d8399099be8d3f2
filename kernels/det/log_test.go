package det_test

import (
	"math"
	"math/big"
	"math/rand/v2"
	"testing"

	"github.com/fedfast/fedfast/kernels/det"
)

// bigLog returns ln x to about 180 bits: two steps of Newton's method on bigExp,
// which triple the digits of math.Log. (That is itself wrong for subnormal numbers
// on some processors.)
func bigLog(x float64) *big.Float {
	exact := new(big.Float).SetPrec(260).SetFloat64(x)
	m, e := math.Frexp(x)
	y := new(big.Float).SetPrec(260).SetFloat64(math.Log(m) + float64(float64(e)*math.Ln2))
	for range 2 {
		e := bigExp(new(big.Float).SetPrec(260).Neg(y))
		e.Sub(e.Mul(e, exact), big.NewFloat(1)) // x e^-y - 1, tiny: ln(1 + e) = e - e^2/2 + ...
		half := new(big.Float).SetPrec(260).Mul(e, e)
		y.Add(y, e.Sub(e, half.Quo(half, big.NewFloat(2))))
	}
	return y
}

func TestLogAgainstBig(t *testing.T) {
	ln10 := bigLn10(t)
	r := rand.New(rand.NewPCG(5, 6))
	for _, c := range []struct {
		name string
		draw func() float64
	}{
		{"near one", func() float64 { return 1 + float64((r.Float64()-0.5)*0.02) }},
		{"half to two", func() float64 { return 0.5 + float64(1.5*r.Float64()) }},
		{"any", func() float64 { return math.Ldexp(1+r.Float64(), r.IntN(2097)-1074) }},
		{"subnormal", func() float64 { return math.Float64frombits(1 + r.Uint64()>>12) }},
	} {
		worst, worst10 := 0.0, 0.0
		for range 2000 {
			x := c.draw()
			if x == 1 || x > math.MaxFloat64 {
				continue
			}
			exact := bigLog(x)
			worst = max(worst, bigUlps(det.Log(x), exact))
			worst10 = max(worst10, bigUlps(det.Log10(x), exact.Quo(exact, ln10)))
		}
		t.Logf("%s: worst %.3f ulp, decimal %.3f", c.name, worst, worst10)
		if worst > 0.8 {
			t.Errorf("%s: Log is %.3f ulp from the exact value, want at most 0.8", c.name, worst)
		}
		if worst10 > 1.7 {
			t.Errorf("%s: Log10 is %.3f ulp from the exact value, want at most 1.7", c.name, worst10)
		}
	}
}

// BenchmarkLog is of the loss of a sample: one logarithm each.
func BenchmarkLog(b *testing.B) {
	x, sum := 1.5, 0.0
	for b.Loop() {
		sum += det.Log(x)
		x += 0.37
	}
	if sum == 0 {
		b.Fatal("no logarithms")
	}
}
