package kernels_test

import (
	"fmt"
	"math"
	"testing"

	"github.com/fedfast/fedfast/internal/test/kernelstest"
	"github.com/fedfast/fedfast/kernels"
)

// curveReferences are the activations and their derivatives in float64.
var curveReferences = map[kernels.Curve]func(x float64) (y, slope float64){
	kernels.CurveSigmoid: func(x float64) (y, slope float64) { s := 1 / (1 + math.Exp(-x)); return s, s * (1 - s) },
	kernels.CurveTanh:    func(x float64) (y, slope float64) { t := math.Tanh(x); return t, 1 - t*t },
	kernels.CurveSiLU: func(x float64) (y, slope float64) {
		s := 1 / (1 + math.Exp(-x))
		return x * s, s + x*s*(1-s)
	},
	kernels.CurveGELU: func(x float64) (y, slope float64) {
		p := math.Erfc(-x/math.Sqrt2) / 2
		return x * p, p + x*math.Exp(-x*x/2)/math.Sqrt(2*math.Pi)
	},
	kernels.CurveGELUTanh: func(x float64) (y, slope float64) {
		a := math.Sqrt(2 / math.Pi)
		t := math.Tanh(a * (x + 0.044715*x*x*x))
		return x * (1 + t) / 2, (1+t)/2 + x*(1-t*t)*a*(1+3*0.044715*x*x)/2
	},
	kernels.CurveHardSwish: func(x float64) (y, slope float64) {
		switch {
		case x >= 3:
			slope = 1
		case x > -3:
			slope = x/3 + 0.5
		}
		return x * min(max(x+3, 0), 6) / 6, slope
	},
	kernels.CurveHardSigmoid: func(x float64) (y, slope float64) {
		if x > -3 && x < 3 {
			slope = 1. / 6
		}
		return min(max(x+3, 0), 6) / 6, slope
	},
}

// TestCurves compares the activations with float64, all lengths of a tail among
// them.
func TestCurves(t *testing.T) {
	r := newRand(3)
	x := kernelstest.Random(r, 3000, 5)
	for i := range x.Data {
		x.Data[i] *= 4
	}
	copy(x.Data, []float32{0, -3, 3, 40, -40, 1e-20, 100, -100})
	for c := range kernels.Curve(kernels.NumCurves) {
		f := curveReferences[c]
		t.Run(fmt.Sprint(c), func(t *testing.T) {
			kernelstest.ForEachLevel(t, func(t *testing.T) {
				for _, n := range []int{0, 1, 15, 16, 17, 40, 1024, 3000} {
					y, slope := kernelstest.NewSlice(n, 1), kernelstest.NewSlice(n, 7)
					kernels.Curves(c, y.Data, slope.Data, x.Data[:n])
					y.Check(t, "y")
					slope.Check(t, "slope")
					for i := range n {
						v := float64(x.Data[i])
						wantY, wantSlope := f(v)
						bound := 4e-7 * max(1, math.Abs(v))
						if d := math.Abs(float64(y.Data[i]) - wantY); !(d <= bound) {
							t.Fatalf("of %v it makes %v, want %v", v, y.Data[i], wantY)
						}
						if d := math.Abs(float64(slope.Data[i]) - wantSlope); !(d <= bound) {
							t.Fatalf("the slope at %v is %v, want %v", v, slope.Data[i], wantSlope)
						}
					}
				}
				y, slope := make([]float32, 100), make([]float32, 100)
				noAllocation(t, func() { kernels.Curves(c, y, slope, x.Data[:100]) })
			})
		})
	}
}

// TestCurvesPassNaNOn holds that no activation makes a number of a NaN.
func TestCurvesPassNaNOn(t *testing.T) {
	kernelstest.ForEachLevel(t, func(t *testing.T) {
		for c := range curveReferences {
			x := make([]float32, 20)
			x[3], x[18] = float32(math.NaN()), float32(math.NaN())
			kernels.Curves(c, x, make([]float32, 20), x)
			if x[3] == x[3] || x[18] == x[18] || x[4] != x[4] {
				t.Errorf("activation %d makes %v, %v and %v of NaN, NaN and 0", c, x[3], x[18], x[4])
			}
		}
	})
}

// TestRowNorm compares the normalisation of a row and its gradients with float64.
func TestRowNorm(t *testing.T) {
	for _, n := range []int{1, 5, 16, 23, 64, 100, 768} {
		for _, center := range []bool{true, false} {
			t.Run(fmt.Sprintf("%d center=%v", n, center), func(t *testing.T) {
				kernelstest.ForEachLevel(t, func(t *testing.T) { testRowNorm(t, n, center) })
			})
		}
	}
}

