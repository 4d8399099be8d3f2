package kernels_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/fedfast/fedfast/internal/test/kernelstest"
	"github.com/fedfast/fedfast/kernels"
)

// TestImageNorm compares the loops with plain ones, to the bit: nothing in them may
// be fused, and every product of the sums is exact.
func TestImageNorm(t *testing.T) {
	for _, n := range []kernels.ImageNorm{
		{H: 1, W: 1, C: 16, XRow: 16, YRow: 16, DXRow: 16},
		{H: 3, W: 2, C: 48, XRow: 96, YRow: 150, DXRow: 101},
		{H: 2, W: 5, C: 64, XRow: 333, YRow: 320, DXRow: 320},
		{H: 70, W: 64, C: 16, XRow: 1024, YRow: 1024, DXRow: 1025}, // more than one call of assembly
	} {
		t.Run(fmt.Sprintf("%dx%dx%d", n.H, n.W, n.C), func(t *testing.T) {
			kernelstest.ForEachLevel(t, func(t *testing.T) { testImageNorm(t, n) })
		})
	}
}

func testImageNorm(t *testing.T, n kernels.ImageNorm) {
	r := newRand(6)
	size := func(row int) int { return (n.H-1)*row + n.W*n.C }
	x, dy, y, dx := kernelstest.Random(r, size(n.XRow), 1), kernelstest.Random(r, size(n.YRow), 2),
		kernelstest.NewSlice(size(n.YRow), 3), kernelstest.NewSlice(size(n.DXRow), 5)
	value, shift, grad := spread(r, n.C, 7).Data, spread(r, n.C, 0).Data, spread(r, n.C, 3).Data
	n.Sum, n.Inner = make([]float64, n.C+1), make([]float64, n.C+1)
	n.Sum[n.C], n.Inner[n.C] = 7, 7
	n.X, n.Y, n.DX, n.Value, n.Shift, n.Grad = x.Data, dy.Data, dx.Data, value, shift, grad
	kernels.NormSums(&n)
	kernels.NormBackward(&n)
	dx.Check(t, "gradient")
	if n.Sum[n.C] != 7 || n.Inner[n.C] != 7 {
		t.Fatal("a sum behind the last channel was written")
	}
	n.Y = y.Data
	for _, relu := range []bool{false, true} {
		n.ReLU = relu
		kernels.NormForward(&n)
		y.Check(t, "result")
		for i := range n.H * n.W * n.C {
			row, at := i/(n.W*n.C), i%(n.W*n.C)
			want := float32(value[i%n.C]*x.Data[row*n.XRow+at]) + shift[i%n.C]
			if relu && want < 0 {
				want = 0
			}
			if got := y.Data[row*n.YRow+at]; !equal(got, want) {
				t.Fatalf("result %d is %v, want %v", i, got, want)
			}
		}
	}
	for c := range n.C {
		var sum, inner float64
		for i := c; i < n.H*n.W*n.C; i += n.C {
			row, at := i/(n.W*n.C), i%(n.W*n.C)
			v, g := x.Data[row*n.XRow+at], dy.Data[row*n.YRow+at]
			sum += float64(g)
			inner += float64(float64(g) * float64(v))
			want := float32(grad[c]*g) + (float32(value[c]*v) + shift[c])
			if got := dx.Data[row*n.DXRow+at]; !equal(got, want) {
				t.Fatalf("gradient %d is %v, want %v", i, got, want)
			}
		}
		if n.Sum[c] != sum || n.Inner[c] != inner {
			t.Fatalf("sums of channel %d are %v and %v, want %v and %v", c, n.Sum[c], n.Inner[c], sum, inner)
		}
	}
	testNormSlopes(t, n, r)
	noAllocation(t, func() {
		kernels.NormSums(&n)
		kernels.NormForward(&n)
		kernels.NormBackward(&n)
	})
}

