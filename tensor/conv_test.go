package tensor

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/fedfast/fedfast/internal/test/kernelstest"
	"github.com/fedfast/fedfast/kernels"
)

// draw returns n numbers in [-1, 1).
func draw(s *kernels.Stream, n int) []float32 {
	v := make([]float32, n)
	for i := range v {
		v[i] = 2*s.Float32() - 1
	}
	return v
}

// convCase is a convolution on a random image, all in plain layouts.
type convCase struct {
	h, w, c, n, kh, kw, stride int
	same                       bool
	pad                        int
}

var convCases = []convCase{
	{6, 7, 16, 16, 3, 3, 1, false, 0},
	{6, 7, 16, 16, 3, 3, 1, true, 0},
	{14, 14, 32, 64, 5, 5, 1, true, 0},
	{12, 9, 1, 32, 5, 5, 1, true, 0},
	{9, 9, 3, 16, 3, 3, 1, false, 0},
	{8, 8, 16, 32, 3, 3, 2, true, 0},
	{9, 8, 32, 16, 3, 3, 2, true, 0},
	{9, 8, 16, 16, 3, 2, 2, false, 0},
	{7, 7, 16, 16, 1, 1, 2, false, 0},
	{5, 6, 16, 16, 4, 2, 1, true, 0},
	{3, 2, 16, 16, 7, 5, 1, true, 0},
	{8, 8, 16, 16, 2, 2, 3, false, 0},
	{1, 1, 16, 16, 1, 1, 1, true, 0},
	{8, 8, 16, 32, 3, 3, 2, false, 1},
	{7, 9, 32, 16, 4, 3, 2, false, 2},
	{3, 2, 16, 16, 5, 5, 3, false, 4},
}

func (c convCase) String() string {
	return fmt.Sprintf("%dx%dx%d to %d, %dx%d stride %d same %v pad %d", c.h, c.w, c.c, c.n, c.kh, c.kw, c.stride, c.same,
		c.pad)
}

// walk calls f with every product of the convolution: output, input and weight
// index, all dense (row, column, channel; kernel row, column, input, output).
func walk(v Conv, f func(out, in, w int)) {
	for oy := range v.OH {
		for ox := range v.OW {
			for o := range v.N {
				for i := range v.KH {
					for j := range v.KW {
						y, x := oy*v.Stride+i-v.Top, ox*v.Stride+j-v.Left
						if y < 0 || y >= v.H || x < 0 || x >= v.W {
							continue
						}
						for c := range v.C {
							f((oy*v.OW+ox)*v.N+o, (y*v.W+x)*v.C+c, ((i*v.KW+j)*v.C+c)*v.N+o)
						}
					}
				}
			}
		}
	}
}

// bordered copies a dense image after left and before right zero columns, and
// returns its row length.
func bordered(x []float32, h, w, c, left, right int) ([]float32, int) {
	row := (left + w + right) * c
	b := make([]float32, h*row)
	for y := range h {
		copy(b[y*row+left*c:], x[y*w*c:][:w*c])
	}
	return b, row
}

// close32 reports whether a float32 sum of the given number of products of values
// in [-1, 1) may be got where want is exact: each step rounds by at most half an
// ulp, 6e-8, of a partial sum, which is some times the root of terms.
func close32(got float32, want float64, terms int) bool {
	n := float64(terms)
	return math.Abs(float64(got)-want) <= 6e-8*n*math.Sqrt(n)
}

func near(t *testing.T, what string, got []float32, want []float64, terms int) {
	t.Helper()
	for i, v := range want {
		if !close32(got[i], v, terms) {
			t.Fatalf("%s: value %d is %v, want %v", what, i, got[i], v)
		}
	}
}

// TestConv compares the three passes of a convolution with plain loops.
func TestConv(t *testing.T) {
	for _, c := range convCases {
		t.Run(c.String(), func(t *testing.T) {
			v := NewConv(c.h, c.w, c.c, c.n, c.kh, c.kw, c.stride, c.same)
			if c.pad > 0 {
				v = NewPaddedConv(c.h, c.w, c.c, c.n, c.kh, c.kw, c.stride, c.pad, c.pad)
			}
			if c.same && (v.OH != (c.h+c.stride-1)/c.stride || v.OW != (c.w+c.stride-1)/c.stride) {
				t.Fatalf("output is %d x %d", v.OH, v.OW)
			}
			s := kernels.NewStream(1, 2)
			x, w, bias := draw(s, c.h*c.w*c.c), draw(s, v.Rows()*c.n), draw(s, c.n)
			dy := draw(s, v.OH*v.OW*c.n)
			y, dw, dx := make([]float64, len(dy)), make([]float64, len(w)), make([]float64, len(x))
			db := make([]float64, c.n)
			for i := range y {
				y[i] = float64(bias[i%c.n])
				db[i%c.n] += float64(dy[i])
			}
			walk(v, func(o, i, k int) {
				y[o] += float64(x[i]) * float64(w[k])
				dw[k] += float64(dy[o]) * float64(x[i])
				dx[i] += float64(dy[o]) * float64(w[k])
			})
			packed := make([]float32, len(w))
			kernels.Pack(packed, w, v.Rows(), c.n, c.n)
			in, row := bordered(x, c.h, c.w, c.c, v.Left, v.RightBorder)
			kernelstest.ForEachLevel(t, func(t *testing.T) {
				got := make([]float32, len(y))
				v.Forward(got, v.OW*c.n, in, row, packed, bias, false)
				near(t, "y", got, y, v.Rows()+1)
				v.Forward(got, v.OW*c.n, in, row, packed, bias, true)
				for i, g := range got {
					if want := max(y[i], 0); !close32(g, want, v.Rows()+1) {
						t.Fatalf("with ReLU: value %d is %v, want %v", i, g, want)
					}
				}
				checkWeights(t, v, in, row, dy, dw, db)
				if c.c%16 == 0 {
					checkInput(t, v, dy, packed, dx)
				}
			})
		})
	}
}