func testRowNorm(t *testing.T, n int, center bool) {
	const rows = 3
	ldx, ldy, lddx, lddy := n+5, n+1, n, n+16
	r := newRand(4)
	x, dy, w := kernelstest.Random(r, rows*ldx, 1), kernelstest.Random(r, rows*lddy, 2), kernelstest.Random(r, n, 3)
	bias, y, dx := kernelstest.Random(r, n, 4), kernelstest.NewSlice((rows-1)*ldy+n, 5), kernelstest.NewSlice(rows*lddx, 6)
	gw, gb := kernelstest.NewSlice(n, 7), kernelstest.NewSlice(n, 8)
	mean, scale := kernelstest.NewSlice(rows, 9), kernelstest.NewSlice(rows, 10)
	for i := range x.Data {
		x.Data[i] += 10
	}
	norm := kernels.RowNorm{
		Rows: rows, N: n, X: x.Data, LdX: ldx, Y: y.Data, LdY: ldy, Weight: w.Data, Bias: bias.Data, Mean: mean.Data,
		Scale:  scale.Data,
		Center: center, Epsilon: 1e-5,
	}
	kernels.RowNormForward(&norm)
	grad := kernels.RowNormGrad{
		Rows: rows, N: n, X: x.Data, LdX: ldx, DY: dy.Data, LdDY: lddy, DX: dx.Data, LdDX: lddx, Weight: w.Data,
		WeightGrad: gw.Data, BiasGrad: gb.Data, Mean: mean.Data, Scale: scale.Data, Center: center,
	}
	kernels.RowNormBackward(&grad)
	for name, s := range map[string]*kernelstest.Slice{
		"y": y, "dx": dx, "gw": gw, "gb": gb, "mean": mean,
		"scale": scale,
	} {
		s.Check(t, name)
	}
	near := func(name string, got float32, want float64) {
		if math.Abs(float64(got)-want) > 2e-5*(1+math.Abs(want)) {
			t.Fatalf("%s is %v, want %v", name, got, want)
		}
	}
	weightGrad, biasGrad := make([]float64, n), make([]float64, n)
	for row := range rows {
		x, dy, y, dx := x.Data[row*ldx:], dy.Data[row*lddy:], y.Data[row*ldy:], dx.Data[row*lddx:]
		var mu, variance, u, uz float64
		for _, v := range x[:n] {
			if center {
				mu += float64(v) / float64(n)
			}
		}
		for _, v := range x[:n] {
			variance += (float64(v) - mu) * (float64(v) - mu) / float64(n)
		}
		s := 1 / math.Sqrt(variance+1e-5)
		if n == 1 && center {
			return // the variance is zero but for rounding
		}
		near("mean", mean.Data[row], mu)
		near("scale", scale.Data[row], s)
		z := func(i int) float64 { return (float64(x[i]) - mu) * s }
		for i := range n {
			g := float64(dy[i]) * float64(w.Data[i]) / float64(n)
			if center {
				u += g
			}
			uz += g * z(i)
			weightGrad[i] += float64(dy[i]) * z(i)
			biasGrad[i] += float64(dy[i])
		}
		for i := range n {
			near("y", y[i], z(i)*float64(w.Data[i])+float64(bias.Data[i]))
			near("dx", dx[i], s*(float64(dy[i])*float64(w.Data[i])-u-z(i)*uz))
		}
	}
	for i := range n {
		near("weight's gradient", gw.Data[i], weightGrad[i])
		near("bias' gradient", gb.Data[i], biasGrad[i])
	}
	grad.DX = nil
	noAllocation(t, func() {
		kernels.RowNormForward(&norm)
		kernels.RowNormBackward(&grad)
	})
}

// channelCase returns a convolution by channel of one of several sizes and the
// gradient of its weights.
func channelCase(i int, floats func(n int) []float32) (kernels.Channels, kernels.ChannelsGrad) {
	f := kernels.Channels{Rows: 1 + i%3, Pixels: 1 + 2*i%7 + i/3, C: 16 * (1 + i%4), XStep: 16*(1+i%4)*(1+i%2) + i%2}
	f.XRow, f.YStep = (f.Pixels+4)*f.XStep+3, f.C+i%3
	f.YRow = f.Pixels*f.YStep + 5
	taps, run := 1+i%6, 1
	if i >= 6 {
		run = 1 + i%3*2 // 1, 3 or 5
		f.Run, taps = run, 2*run
	}
	for t := range taps {
		f.Taps = append(f.Taps, kernels.ChannelTap{X: t/run*(f.C+1) + t%run*f.XStep, W: (taps - 1 - t) * f.C})
	}
	f.X = floats((f.Rows-1)*f.XRow + (f.Pixels+run-2)*f.XStep + taps*(f.C+1))
	f.W, f.Bias = floats(taps*f.C), floats(f.C)
	f.Y = make([]float32, (f.Rows-1)*f.YRow+(f.Pixels-1)*f.YStep+f.C)
	return f, kernels.ChannelsGrad{
		Rows: f.Rows, Pixels: f.Pixels, C: f.C, Taps: taps, X: f.X, XRow: f.XRow, XStep: f.XStep, XTap: f.C + 1,
		DY: floats(len(f.Y)), YRow: f.YRow, YStep: f.YStep, G: floats(taps * f.C), WTap: f.C,
	}
}

