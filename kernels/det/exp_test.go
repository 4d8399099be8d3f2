package det_test

import (
	"math"
	"math/big"
	"math/rand/v2"
	"testing"

	"github.com/fedfast/fedfast/kernels/det"
)

func TestExact(t *testing.T) {
	inf := math.Inf(1)
	for _, c := range []struct {
		name      string
		got, want float64
	}{
		{"exp 0", det.Exp(0), 1},
		{"exp inf", det.Exp(inf), inf},
		{"exp -inf", det.Exp(-inf), 0},
		{"exp 1000", det.Exp(1000), inf},
		{"log 1", det.Log(1), 0},
		{"log 0", det.Log(0), -inf},
		{"log inf", det.Log(inf), inf},
		{"log10 1", det.Log10(1), 0},
		{"log10 1000", det.Log10(1000), 3},
		{"pow10 -4", det.Pow10(-4), 1e-4},
		{"pow10 0", det.Pow10(0), 1},
		{"pow10 5", det.Pow10(5), 1e5},
		{"pow10 -320", det.Pow10(-320), 1e-320},
		{"pow10 400", det.Pow10(400), inf},
		{"logsumexp none", det.LogSumExp(nil), -inf},
		{"logsumexp huge", det.LogSumExp([]float64{1000, 1000 - 1e9}), 1000},
	} {
		if c.got != c.want {
			t.Errorf("%s: got %v, want %v", c.name, c.got, c.want)
		}
	}
	for name, x := range map[string]float64{
		"exp": det.Exp(math.NaN()), "log": det.Log(-1), "log10": det.Log10(-1),
		"pow10": det.Pow10(math.NaN()),
	} {
		if !math.IsNaN(x) {
			t.Errorf("%s: got %v, want NaN", name, x)
		}
	}
}

// bigExp returns e**x to about 180 bits: the Taylor series of e**(x/2^40), squared
// 40 times.
func bigExp(x *big.Float) *big.Float {
	r := new(big.Float).SetPrec(260).Set(x)
	r.SetMantExp(r, -40)
	sum, term := big.NewFloat(1).SetPrec(260), big.NewFloat(1).SetPrec(260)
	for n := 1; n < 20; n++ {
		term.Mul(term, r)
		term.Quo(term, new(big.Float).SetPrec(260).SetInt64(int64(n)))
		sum.Add(sum, term)
	}
	for range 40 {
		sum.Mul(sum, sum)
	}
	return sum
}

// bigUlps returns how many units in the last place lie between got and exact.
func bigUlps(got float64, exact *big.Float) float64 {
	near, _ := exact.Float64()
	near = math.Abs(near)
	diff, _ := new(big.Float).Sub(new(big.Float).SetPrec(260).SetFloat64(got), exact).Float64()
	return math.Abs(diff) / (math.Nextafter(near, math.Inf(1)) - near)
}

func bigLn10(t *testing.T) *big.Float {
	t.Helper()
	const digits = "2.302585092994045684017991454684364207601101488628772976033327900967572609677352480235997205089598298341967784"
	ln10, _, err := big.ParseFloat(digits, 10, 260, big.ToNearestEven)
	if err != nil {
		t.Fatal(err)
	}
	return ln10
}

func TestExpAgainstBig(t *testing.T) {
	ln10 := bigLn10(t)
	r := rand.New(rand.NewPCG(3, 4))
	for _, c := range []struct {
		name   string
		got    func(float64) float64
		lo, hi float64
		ten    bool
		ulps   float64
	}{
		{"exp small", det.Exp, -1, 1, false, 1},
		{"exp", det.Exp, -700, 700, false, 1},
		{"pow10", det.Pow10, -22, 22, true, 2},
		{"pow10 wide", det.Pow10, -300, 300, true, 2.5},
	} {
		worst := 0.0
		for range 3000 {
			x := c.lo + float64(r.Float64()*(c.hi-c.lo))
			arg := new(big.Float).SetPrec(260).SetFloat64(x)
			if c.ten {
				arg.Mul(arg, ln10)
			}
			exact := bigExp(arg)
			worst = max(worst, bigUlps(c.got(x), exact))
		}
		t.Logf("%s: worst %.2f ulp", c.name, worst)
		if worst > c.ulps {
			t.Errorf("%s: %.2f ulp from the exact value, want at most %v", c.name, worst, c.ulps)
		}
	}
}

// TestBits pins bits, so that a CPU or a compiler that rounds otherwise is found.
func TestBits(t *testing.T) {
	h := uint64(0)
	for i := range 10000 {
		x := float64(i)/37 - 130
		for _, y := range []float64{det.Exp(x), det.Log(x + 131), det.Log10(x + 131), det.Pow10(x / 3)} {
			h = h*0x9e3779b97f4a7c15 + math.Float64bits(y)
		}
	}
	if want := uint64(0xad18896b329b2122); h != want {
		t.Errorf("the functions' bits changed: got %#x, want %#x", h, want)
	}
}
