package codec

import (
	"cmp"
	"math"
	"slices"
	"testing"

	"github.com/fedfast/fedfast/kernels"
)

// drawn returns n values, some of them 0, equal or large.
func drawn(n int, key uint64) []float32 {
	s := kernels.NewStream(key, 1)
	x := make([]float32, n)
	for i := range x {
		switch s.IntN(8) {
		case 0:
		case 1:
			x[i] = float32(s.IntN(5)-2) / 2
		case 2:
			x[i] = float32(10 * s.NormFloat64())
		default:
			x[i] = float32(s.NormFloat64())
		}
	}
	return x
}

func squares(x []float32) (sum float64) {
	for _, v := range x {
		sum += float64(v) * float64(v)
	}
	return sum
}

func distance(a, b []float32) (sum float64) {
	for i := range a {
		sum += (float64(a[i]) - float64(b[i])) * (float64(a[i]) - float64(b[i]))
	}
	return sum
}

// TestUnbiased averages many draws of the quantizers that promise it, and compares the mean
// squared error of QSGD with the bound of its paper, min(n/s^2, sqrt(n)/s) |x|^2.
func TestUnbiased(t *testing.T) {
	const draws = 3000
	for name, tt := range map[string]struct {
		quantize func(x []float32, s *kernels.Stream)
		bound    func(n float64) float64
	}{
		"qsgd, 2 bits": {func(x []float32, s *kernels.Stream) { QSGD(x, 2, s) }, qsgdBound(2)},
		"qsgd, 4 bits": {func(x []float32, s *kernels.Stream) { QSGD(x, 4, s) }, qsgdBound(4)},
		"qsgd, 8 bits": {func(x []float32, s *kernels.Stream) { QSGD(x, 8, s) }, qsgdBound(8)},
	} {
		for _, n := range []int{1, 37, 256} {
			x := drawn(n, uint64(n))
			x[0] = 1.5
			mean, worst, y := make([]float64, n), 0.0, make([]float32, n)
			for i := range draws {
				copy(y, x)
				tt.quantize(y, kernels.NewStream(uint64(i), 7))
				for j, v := range y {
					mean[j] += float64(v) / draws
				}
				worst += distance(x, y) / draws
			}
			if bound := tt.bound(float64(n)) * squares(x); worst > bound*1.05+1e-9 {
				t.Errorf("%s of %d values: the mean squared error is %v, more than %v", name, n, worst, bound)
			}
			// Each coordinate's mean is within 5 deviations of it.
			for j, m := range mean {
				if off := math.Abs(m - float64(x[j])); off > 5*math.Sqrt(worst/draws)+1e-6 {
					t.Errorf("%s of %d values: the mean of value %d is %v, not %v", name, n, j, m, x[j])
					break
				}
			}
		}
	}
}

func qsgdBound(bits int) func(n float64) float64 {
	s := float64(Levels(bits))
	return func(n float64) float64 { return min(n/(s*s), math.Sqrt(n)/s) }
}

// TestGrids wants values of QSGD and Uniform on their grids, no error of Uniform above half a
// step, and of Sign one magnitude a block.
func TestGrids(t *testing.T) {
	for _, bits := range []int{2, 3, 8} {
		x := drawn(2*Block+100, 3)
		clear(x[Block : 2*Block])
		q, u, g := slices.Clone(x), slices.Clone(x), slices.Clone(x)
		QSGD(q, bits, kernels.NewStream(1, 1))
		Uniform(u, bits)
		Sign(g)
		s := float64(Levels(bits))
		for lo := 0; lo < len(x); lo += Block {
			hi := min(lo+Block, len(x))
			norm, most, mean := float64(float32(kernels.Norm(x[lo:hi]))), 0.0, 0.0
			for _, v := range x[lo:hi] {
				most = max(most, math.Abs(float64(v)))
				mean += math.Abs(float64(v)) / float64(hi-lo)
			}
			for i := lo; i < hi; i++ {
				for step, got := range map[float64]float64{norm / s: float64(q[i]), most / s: float64(u[i])} {
					if level := got / max(step, 1e-30); math.Abs(level-math.Round(level)) > 1e-4 || math.Abs(level) > s+1e-4 {
						t.Fatalf("%d bits: value %d is %v, %v steps", bits, i, got, level)
					}
				}
				if math.Abs(float64(u[i])-float64(x[i])) > most/s/2*1.0001 {
					t.Fatalf("%d bits: %v is rounded to %v by steps of %v", bits, x[i], u[i], most/s)
				}
				if want := math.Copysign(mean, float64(x[i])); math.Abs(float64(g[i])-want) > 1e-6*mean {
					t.Fatalf("the sign of %v is sent as %v, not %v", x[i], g[i], want)
				}
			}
		}
	}
}

// TestTopK compares with a sort, on values with many ties.
func TestTopK(t *testing.T) {
	var counts Counts
	for seed := range uint64(300) {
		s := kernels.NewStream(seed, 0)
		n := 1 + s.IntN(200)
		x := drawn(n, seed)
		if seed%3 == 0 {
			for i := range x {
				x[i] = float32(s.IntN(3) - 1)
			}
		}
		k := 1 + s.IntN(n)
		order := make([]int32, n)
		for i := range order {
			order[i] = int32(i)
		}
		slices.SortStableFunc(order, func(a, b int32) int {
			return cmp.Compare(math.Abs(float64(x[b])), math.Abs(float64(x[a])))
		})
		want := order[:k]
		slices.Sort(want)
		if got := TopK(nil, x, k, &counts); !slices.Equal(got, want) {
			t.Fatalf("seed %d: top %d of %v are %v, not %v", seed, k, x, got, want)
		}
	}
}

// TestRandomK wants k places, ascending, and each equally often.
func TestRandomK(t *testing.T) {
	const n, k, draws = 11, 4, 20000
	var often [n]float64
	for i := range draws {
		index := RandomK(nil, n, k, kernels.NewStream(uint64(i), 0))
		if len(index) != k || !slices.IsSorted(index) || len(slices.Compact(slices.Clone(index))) != k {
			t.Fatalf("draw %d: %v", i, index)
		}
		for _, at := range index {
			often[at]++
		}
	}
	for at, times := range often {
		if want := float64(draws) * k / n; math.Abs(times-want) > 5*math.Sqrt(want*(1-float64(k)/n)) {
			t.Errorf("place %d is drawn %v times, not about %v", at, times, want)
		}
	}
	if got := RandomK(nil, 3, 3, kernels.NewStream(1, 1)); !slices.Equal(got, []int32{0, 1, 2}) {
		t.Errorf("all of 3: %v", got)
	}
}

// TestDrive wants the product of a vector and what is sent of it to be its square, and with
// the nearest scale an error below the vector: that is what error feedback needs.
func TestDrive(t *testing.T) {
	for _, n := range []int{1, 2, 37, 1000, Block, Block + 3} {
		for key := range uint64(20) {
			x := drawn(n, key)
			x[0] = 2
			y, z := slices.Clone(x), slices.Clone(x)
			Drive(y, false, kernels.NewStream(key, 9))
			Drive(z, true, kernels.NewStream(key, 9))
			if got, want := kernels.Dot(x, y), squares(x); math.Abs(got-want) > 1e-4*want {
				t.Errorf("%d values, key %d: the product is %v, not %v", n, key, got, want)
			}
			if off := distance(x, z) / squares(x); off > 0.9 {
				t.Errorf("%d values, key %d: the error is %v of the vector", n, key, off)
			}
		}
	}
}