// TestNormShares compares the loops of a share of a gradient with what they do one after the other.
func TestNormShares(t *testing.T) {
	kernelstest.ForEachLevel(t, func(t *testing.T) {
		for _, used := range []int{3, 8, 16} {
			n := kernels.ImageNorm{H: 71, W: 64, C: 16, XRow: 1024, YRow: 1060, DXRow: 1024} // more than one call of assembly
			if !n.TakesShares() {
				t.Skip("no such loops")
			}
			r, share := newRand(7), float32(0.3)
			image := func(row, used int) []float32 {
				x := kernelstest.Random(r, n.H*row, 0).Data
				for i := range x {
					if i%row%n.C >= used {
						x[i] = 0
					}
				}
				return x
			}
			n.X, n.Y, n.DX = image(n.XRow, used), image(n.YRow, used), make([]float32, n.H*n.DXRow)
			n.Value, n.Shift, n.Grad = image(n.C, used), image(n.C, used), image(n.C, used)
			n.Sum, n.Inner = make([]float64, n.C), make([]float64, n.C)
			steps := n
			steps.DX, steps.Sum, steps.Inner = make([]float32, len(n.DX)), make([]float64, n.C), make([]float64, n.C)
			dots, y := make([]float32, n.H), make([]float32, len(n.Y))
			kernels.NormShareSums(&n, share, used, dots)
			kernels.NormShareBackward(&n, share)

			steps.Y = y
			kernels.NormForward(&steps)
			for row, got := range dots {
				at := row * n.YRow
				if want := kernels.Dot(n.Y[at:][:n.W*n.C], y[at:][:n.W*n.C]); float64(got) != want {
					t.Fatalf("%d channels: the product of row %d is %v, want %v", used, row, got, want)
				}
			}
			sum := image(n.YRow, used)
			want := slices.Clone(sum)
			kernels.Axpy(want, share, y)
			added := n
			added.Y = sum
			kernels.NormShareForward(&added, share)
			if !slices.Equal(sum, want) {
				t.Fatalf("%d channels: the sum differs", used)
			}
			kernels.ScaleTo(y, share, n.Y)
			kernels.NormSums(&steps)
			kernels.NormBackward(&steps)
			if !slices.Equal(n.Sum, steps.Sum) || !slices.Equal(n.Inner, steps.Inner) || !slices.Equal(n.DX, steps.DX) {
				t.Fatalf("%d channels: sums or gradients differ", used)
			}
			noAllocation(t, func() {
				kernels.NormShareForward(&added, share)
				kernels.NormShareSums(&n, share, used, dots)
				kernels.NormShareBackward(&n, share)
			})
		}
	})
}

// testNormSlopes compares norms with an activation after them with both one after the other.
func testNormSlopes(t *testing.T, n kernels.ImageNorm, r *rand.Rand) {
	size := len(n.Y)
	plain, slope, y := make([]float32, size), make([]float32, size), kernelstest.NewSlice(size, 1)
	n.ReLU, n.Y, n.Value, n.Shift = false, plain, kernelstest.Random(r, n.C, 2).Data, kernelstest.Random(r, n.C, 3).Data
	for i := range plain[:min(size, 8)] { // the ends of the hard swish
		n.Shift[i] = []float32{-3, 3, 0, 5, -5, 2, -2, 1}[i] - float32(n.Value[i]*n.X[i])
	}
	kernels.NormForward(&n)
	for _, n.HardSwish = range []bool{false, true} {
		n.ReLU = !n.HardSwish
		want, g := make([]float32, size), kernelstest.Random(r, size, 3)
		first, sums := make([]float32, size), n
		copy(first, g.Data)
		if n.HardSwish {
			kernels.Curves(kernels.CurveHardSwish, want, slope, plain)
			kernels.Mul(first, first, slope)
		} else {
			copy(want, plain)
			kernels.ReLUBackward(want, plain, plain)
			kernels.ReLUBackward(first, first, plain)
		}
		n.Y = y.Data
		kernels.NormForward(&n)
		y.Check(t, "activation")
		sums.Y, sums.Sum, sums.Inner = first, make([]float64, n.C), make([]float64, n.C)
		kernels.NormSums(&sums)
		n.Y = g.Data
		kernels.NormSlopeSums(&n)
		g.Check(t, "gradient")
		for i := range n.H * n.W * n.C {
			at := i/(n.W*n.C)*n.YRow + i%(n.W*n.C)
			if y.Data[at] != want[at] || g.Data[at] != first[at] {
				t.Fatalf("hard swish %v: value %d is %v with gradient %v, want %v and %v", n.HardSwish, i, y.Data[at], g.Data[at],
					want[at], first[at])
			}
		}
		for c := range n.C {
			if n.Sum[c] != sums.Sum[c] || n.Inner[c] != sums.Inner[c] {
				t.Fatalf("hard swish %v: sums of channel %d are %v and %v, want %v and %v", n.HardSwish, c, n.Sum[c], n.Inner[c],
					sums.Sum[c], sums.Inner[c])
			}
		}
		noAllocation(t, func() {
			kernels.NormForward(&n)
			kernels.NormSlopeSums(&n)
		})
	}
	own := n
	own.Y, own.YRow = n.X, n.XRow
	kernels.NormSums(&own)
	for c := range n.C {
		var sum, inner float64
		for i := c; i < n.H*n.W*n.C; i += n.C {
			v := float64(n.X[i/(n.W*n.C)*n.XRow+i%(n.W*n.C)])
			sum, inner = sum+v, inner+float64(v*v)
		}
		if own.Sum[c] != sum || own.Inner[c] != inner {
			t.Fatalf("channel %d of the image with itself has sums %v and %v, want %v and %v", c, own.Sum[c], own.Inner[c], sum,
				inner)
		}
	}
}

