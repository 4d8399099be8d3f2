package kernels_test

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/fedfast/fedfast/internal/test/kernelstest"
	"github.com/fedfast/fedfast/kernels"
)

// sparseCase is a gradient of windows x 2 pixels in rows rows, and its lists.
type sparseCase struct {
	n, windows, rows int
	grad             []float32 // rows x windows x n
	idx              []uint8
	pixels           kernels.SparsePixels
	value            *kernelstest.Slice
}

// newSparseCase draws a gradient of which about one in holes values is zero, and
// lists its pixels.
func newSparseCase(n, windows, rows, holes int) *sparseCase {
	r := newRand(uint64(n*windows + rows))
	c := &sparseCase{
		n: n, windows: windows, rows: rows, grad: make([]float32, rows*windows*n),
		idx: make([]uint8, rows*windows*n),
	}
	for i := range c.grad {
		c.idx[i] = uint8(r.IntN(4))
		if holes == 0 || r.IntN(holes) > 0 {
			c.grad[i] = float32(r.NormFloat64())
		}
	}
	c.grad[0] = float32(math.Copysign(0, -1)) // counts as zero
	c.value = kernelstest.NewSlice(2*len(c.grad)+kernels.Width, 3)
	c.pixels = kernels.SparsePixels{
		N: n, Start: make([]int32, 4*rows*windows+1), Value: c.value.Data,
		Filter: make([]uint32, len(c.value.Data)),
	}
	for y := range 2 * rows {
		part := y / 2 * windows * n
		kernels.ListMaxima(&c.pixels, 2*y*windows, c.grad[part:][:windows*n], c.idx[part:][:windows*n], y%2)
	}
	return c
}

// at returns the gradient of filter f at pixel x of row y, without its pool.
func (c *sparseCase) at(y, x, f int) float32 {
	i := (y/2*c.windows+x/2)*c.n + f
	if int(c.idx[i]) == y%2*2+x%2 {
		return c.grad[i]
	}
	return 0
}

func forEachSparseCase(t *testing.T, f func(t *testing.T, c *sparseCase)) {
	for _, s := range []struct{ n, windows, rows, holes int }{
		{16, 1, 1, 0}, {16, 1, 1, 1}, {32, 3, 2, 2}, {64, 12, 1, 3}, {48, 5, 3, 20}, {80, 2, 1, 0}, {16, 9, 2, 1},
	} {
		t.Run(fmt.Sprintf("n=%d/windows=%d/rows=%d/holes=%d", s.n, s.windows, s.rows, s.holes), func(t *testing.T) {
			kernelstest.ForEachLevel(t, func(t *testing.T) { f(t, newSparseCase(s.n, s.windows, s.rows, s.holes)) })
		})
	}
}

func TestListMaxima(t *testing.T) {
	forEachSparseCase(t, func(t *testing.T, c *sparseCase) {
		c.value.Check(t, "values")
		e := 0
		for y := range 2 * c.rows {
			for x := range 2 * c.windows {
				for f := range c.n {
					g := c.at(y, x, f)
					if g == 0 {
						continue
					}
					if c.pixels.Value[e] != g || c.pixels.Filter[e] != uint32(f) {
						t.Fatalf("entry %d is %v of filter %d, want %v of %d", e, c.pixels.Value[e], c.pixels.Filter[e], g, f)
					}
					e++
				}
				if i := 2*y*c.windows + x + 1; int(c.pixels.Start[i]) != e {
					t.Fatalf("pixel %d starts at %d, want %d", i, c.pixels.Start[i], e)
				}
			}
		}
	})
}

func TestListNonZero(t *testing.T) {
	forEachSparseCase(t, func(t *testing.T, c *sparseCase) {
		whole := make([]float32, 4*len(c.grad))
		for i := range whole {
			whole[i] = c.at(i/c.n/(2*c.windows), i/c.n%(2*c.windows), i%c.n)
		}
		value := kernelstest.NewSlice(len(whole)+kernels.Width, 2)
		got := kernels.SparsePixels{
			N: c.n, Start: make([]int32, len(c.pixels.Start)), Value: value.Data,
			Filter: make([]uint32, len(value.Data)),
		}
		for y := range 2 * c.rows {
			kernels.ListNonZero(&got, 2*y*c.windows, whole[2*y*c.windows*c.n:][:2*c.windows*c.n])
		}
		value.Check(t, "values")
		n := got.Start[len(got.Start)-1]
		if !slices.Equal(got.Start, c.pixels.Start) || !slices.Equal(got.Value[:n], c.pixels.Value[:n]) ||
			!slices.Equal(got.Filter[:n], c.pixels.Filter[:n]) {
			t.Fatal("the lists of the whole gradient are not those of its maxima")
		}
	})
}

// newFilterLists deals the entries of c out; the window of pixel (y, x) starts at
// y*row + x*pixel.
func newFilterLists(c *sparseCase, row, pixel int) *kernels.SparseFilters {
	room := 4 * c.rows * c.windows
	l := &kernels.SparseFilters{
		Room: room, Tail: make([]int32, c.n), Value: make([]float32, c.n*room), At: make([]uint32, c.n*room),
		Sum: make([]float32, c.n),
	}
	l.Reset()
	for y := range 2 * c.rows {
		kernels.AppendByFilter(l, &c.pixels, 2*y*c.windows, 2*c.windows, y*row, pixel)
	}
	return l
}

