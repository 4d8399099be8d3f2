package kernelstest

import (
	"math"
	"math/big"
	"math/rand/v2"
	"testing"
)

// TestFMA32 compares with exact arithmetic on random bit patterns, close exponents
// among them, and on the special values.
func TestFMA32(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	special := []uint32{
		0, 0x80000000, 1, 0x80000001, 0x007fffff, 0x00800000, 0x3f800000, 0x3f800001, 0x7f7fffff,
		0x7f800000, 0xff800000, 0x7fc00000,
	}
	random := func() float32 {
		switch r.IntN(8) {
		case 0:
			return math.Float32frombits(special[r.IntN(len(special))])
		case 1:
			return math.Float32frombits(r.Uint32())
		}
		return math.Float32frombits(r.Uint32()&0x807fffff | uint32(115+r.IntN(24))<<23)
	}
	for range 500_000 {
		x, y, z := random(), random(), random()
		got, want := FMA32(x, y, z), exactFMA(x, y, z)
		if math.Float32bits(got) != math.Float32bits(want) && !(got != got && want != want) {
			t.Fatalf("FMA32(%x, %x, %x) = %x, want %x", x, y, z, got, want)
		}
	}
}

func exactFMA(x, y, z float32) float32 {
	p := float64(x) * float64(y)
	s := p + float64(z)
	if s == 0 || math.IsInf(s, 0) || math.IsNaN(s) || p == 0 {
		return float32(s) // exact, or not finite
	}
	var a, b big.Float
	a.SetPrec(600).SetFloat64(p)
	b.SetPrec(600).SetFloat64(float64(z))
	f, _ := a.Add(&a, &b).Float32()
	return f
}