func TestImageNormPassesNaNOn(t *testing.T) {
	nan := float32(math.NaN())
	kernelstest.ForEachLevel(t, func(t *testing.T) {
		one := make([]float32, 16)
		for i := range one {
			one[i] = 1
		}
		x := append([]float32{nan, float32(math.Copysign(0, -1))}, make([]float32, 14)...)
		n := kernels.ImageNorm{H: 1, W: 1, C: 16, X: x, Y: make([]float32, 16), Value: one, Shift: x, ReLU: true}
		if kernels.NormForward(&n); n.Y[0] == n.Y[0] || math.Float32bits(n.Y[1]) != 1<<31 {
			t.Errorf("of NaN and -0 the ReLU makes %v and %v", n.Y[0], n.Y[1])
		}
	})
}

// TestNormGroups compares the factors of groups of channels with those in plain Go, bit for bit.
func TestNormGroups(t *testing.T) {
	for _, groups := range []int{1, 3} {
		run := func(size int) (floats []float32, doubles []float64) {
			r, c := newRand(5), groups*size
			f := func() []float32 {
				x := make([]float32, c+1)
				for i := range x {
					x[i] = r.Float32() - 0.5
				}
				return x
			}
			n := kernels.NormGroups{
				Groups: groups, Size: size, Count: 24, Epsilon: 1e-5, Sum: make([]float64, c+1), Inner: make([]float64, c+1),
				Mean: make([]float64, groups+1), Scale: make([]float64, groups+1),
				Weight: f(), Bias: f(), Value: f(), Shift: f(), Grad: f(), WeightGrad: f(), BiasGrad: f(),
			}
			sums := func() {
				for i := range n.Sum {
					n.Sum[i], n.Inner[i] = r.Float64()-0.5, r.Float64()
				}
			}
			sums()
			noAllocation(t, func() { kernels.NormFactors(&n) })
			floats = append(append(floats, n.Value...), n.Shift...)
			sums()
			kernels.NormGradients(&n)
			for _, x := range [][]float32{n.Value, n.Shift, n.Grad, n.WeightGrad, n.BiasGrad} {
				floats = append(floats, x...)
			}
			return floats, append(n.Mean, n.Scale...)
		}
		for _, size := range []int{8, 5} {
			var floats []float32
			var doubles []float64
			kernelstest.ForEachLevel(t, func(t *testing.T) {
				f, d := run(size)
				if floats == nil {
					floats, doubles = f, d
				}
				if !slices.Equal(f, floats) || !slices.Equal(d, doubles) {
					t.Fatalf("%d groups of %d: the sums are %v, want %v, or their factors differ", groups, size, d, doubles)
				}
			})
		}
	}
}
