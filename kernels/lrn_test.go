package kernels_test

import (
	"fmt"
	"math"
	"testing"

	"github.com/fedfast/fedfast/internal/test/kernelstest"
	"github.com/fedfast/fedfast/kernels"
)

func TestLRN(t *testing.T) {
	for _, l := range []kernels.LRN{
		{Pixels: 0, C: 16, Radius: 1, Bias: 1, Alpha: 0.5, Quarters: 3},
		{Pixels: 1, C: 16, Radius: 0, Bias: 1, Alpha: 0.5, Quarters: 1},
		{Pixels: 3, C: 32, Radius: 4, Bias: 2, Alpha: 0.1, Quarters: 3},
		{Pixels: 5, C: 64, Radius: 16, Bias: 0.5, Alpha: 1, Quarters: 2},
		{Pixels: 2, C: 16, Radius: 16, Bias: 1, Alpha: 0.3, Quarters: 4},
		{Pixels: 400, C: 48, Radius: 5, Bias: 1, Alpha: 0.3, Quarters: 3},
	} {
		t.Run(fmt.Sprintf("pixels=%d/c=%d/radius=%d/quarters=%d", l.Pixels, l.C, l.Radius, l.Quarters), func(t *testing.T) {
			kernelstest.ForEachLevel(t, func(t *testing.T) { testLRN(t, l) })
		})
	}
}

// testLRN compares with sums and powers in float64, and the bits with those of the
// plain Go level.
func testLRN(t *testing.T, l kernels.LRN) {
	r := newRand(7)
	n := l.Pixels * l.C
	x, dy := kernelstest.Random(r, n, 1), kernelstest.Random(r, n, 2)
	y, dx := kernelstest.NewSlice(n, 3), kernelstest.NewSlice(n, 4)
	base, power := kernelstest.NewSlice(n, 5), kernelstest.NewSlice(n, 6)
	space := kernelstest.NewSlice(kernels.LRNSpace(l.Pixels, l.C, l.Radius), 7)
	l.X, l.Base, l.Power, l.Space = x.Data, base.Data, power.Data, space.Data
	run := func() {
		kernels.LRNForward(&l, y.Data)
		kernels.LRNBackward(&l, dx.Data, dy.Data)
	}
	run()
	for i, s := range []*kernelstest.Slice{x, dy, y, dx, base, power, space} {
		s.Check(t, fmt.Sprint("slice ", i))
	}
	beta := float64(l.Quarters) / 4
	for p := range l.Pixels {
		at := func(s *kernelstest.Slice, c int) float64 { return float64(s.Data[p*l.C+c]) }
		around := func(c int, f func(j int) float64) (sum float64) {
			for j := max(0, c-l.Radius); j <= min(l.C-1, c+l.Radius); j++ {
				sum += f(j)
			}
			return sum
		}
		b := make([]float64, l.C)
		for c := range b {
			b[c] = float64(l.Bias) + float64(l.Alpha)*around(c, func(j int) float64 { return at(x, j) * at(x, j) })
		}
		for c := range b {
			want := at(x, c) * math.Pow(b[c], -beta)
			if d := math.Abs(at(y, c) - want); !(d <= 3e-6*math.Abs(want)) {
				t.Fatalf("pixel %d, channel %d is %v, want %v", p, c, at(y, c), want)
			}
			size := 0.0
			sum := around(c, func(j int) float64 {
				q := at(dy, j) * at(x, j) * math.Pow(b[j], -beta-1)
				size += math.Abs(q)
				return q
			})
			factor := 2 * float64(l.Alpha) * beta * at(x, c)
			own := at(dy, c) * math.Pow(b[c], -beta)
			if d := math.Abs(at(dx, c) - own + factor*sum); !(d <= 3e-6*(math.Abs(own)+math.Abs(factor)*size)) {
				t.Fatalf("gradient of pixel %d, channel %d is %v, want %v", p, c, at(dx, c), own-factor*sum)
			}
		}
	}
	level := kernels.Current()
	gotY, gotDX := clone(y.Data), clone(dx.Data)
	if err := kernels.SetLevel(kernels.Generic); err != nil {
		t.Fatal(err)
	}
	run()
	if err := kernels.SetLevel(level); err != nil {
		t.Fatal(err)
	}
	for i := range gotY {
		if !equal(gotY[i], y.Data[i]) || !equal(gotDX[i], dx.Data[i]) {
			t.Fatalf("value %d: %v and %v, on the plain Go level %v and %v", i, gotY[i], gotDX[i], y.Data[i], dx.Data[i])
		}
	}
	noAllocation(t, run)
}