func checkWeights(t *testing.T, v Conv, in []float32, row int, dy []float32, dw, db []float64) {
	gw, gb := make([]float32, len(dw)), make([]float32, v.N)
	for i := range gw {
		gw[i] = 3 // must be overwritten
	}
	gb[0] = 3
	plain := make([]float32, len(dw))
	v.BackwardWeights(gw, in, row, dy, v.OW*v.N, false)
	kernels.Unpack(plain, gw, v.Rows(), v.N, v.N)
	near(t, "dw without bias", plain, dw, 2*v.OH*v.OW)
	for pass := range 2 {
		v.BackwardWeights(gw, in, row, dy, v.OW*v.N, pass == 1)
		v.BackwardBias(gb, dy, v.OW*v.N, pass == 1)
		kernels.Unpack(plain, gw, v.Rows(), v.N, v.N)
		near(t, "dw", plain, dw, 2*v.OH*v.OW)
		near(t, "db", gb, db, 2*v.OH*v.OW)
		for i := range dw { // the second pass adds the same again
			dw[i] *= 2
		}
		for i := range db {
			db[i] *= 2
		}
	}
	for i := range dw {
		dw[i] /= 4
	}
	for i := range db {
		db[i] /= 4
	}
}

func checkInput(t *testing.T, v Conv, dy, packed []float32, dx []float64) {
	b := v.Input()
	flipped := make([]float32, b.Size())
	b.Flip(flipped, packed)
	g, row := bordered(dy, v.OH, v.OW, v.N, b.Left, b.Right)
	got := make([]float32, len(dx))
	for i := range got {
		got[i] = 3 // must be overwritten
	}
	b.Forward(got, v.W*v.C, g, row, flipped)
	near(t, "dx", got, dx, v.KH*v.KW*v.N)
}

// TestWindows holds that copies of windows of several images give the bits of Conv, image by image.
func TestWindows(t *testing.T) {
	for _, c := range convCases {
		v := NewConv(c.h, c.w, c.c, c.n, c.kh, c.kw, c.stride, c.same)
		if c.pad > 0 {
			v = NewPaddedConv(c.h, c.w, c.c, c.n, c.kh, c.kw, c.stride, c.pad, c.pad)
		}
		w, n := v.Windows(), 3
		if want := c.stride > 1 && c.c%16 == 0 && v.OH*v.OW <= 32; want != (w.Images > 0) {
			t.Errorf("%v: %d images in a call", c, w.Images)
		}
		if w.Images < n {
			continue
		}
		t.Run(c.String(), func(t *testing.T) {
			kernelstest.ForEachLevel(t, func(t *testing.T) { testWindows(t, v, w, n) })
		})
	}
}

func testWindows(t *testing.T, v Conv, w Windows, n int) {
	s := kernels.NewStream(1, 2)
	weights, bias, dy := draw(s, v.Rows()*v.N), draw(s, v.N), draw(s, n*w.Rows*v.N)
	scratch, out := make([]float32, w.Space()), w.Rows*v.N
	y, wantY := make([]float32, n*out), make([]float32, n*out)
	gw, wantGW := draw(s, len(weights)), make([]float32, len(weights))
	copy(wantGW, gw)
	for i := range n {
		x, row := bordered(draw(s, v.H*v.W*v.C), v.H, v.W, v.C, v.Left, v.RightBorder)
		w.Load(scratch[i*w.Rows*w.Step:], x, row)
		v.Forward(wantY[i*out:], v.OW*v.N, x, row, weights, bias, true)
		v.BackwardWeights(wantGW, x, row, dy[i*out:], v.OW*v.N, true)
	}
	w.Forward(y, w.N, scratch, w.Step, n*w.Rows, weights, bias, true)
	w.BackwardWeights(gw, scratch, w.Step, dy, w.N, n*w.Rows, true)
	for name, p := range map[string][2][]float32{"y": {y, wantY}, "dw": {gw, wantGW}} {
		if !slices.Equal(p[0], p[1]) {
			t.Errorf("%s differs", name)
		}
	}
}
