package kernels_test

import (
	"math"
	"slices"
	"testing"

	"github.com/fedfast/fedfast/internal/test/kernelstest"
	"github.com/fedfast/fedfast/kernels"
)

var activations = []struct {
	name   string
	f      func(dst, src []float32)
	oracle func(x float32) float32
	exact  func(x float64) float64
	lo, hi float64 // where the budget holds
	budget float64 // in ulp
}{
	{"Exp", kernels.Exp, expOracle, math.Exp, -87.3, 88.72, 1.5},
	{"Exp/subnormal", kernels.Exp, expOracle, math.Exp, -110, -87.3, 2},
	{"Sigmoid", kernels.Sigmoid, sigmoidOracle, func(x float64) float64 { return 1 / (1 + math.Exp(-x)) }, -87, 1e30, 2.5},
	{"Tanh", kernels.Tanh, tanhOracle, math.Tanh, -1e30, 1e30, 2.6},
}

func TestActivationsEqualOracle(t *testing.T) {
	for _, a := range activations {
		t.Run(a.name, func(t *testing.T) {
			kernelstest.ForEachLevel(t, func(t *testing.T) {
				r := newRand(1)
				eachLength(func(n, offset int) {
					src, dst := spread(r, n, offset), kernelstest.NewSlice(n, 15-offset)
					a.f(dst.Data, src.Data)
					src.Check(t, "src")
					dst.Check(t, "dst")
					for i, x := range src.Data {
						expect(t, a.name, i, dst.Data[i], a.oracle(x))
					}
					a.f(src.Data, src.Data)
					for i, x := range src.Data {
						if !equal(x, dst.Data[i]) {
							t.Fatalf("n=%d: in place element %d is %v, else %v", n, i, x, dst.Data[i])
						}
					}
				})
			})
		})
	}
}

// TestActivationsWithinBudget goes through all float32 values in steps.
func TestActivationsWithinBudget(t *testing.T) {
	step := uint64(2039)
	if kernelstest.Small() {
		step = 1000003
	}
	kernelstest.ForEachLevel(t, func(t *testing.T) {
		src, dst := make([]float32, 4096), make([]float32, 4096)
		for _, a := range activations {
			worst, at := 0.0, float32(0)
			for b := uint64(0); b < 1<<32; b += step * uint64(len(src)) {
				for i := range src {
					src[i] = math.Float32frombits(uint32(min(b+uint64(i)*step, 1<<32-1)))
				}
				a.f(dst, src)
				for i, x := range src {
					if float64(x) >= a.lo && float64(x) <= a.hi {
						if e := ulps(dst[i], a.exact(float64(x))); e > worst {
							worst, at = e, x
						}
					}
				}
			}
			t.Logf("%s: at most %.3f ulp, at %v", a.name, worst, at)
			if worst > a.budget {
				t.Errorf("%s is wrong by %.3f ulp at %v (%#08x), budget %v", a.name, worst, at, math.Float32bits(at), a.budget)
			}
		}
	})
}

func TestActivationsAtLimits(t *testing.T) {
	inf, nan := float32(math.Inf(1)), float32(math.NaN())
	kernelstest.ForEachLevel(t, func(t *testing.T) {
		for _, c := range []struct {
			name    string
			f       func(dst, src []float32)
			x, want float32
		}{
			{"Exp", kernels.Exp, 0, 1},
			{"Exp", kernels.Exp, inf, inf},
			{"Exp", kernels.Exp, -inf, 0},
			{"Exp", kernels.Exp, 88.73, inf},
			{"Exp", kernels.Exp, -104, 0},
			{"Exp", kernels.Exp, nan, nan},
			{"Sigmoid", kernels.Sigmoid, 0, 0.5},
			{"Sigmoid", kernels.Sigmoid, inf, 1},
			{"Sigmoid", kernels.Sigmoid, nan, nan},
			{"Tanh", kernels.Tanh, 0, 0},
			{"Tanh", kernels.Tanh, inf, 1},
			{"Tanh", kernels.Tanh, -inf, -1},
			{"Tanh", kernels.Tanh, 1e-30, 1e-30},
			{"Tanh", kernels.Tanh, nan, nan},
		} {
			x := []float32{c.x}
			c.f(x, x)
			if !equal(x[0], c.want) {
				t.Errorf("%s(%v) = %v, want %v", c.name, c.x, x[0], c.want)
			}
		}
		x := []float32{-inf}
		kernels.Sigmoid(x, x)
		if !(x[0] > 0 && x[0] < 5e-39) {
			t.Errorf("Sigmoid(-Inf) = %v, want a number between 0 and 5e-39", x[0])
		}
	})
}

