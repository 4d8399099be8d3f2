package tensor

import (
	"fmt"
	"math"
	"testing"

	"github.com/fedfast/fedfast/internal/test/kernelstest"
	"github.com/fedfast/fedfast/kernels"
)

// sparseCase is a convolution after which a max-pool follows.
type sparseCase struct {
	h, w, c, n, size int
	same             bool
}

var sparseCases = []sparseCase{
	{4, 4, 16, 16, 3, false}, // one window
	{26, 26, 32, 64, 3, false},
	{7, 9, 48, 32, 3, false}, // odd outputs: the pool drops the last row and column
	{8, 6, 32, 48, 3, true},
	{9, 7, 16, 32, 3, true},
	{14, 14, 32, 64, 5, true},
	{6, 13, 48, 16, 5, false},
	{5, 5, 16, 16, 5, true},
	{2, 3, 16, 80, 3, true},
	{16, 16, 64, 64, 3, true},
}

// TestSparse compares with the passes over the whole gradient, to the bit.
func TestSparse(t *testing.T) {
	for _, c := range sparseCases {
		for _, share := range []int{0, 1, 3} {
			t.Run(fmt.Sprintf("%dx%dx%d to %d/size=%d/same=%v/share=%d", c.h, c.w, c.c, c.n, c.size, c.same, share),
				func(t *testing.T) {
					kernelstest.ForEachLevel(t, func(t *testing.T) {
						testSparse(t, c, share, true)
						testSparse(t, c, share, false)
					})
				})
		}
	}
}

// testSparse draws gradients of maxima, of which 1 in share is zero (all with share
// 1, none with 0), and gives them as such or as the whole gradient.
func testSparse(t *testing.T, c sparseCase, share int, maxima bool) {
	v := NewConv(c.h, c.w, c.c, c.n, c.size, c.size, 1, c.same)
	if !v.CanSparse() {
		t.Fatal("there are no kernels for this convolution")
	}
	var a Arena
	p := NewSparse(v, &a, true, maxima, false)
	s := kernels.NewStream(3, 4)
	in := v.Input()
	w, flipped := draw(s, v.Rows()*v.N), make([]float32, in.Size())
	in.Flip(flipped, w)
	p.Load(w)
	p.Reset()
	gw, gb := make([]float32, len(w)), make([]float32, v.N)
	wantW, wantB := make([]float32, len(w)), make([]float32, v.N)
	for image := range 2 {
		x, xRow := bordered(draw(s, c.h*c.w*c.c), c.h, c.w, c.c, v.Left, v.RightBorder)
		rows, cols := v.OH/2, v.OW/2
		n := cols * v.N
		grad, idx, dy := make([]float32, rows*(n+16)), make([]uint8, rows*n), make([]float32, v.OH*v.OW*v.N)
		for i := range idx {
			at := i/n*(n+16) + i%n
			if share == 0 || s.IntN(share) > 0 {
				grad[at] = 2*s.Float32() - 1
			}
			idx[i] = uint8(s.IntN(4))
			y, px := i/n*2+int(idx[i]/2), i%n/v.N*2+int(idx[i]%2)
			dy[(y*v.OW+px)*v.N+i%v.N] = grad[at]
		}
		v.BackwardWeights(wantW, x, xRow, dy, v.OW*v.N, image > 0)
		v.BackwardBias(wantB, dy, v.OW*v.N, image > 0)
		padded, paddedRow := bordered(dy, v.OH, v.OW, v.N, in.Left, in.Right)
		dxRow := v.W*v.C + 32
		want, dx := make([]float32, v.H*dxRow), make([]float32, v.H*dxRow)
		for i := range dx {
			want[i], dx[i] = 5, 5
		}
		in.Forward(want, dxRow, padded, paddedRow, flipped)

		if maxima {
			p.Maxima(grad, n+16, idx)
		} else if got, want := p.All(dy, v.OW*v.N), nonZero(dy); got != want {
			t.Fatalf("%d values are not zero, want %d", got, want)
		}
		p.BackwardWeights(gb, x, xRow)
		p.BackwardInput(dx, dxRow)
		same(t, "input's gradient", dx, want)
	}
	p.Store(gw)
	same(t, "weights' gradient", gw, wantW)
	same(t, "bias' gradient", gb, wantB)
}

// same compares to the bit.
func same(t *testing.T, what string, got, want []float32) {
	t.Helper()
	for i, x := range want {
		if math.Float32bits(got[i]) != math.Float32bits(x) && (got[i] != 0 || x != 0) {
			t.Fatalf("%s: value %d is %v, want %v", what, i, got[i], x)
		}
	}
}

func nonZero(x []float32) (n int) {
	for _, v := range x {
		if v != 0 {
			n++
		}
	}
	return n
}
