package tensor

import (
	"fmt"
	"math"
	"testing"

	"github.com/fedfast/fedfast/internal/test/kernelstest"
	"github.com/fedfast/fedfast/kernels"
)

var winogradCases = []struct {
	convCase
	images int
}{
	{convCase{8, 8, 16, 16, 3, 3, 1, true, 0}, 1},
	{convCase{7, 6, 32, 48, 3, 3, 1, true, 0}, 3},
	{convCase{6, 9, 16, 80, 3, 3, 1, false, 0}, 2},
	{convCase{5, 5, 48, 16, 3, 3, 1, false, 2}, 2},
	{convCase{4, 4, 256, 32, 3, 3, 1, true, 0}, 5},
	{convCase{1, 2, 16, 16, 3, 3, 1, true, 0}, 2},
	{convCase{3, 3, 16, 16, 3, 3, 1, false, 0}, 1},
	{convCase{19, 20, 80, 32, 3, 3, 1, false, 1}, 2},
}

// TestWinograd compares the three passes with plain loops in float64, for several
// images in a call, within the bounds that Winograd's comment states.
func TestWinograd(t *testing.T) {
	for _, c := range winogradCases {
		t.Run(fmt.Sprintf("%d of %v", c.images, c.convCase), func(t *testing.T) {
			v := NewConv(c.h, c.w, c.c, c.n, c.kh, c.kw, c.stride, c.same)
			if c.pad > 0 {
				v = NewPaddedConv(c.h, c.w, c.c, c.n, c.kh, c.kw, c.stride, c.pad, c.pad)
			}
			s := kernels.NewStream(1, 2)
			x, w, bias := draw(s, c.images*c.h*c.w*c.c), draw(s, v.Rows()*c.n), draw(s, c.n)
			dy := draw(s, c.images*v.OH*v.OW*c.n)
			y, dw, dx := make([]float64, len(dy)), make([]float64, len(w)), make([]float64, len(x))
			for i := range y {
				y[i] = float64(bias[i%c.n])
			}
			ySize, xSize := v.OH*v.OW*c.n, c.h*c.w*c.c
			for i := range c.images {
				walk(v, func(out, in, k int) {
					out, in = out+i*ySize, in+i*xSize
					y[out] += float64(x[in]) * float64(w[k])
					dw[k] += float64(dy[out]) * float64(x[in])
					dx[in] += float64(dy[out]) * float64(w[k])
				})
			}
			packed := make([]float32, len(w))
			kernels.Pack(packed, w, v.Rows(), c.n, c.n)
			f, _ := v.Winograd()
			b, _ := v.WinogradInput()
			size, back := winogradSize{f, c.images}, winogradSize{b, c.images}
			yBounds, dxBounds, dwBounds := size.outputs(x, w), back.outputs(dy, turned(w, c.c, c.n)), size.weights(x, dy)
			kernelstest.ForEachLevel(t, func(t *testing.T) {
				check := func(name string, f, b Winograd, rounded, mean float64) {
					within(t, name+"y", winogradForward(f, x, packed, bias, c.images), y, widened(yBounds, rounded/float64(c.c+14)), mean)
					within(t, name+"dx", winogradForward(b, dy, packed, nil, c.images), dx, widened(dxBounds, rounded/float64(c.n+14)), mean)
					for _, calls := range []int{1, c.images} {
						gw := winogradGradient(f, x, dy, c.images, calls)
						plain := make([]float32, len(dw))
						kernels.Unpack(plain, gw, v.Rows(), c.n, c.n)
						within(t, name+"dw", plain, dw, widened(dwBounds, rounded/float64(c.images*f.Tiles()+14)), mean)
					}
				}
				check("", f, b, 0, 0.02)
				if kernels.Current() != kernels.Generic { // which has the same bits: TestWinogradBits
					check("bf16: ", f.BF16(false), b.BF16(false), 1<<16, 0.15) // 2^-8 of every product
				}
			})
		})
	}
}

// widened returns the bounds, each larger by a share of itself.
func widened(bounds []float64, share float64) []float64 {
	wide := make([]float64, len(bounds))
	for i, b := range bounds {
		wide[i] = (1 + share) * b
	}
	return wide
}