func TestAppendByFilter(t *testing.T) {
	forEachSparseCase(t, func(t *testing.T, c *sparseCase) {
		l := newFilterLists(c, 1000, 7)
		for f := range c.n {
			e, sum := f*l.Room, float32(0)
			for y := range 2 * c.rows {
				for x := range 2 * c.windows {
					g := c.at(y, x, f)
					if g == 0 {
						continue
					}
					if l.Value[e] != g || int(l.At[e]) != y*1000+x*7 {
						t.Fatalf("filter %d: entry %d is %v at %d, want %v at %d", f, e, l.Value[e], l.At[e], g, y*1000+x*7)
					}
					sum += g
					e++
				}
			}
			if int(l.Tail[f]) != e || l.Sum[f] != sum {
				t.Fatalf("filter %d ends at %d with the sum %v, want %d and %v", f, l.Tail[f], l.Sum[f], e, sum)
			}
		}
	})
}

// sparseTiles are the shapes of kernels that are tested.
var sparseTiles = []struct{ rows, cols, groups int }{{3, 3, 2}, {3, 3, 1}, {5, 5, 1}, {2, 3, 2}, {4, 5, 1}}

func TestSparseWeights(t *testing.T) {
	forEachSparseCase(t, func(t *testing.T, c *sparseCase) {
		for _, s := range sparseTiles {
			testSparseWeights(t, c, s.rows, s.cols, s.groups)
		}
	})
}

func testSparseWeights(t *testing.T, c *sparseCase, rows, cols, groups int) {
	r, n := newRand(5), groups*kernels.Width
	pixel := n + 16
	xRow := (2*c.windows + cols - 1) * pixel
	x := kernelstest.Random(r, (2*c.rows+rows-1)*xRow, 1)
	l := newFilterLists(c, xRow, pixel)
	if kernels.SparseRows(rows, cols) != rows {
		rows = 1
	}
	sums := kernelstest.Random(r, c.n*rows*cols*n, 7)
	want := clone(sums.Data)
	for f := range c.n {
		for e := f * l.Room; e < int(l.Tail[f]); e++ {
			for i := range rows * cols * n {
				ky, kx, ch := i/n/cols, i/n%cols, i%n
				v := x.Data[int(l.At[e])+ky*xRow+kx*pixel+ch]
				want[f*rows*cols*n+i] = fma(l.Value[e], v, want[f*rows*cols*n+i])
			}
		}
	}
	s := kernels.SparseWeights{
		Rows: rows, Cols: cols, Groups: groups, Lists: l, X: x.Data, XRow: xRow, Pixel: pixel,
		Sums: sums.Data,
	}
	kernels.SparseWeightsAdd(&s)
	x.Check(t, "input")
	sums.Check(t, "sums")
	compareSums(t, fmt.Sprintf("%d x %d x %d: sum", rows, cols, groups), sums.Data, want)
	noAllocation(t, func() { kernels.SparseWeightsAdd(&s) })
}

func TestSparseInput(t *testing.T) {
	forEachSparseCase(t, func(t *testing.T, c *sparseCase) {
		for _, s := range sparseTiles {
			testSparseInput(t, c, s.cols, s.groups)
		}
	})
}

func testSparseInput(t *testing.T, c *sparseCase, cols, groups int) {
	r, n := newRand(6), groups*kernels.Width
	pixel := n + 32
	w := kernelstest.Random(r, c.n*cols*n, 2)
	for y := range 2 * c.rows {
		width := 2*c.windows + cols - 1
		dx := kernelstest.Random(r, (width-1)*pixel+n, 5)
		old := clone(dx.Data)
		s := kernels.SparseInput{
			Cols: cols, Groups: groups, Lists: &c.pixels, First: 2 * y * c.windows, Pixels: 2 * c.windows,
			W: w.Data, DX: dx.Data, Pixel: pixel, Fresh: y%2 == 1,
		}
		want := clone(dx.Data)
		for i := range want {
			if s.Fresh && i%pixel < n {
				want[i] = 0
			}
		}
		for x := range 2 * c.windows {
			for f := range c.n {
				g := c.at(y, x, f)
				for i := range cols * n {
					to := (x+i/n)*pixel + i%n
					if g != 0 {
						want[to] = fma(g, w.Data[f*cols*n+i], want[to])
					}
				}
			}
		}
		kernels.SparseInputAdd(&s)
		dx.Check(t, "input's gradient")
		compareSums(t, fmt.Sprintf("%d columns, %d groups, row %d: gradient", cols, groups, y), dx.Data, want)
		for i := range old {
			if i%pixel >= n && dx.Data[i] != old[i] {
				t.Fatalf("float %d between the channels was written", i)
			}
		}
		noAllocation(t, func() { kernels.SparseInputAdd(&s) })
	}
}

// compareSums compares to the bit.
func compareSums(t *testing.T, what string, got, want []float32) {
	t.Helper()
	for i := range want {
		if !equal(got[i], want[i]) {
			t.Fatalf("%s %d is %v, want %v", what, i, got[i], want[i])
		}
	}
}