func TestReLUBackward(t *testing.T) {
	kernelstest.ForEachLevel(t, func(t *testing.T) {
		r := newRand(2)
		eachLength(func(n, offset int) {
			dy, y, dx := spread(r, n, offset), spread(r, n, offset/2), kernelstest.NewSlice(n, 15-offset)
			kernels.ReLUBackward(dx.Data, dy.Data, y.Data)
			dx.Check(t, "dx")
			for i, v := range y.Data {
				want := float32(0)
				if v > 0 {
					want = dy.Data[i]
				}
				if !equal(dx.Data[i], want) {
					t.Fatalf("n=%d: dx[%d] = %v for y = %v, dy = %v", n, i, dx.Data[i], v, dy.Data[i])
				}
			}
			kernels.ReLUBackward(dy.Data, dy.Data, y.Data)
			for i, v := range dy.Data {
				if !equal(v, dx.Data[i]) {
					t.Fatalf("n=%d: in place dx[%d] = %v, else %v", n, i, v, dx.Data[i])
				}
			}
		})
	})
}

// TestReLUBackwardAdd compares with ReLUBackward and then Add.
func TestReLUBackwardAdd(t *testing.T) {
	const n, rows, apart = 2 * kernels.Width, 5, 3 * kernels.Width
	kernelstest.ForEachLevel(t, func(t *testing.T) {
		r := newRand(5)
		for k := 1; k <= rows; k++ {
			size := (k-1)*apart + n
			dx, dy, y := spread(r, size, 3), spread(r, size, 0), spread(r, size, 7)
			want := slices.Clone(dx.Data)
			masked := make([]float32, n)
			for at := 0; at < size; at += apart {
				kernels.ReLUBackward(masked, dy.Data[at:][:n], y.Data[at:][:n])
				kernels.Add(want[at:][:n], want[at:][:n], masked)
			}
			kernels.ReLUBackwardAdd(dx.Data, dy.Data, y.Data, n, k, apart, apart, apart)
			dx.Check(t, "dx")
			for i, x := range dx.Data {
				if !equal(x, want[i]) {
					t.Fatalf("%d rows: dx[%d] = %v, want %v", k, i, x, want[i])
				}
			}
		}
		x := make([]float32, 2*n)
		noAllocation(t, func() { kernels.ReLUBackwardAdd(x, x, x, n, 2, n, n, n) })
	})
}

func TestActivationsDoNotAllocate(t *testing.T) {
	x, y := make([]float32, 100), make([]float32, 100)
	kernelstest.ForEachLevel(t, func(t *testing.T) {
		noAllocation(t, func() {
			kernels.Exp(y, x)
			kernels.Sigmoid(y, x)
			kernels.Tanh(y, x)
			kernels.ReLUBackward(y, y, x)
		})
	})
}

func TestMismatchedLengthsPanic(t *testing.T) {
	x, y := make([]float32, 3), make([]float32, 4)
	for name, f := range map[string]func(){
		"Exp":             func() { kernels.Exp(x, y) },
		"ReLUBackwardAdd": func() { kernels.ReLUBackwardAdd(x, x, x, 16, 1, 16, 16, 16) },
		"ReLUBackward":    func() { kernels.ReLUBackward(x, x, y) },
		"Axpy":            func() { kernels.Axpy(x, 1, y) },
		"Add":             func() { kernels.Add(x, y, x) },
		"Dot":             func() { kernels.Dot(x, y) },
		"SGDStep":         func() { kernels.SGDStep(&kernels.SGD{W: x, G: x, V: y}) },
		"Dropout":         func() { kernels.Dropout(x, y, 0.5, 1, 2) },
		"Dropout p":       func() { kernels.Dropout(x, x, 1, 1, 2) },
		"ColSum":          func() { kernels.ColSum(x, y, 2, 3, 3) },
		"SoftmaxXent":     func() { kernels.SoftmaxXent(nil, y, 16, 1, 4, []int32{4}, 1) },
		"LSTMForward": func() {
			kernels.LSTMForward(&kernels.LSTM{
				M: 1, H: 16, Ldh: 16, Gates: x, C: x, TanhC: x,
				HOut: x,
			})
		},
		"MaxPool": func() {
			kernels.MaxPool(&kernels.Pool{OH: 1, OW: 1, C: 16, KH: 2, KW: 2, Stride: 2, Src: x, SrcW: 2, Dst: x})
		},
		"IntN": func() { kernels.NewStream(1, 1).IntN(0) },
	} {
		t.Run(name, func(t *testing.T) {
			defer func() {
				if recover() == nil {
					t.Error("no panic")
				}
			}()
			f()
		})
	}
}