// within fails unless every value is as near to the exact one as its bound says,
// and all of them as near as rounding errors come typically: a small part of it.
func within(t *testing.T, what string, got []float32, want, bounds []float64, typical float64) {
	t.Helper()
	var errors, sum float64
	for i, v := range want {
		d := math.Abs(float64(got[i]) - v)
		if !(d <= bounds[i]) {
			t.Fatalf("%s: value %d is %v, want %v within %g", what, i, got[i], v, bounds[i])
		}
		errors += d * d
		sum += bounds[i] * bounds[i]
	}
	if mean := math.Sqrt(errors / sum); mean > typical {
		t.Errorf("%s: the mean error is %.2g of the bound", what, mean)
	}
}

// TestWinogradErrors compares the errors with those of the direct form.
func TestWinogradErrors(t *testing.T) {
	v := NewConv(16, 16, 64, 32, 3, 3, 1, true)
	f, _ := v.Winograd()
	s := kernels.NewStream(5, 6)
	x, w, dy := draw(s, v.H*v.W*v.C), draw(s, v.Rows()*v.N), draw(s, v.OH*v.OW*v.N)
	y, dw := make([]float64, len(dy)), make([]float64, len(w))
	walk(v, func(out, in, k int) {
		y[out] += float64(x[in]) * float64(w[k])
		dw[k] += float64(dy[out]) * float64(x[in])
	})
	packed, in, row := make([]float32, len(w)), []float32(nil), 0
	kernels.Pack(packed, w, v.Rows(), v.N, v.N)
	in, row = bordered(x, v.H, v.W, v.C, v.Left, v.RightBorder)
	kernelstest.ForEachLevel(t, func(t *testing.T) {
		direct, gw, plain := make([]float32, len(dy)), make([]float32, len(w)), make([]float32, len(w))
		v.Forward(direct, v.OW*v.N, in, row, packed, nil, false)
		ratio(t, "y", winogradForward(f, x, packed, nil, 1), direct, y, 1.2)
		v.BackwardWeights(gw, in, row, dy, v.OW*v.N, false)
		kernels.Unpack(plain, gw, v.Rows(), v.N, v.N)
		fast := make([]float32, len(w))
		kernels.Unpack(fast, winogradGradient(f, x, dy, 1, 1), v.Rows(), v.N, v.N)
		ratio(t, "dw", fast, plain, dw, 1.2)
		half := v.BF16(false)
		pairs, scratch := make([]float32, half.WeightSize()), make([]float32, half.Space())
		half.Load(pairs, packed)
		half.Image(in, row, scratch)
		half.ForwardRows(direct, v.OW*v.N, 0, v.OH, pairs, nil, false, scratch)
		ratio(t, "bf16: y", winogradForward(f.BF16(false), x, packed, nil, 1), direct, y, 2)
		half.BackwardWeights(gw, in, row, dy, v.OW*v.N, false, scratch)
		kernels.Unpack(plain, gw, v.Rows(), v.N, v.N)
		kernels.Unpack(fast, winogradGradient(f.BF16(false), x, dy, 1, 1), v.Rows(), v.N, v.N)
		ratio(t, "bf16: dw", fast, plain, dw, 2)
	})
}

// ratio fails unless the root of the mean square of the errors in got is at most that
// many times as large as in direct.
func ratio(t *testing.T, what string, got, direct []float32, want []float64, most float64) {
	t.Helper()
	var a, b float64
	for i, v := range want {
		a += (float64(got[i]) - v) * (float64(got[i]) - v)
		b += (float64(direct[i]) - v) * (float64(direct[i]) - v)
	}
	r := math.Sqrt(a / b)
	t.Logf("%s: %.2f times the error of the direct form", what, r)
	if !(r < most) {
		t.Errorf("%s: the error is %.2f times that of the direct form", what, r)
	}
}

// load transforms image after image of x.
func (w Winograd) load(x []float32, n int) []float32 { return w.loadBy(x, n, false) }