// halve makes the last channels zero, about half a block, and says so.
func halve(f *kernels.Channels, g *kernels.ChannelsGrad, i int) {
	f.Used = f.C - 7 - i%5*2
	g.Used = f.Used
	for t := range f.Taps {
		clear(f.W[t*f.C:][f.Used:f.C])
		clear(g.G[t*f.C:][f.Used:f.C])
	}
	clear(f.Bias[f.Used:f.C])
	for row := range f.Rows {
		for p := range f.Pixels {
			clear(g.DY[row*f.YRow+p*f.YStep:][f.Used:f.C])
		}
	}
}

// TestChannels compares convolutions by channel and their gradients with plain
// loops, to the bit: nothing in them may be fused.
func TestChannels(t *testing.T) {
	for i := range 24 {
		kernelstest.ForEachLevel(t, func(t *testing.T) {
			r := newRand(uint64(i))
			var all []*kernelstest.Slice
			f, b := channelCase(i, func(n int) []float32 {
				all = append(all, kernelstest.Random(r, n, n%16))
				return all[len(all)-1].Data
			})
			if i%5 < 2 {
				halve(&f, &b, i)
			}
			y := kernelstest.NewSlice(len(f.Y), 3)
			f.Y = y.Data
			want := append([]float32(nil), b.G...)
			kernels.ForwardChannels(&f)
			if grad := b; i%2 > 0 { // its rows as images
				grad.Images, grad.XImage, grad.YImage, grad.Rows = b.Rows, b.XRow, b.YRow, 1
				kernels.BackwardChannels(&grad)
			} else {
				kernels.BackwardChannels(&b)
			}
			y.Check(t, "y")
			for _, s := range all {
				s.Check(t, "operand")
			}
			for row := range f.Rows {
				for p := range f.Pixels {
					for c := range f.C {
						sum := f.Bias[c]
						x := f.X[row*f.XRow+p*f.XStep+c:]
						for at, tap := range f.Taps {
							sum += float32(f.W[tap.W+c] * x[tap.X])
							want[at*b.WTap+c] += float32(b.DY[row*b.YRow+p*b.YStep+c] * x[at*b.XTap])
						}
						if got := f.Y[row*f.YRow+p*f.YStep+c]; got != sum {
							t.Fatalf("case %d: output %d, %d of channel %d is %v, want %v", i, row, p, c, got, sum)
						}
					}
				}
			}
			for at, g := range b.G {
				if g != want[at] {
					t.Fatalf("case %d: gradient %d is %v, want %v", i, at, g, want[at])
				}
			}
			noAllocation(t, func() {
				kernels.ForwardChannels(&f)
				kernels.BackwardChannels(&b)
			})
		})
	}
}

// TestGELUBits compares GELU on all levels, with its slope and without, with plain Go,
// bit for bit.
func TestGELUBits(t *testing.T) {
	r := newRand(4)
	x := kernelstest.Random(r, 3000, 5)
	for i := range x.Data {
		x.Data[i] *= float32(i%40) / 4
	}
	copy(x.Data, []float32{
		0, float32(math.Copysign(0, -1)), float32(math.NaN()), float32(math.Inf(1)),
		float32(math.Inf(-1)), 13, -13.2, 14.3, -14.4, 14.5, 1e-30, 1e30,
	})
	defer kernels.SetLevel(kernels.Current()) //nolint:errcheck // it was in use
	if err := kernels.SetLevel(kernels.Generic); err != nil {
		t.Fatal(err)
	}
	want, wantSlope := make([]float32, len(x.Data)), make([]float32, len(x.Data))
	kernels.Curves(kernels.CurveGELU, want, wantSlope, x.Data)
	kernelstest.ForEachLevel(t, func(t *testing.T) {
		sweep(func(n int) {
			n += n / 100 * 1000
			at := len(x.Data) - n
			y, slope, value := kernelstest.NewSlice(n, 1), kernelstest.NewSlice(n, 7), kernelstest.NewSlice(n, 3)
			for _, from := range []int{0, at} {
				kernels.Curves(kernels.CurveGELU, y.Data, slope.Data, x.Data[from:][:n])
				kernels.GELU(value.Data, x.Data[from:][:n])
				y.Check(t, "y")
				slope.Check(t, "slope")
				value.Check(t, "value")
				for i := range n {
					if w, s := want[from+i], wantSlope[from+i]; !equal(y.Data[i], w) || !equal(slope.Data[i], s) ||
						!equal(value.Data[i], w) {
						t.Fatalf("of %v it makes %v, slope %v, alone %v, want %v and %v", x.Data[from+i], y.Data[i], slope.Data[i],
							value.Data[i], w, s)
					}
				}
			}
		})
		y := make([]float32, 100)
		noAllocation(t, func() { kernels.GELU(y, x.Data[:100]) })
	})
}

func BenchmarkGELU(b *testing.B) { benchUnary(b, kernels.GELU) }

func BenchmarkGELUWithSlope(b *testing.B) {
	benchMap(b, 12, func(n int) func() {
		y, slope, x := ones(n), ones(n), ramp(n)
		return func() { kernels.Curves(kernels.CurveGELU, y, slope, x) }
	})
}