func (w Winograd) loadBy(x []float32, n int, byTiles bool) []float32 {
	scratch := make([]float32, w.Space(n))
	for i := range scratch {
		scratch[i] = float32(math.NaN()) // nothing may be expected of it
	}
	size := w.H * w.W * w.C
	for i := range n {
		in, row := bordered(x[i*size:][:size], w.H, w.W, w.C, w.Left, w.RightBorder)
		w.Input(scratch, n, i, in, row, byTiles)
	}
	return scratch
}

func winogradForward(w Winograd, x, weights, bias []float32, n int) []float32 {
	size := w.OH * w.OW * w.N
	y := make([]float32, n*size)
	w.Forward(Images{Data: y, Sample: size, Row: w.OW * w.N}, n, w.load(x, n), weights, bias, false)
	return y
}

// winogradGradient computes the gradient of the weights in some calls.
func winogradGradient(w Winograd, x, dy []float32, n, calls int) []float32 {
	gw, sums := make([]float32, 9*w.C*w.N), []float32(nil)
	if calls > 1 {
		sums = make([]float32, w.Sums())
	}
	size := w.OH * w.OW * w.N
	for at := 0; at < n; at += n / calls {
		m := min(n/calls, n-at)
		w.BackwardWeights(gw, sums, Images{Data: dy[at*size:], Sample: size, Row: w.OW * w.N}, m, w.loadBy(x[at*w.H*w.W*w.C:], m, true), at == 0, at+m == n)
	}
	return gw
}

// TestWinogradBits holds that neither the level nor the number of images in a call
// shows in the bits, and that a ReLU changes nothing else.
func TestWinogradBits(t *testing.T) {
	v := NewConv(9, 11, 32, 48, 3, 3, 1, true)
	f, _ := v.Winograd()
	const n = 4
	s := kernels.NewStream(3, 4)
	x, w, dy := draw(s, n*v.H*v.W*v.C), draw(s, v.Rows()*v.N), draw(s, n*v.OH*v.OW*v.N)
	var want, wantRounded []float32
	both := func(t *testing.T, f Winograd) []float32 {
		got := append(winogradForward(f, x, w, dy[:v.N], n), winogradGradient(f, x, dy, n, 1)...)
		var single []float32
		for i := range n {
			single = append(single, winogradForward(f, x[i*v.H*v.W*v.C:], w, dy[:v.N], 1)...)
		}
		single = append(single, winogradGradient(f, x, dy, n, n)...)
		sameFloats(t, "image by image", single, got)
		return got
	}
	kernelstest.ForEachLevel(t, func(t *testing.T) {
		got := both(t, f)
		rounded := both(t, f.BF16(false))
		if wantRounded == nil {
			wantRounded = rounded
		}
		sameFloats(t, "bf16 on another level", rounded, wantRounded)
		if want == nil {
			want = got
		}
		sameFloats(t, "on another level", got, want)
		y := make([]float32, n*v.OH*v.OW*v.N)
		f.Forward(Images{Data: y, Sample: len(y) / n, Row: v.OW * v.N}, n, f.load(x, n), w, dy[:v.N], true)
		for i := range y {
			if y[i] != max(want[i], 0) {
				t.Fatalf("with ReLU: value %d is %v from %v", i, y[i], want[i])
			}
		}
	})
}

func sameFloats(t *testing.T, what string, got, want []float32) {
	t.Helper()
	for i, v := range want {
		if math.Float32bits(got[i]) != math.Float32bits(v) {
			t.Fatalf("%s: value %d is %v, want %v", what, i, got[i], v)
		}
	}
}

// TestWinogradKept compares products with weights that are kept, of several blocks of panels,
// with those of Forward.
func TestWinogradKept(t *testing.T) {
	v := NewConv(5, 6, 32, 80, 3, 3, 1, true)
	f, _ := v.Winograd()
	f = f.BF16(false)
	s := kernels.NewStream(3, 5)
	x, w, kept := draw(s, v.H*v.W*v.C), draw(s, v.Rows()*v.N), make([]float32, v.Rows()*v.N)
	want := winogradForward(f, x, w, nil, 1)
	for _, weights := range [][]float32{w, nil} {
		y := make([]float32, len(want))
		f.ForwardKept(Images{Data: y, Sample: len(y), Row: v.OW * v.N}, 1, f.load(x, 1), kept, weights, nil, false)
		sameFloats(t, "kept", y, want)
	}
}
