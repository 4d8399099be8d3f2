package kernels_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/fedfast/fedfast/internal/test/kernelstest"
	"github.com/fedfast/fedfast/kernels"
)

// The matrices of F(2x2, 3x3), see Lavin and Gray 2016, equations 13 and following.
var (
	winogradB = matrix{{1, 0, -1, 0}, {0, 1, 1, 0}, {0, -1, 1, 0}, {0, 1, 0, -1}}
	winogradG = matrix{{1, 0, 0}, {0.5, 0.5, 0.5}, {0.5, -0.5, 0.5}, {0, 0, 1}}
	winogradA = matrix{{1, 1, 1, 0}, {0, 1, -1, -1}}
)

type matrix [][]float64

func (m matrix) transposed() matrix {
	t := make(matrix, len(m[0]))
	for j := range t {
		for i := range m {
			t[j] = append(t[j], m[i][j])
		}
	}
	return t
}

// sandwich returns m x m'.
func (m matrix) sandwich(x matrix) matrix { return m.times(m.times(x).transposed()).transposed() }

func (m matrix) times(x matrix) matrix {
	p := make(matrix, len(m))
	for i := range m {
		p[i] = make([]float64, len(x[0]))
		for j := range p[i] {
			for k := range x {
				p[i][j] += m[i][k] * x[k][j]
			}
		}
	}
	return p
}

// collect returns the n x n matrix of the values of f.
func collect(n int, f func(y, x int) float32) matrix {
	m := make(matrix, n)
	for y := range m {
		for x := range n {
			m[y] = append(m[y], float64(f(y, x)))
		}
	}
	return m
}

// integers returns small integers, on which the transforms are exact.
func integers(r *rand.Rand, n, offset int) *kernelstest.Slice {
	s := kernelstest.NewSlice(n, offset)
	for i := range s.Data {
		s.Data[i] = float32(2 * (r.IntN(201) - 100))
	}
	return s
}

type winogradCase struct{ tiles, c, pixel, ld, plane int }

var winogradCases = []winogradCase{
	{1, 16, 16, 16, 16},
	{3, 32, 48, 40, 150},
	{2, 48, 48, 64, 128},
	{70, 256, 256, 256, 70 * 256}, // more than one call of assembly
}

// TestWinograd compares every transform with products of the matrices, on numbers
// that leave nothing to round.
func TestWinograd(t *testing.T) {
	for _, c := range winogradCases {
		t.Run(fmt.Sprintf("%+v", c), func(t *testing.T) {
			kernelstest.ForEachLevel(t, func(t *testing.T) {
				testWinogradInput(t, c)
				testWinogradSpread(t, c)
				testWinogradOutput(t, c, false)
				testWinogradOutput(t, c, true)
				testWinogradWeights(t, c)
			})
		})
	}
}

// each compares a transform of every tile and channel with what it should be.
func (c winogradCase) each(t *testing.T, what string, n int, got func(tile, channel, y, x int) float32,
	want func(tile, channel int) matrix,
) {
	t.Helper()
	for tile := range c.tiles {
		for channel := range c.c {
			w := want(tile, channel)
			for y := range n {
				for x := range n {
					if g := got(tile, channel, y, x); float64(g) != w[y][x] {
						t.Fatalf("%s: tile %d, channel %d: (%d, %d) is %v, want %v", what, tile, channel, y, x, g, w[y][x])
					}
				}
			}
		}
	}
}

func (c winogradCase) newTiles(r *rand.Rand) (*kernelstest.Slice, kernels.Tiles) {
	s := integers(r, 15*c.plane+(c.tiles-1)*c.ld+c.c, 3)
	return s, kernels.Tiles{Data: s.Data, Plane: c.plane, Ld: c.ld}
}

func (c winogradCase) newRow(r *rand.Rand, pixels, offset int) *kernelstest.Slice {
	return integers(r, (pixels-1)*c.pixel+c.c, offset)
}

func testWinogradInput(t *testing.T, c winogradCase) {
	r := newRand(1)
	s, v := c.newTiles(r)
	var rows [4][]float32
	for i := range rows {
		rows[i] = c.newRow(r, 2*c.tiles+2, i).Data
	}
	kernels.WinogradInput(v, &rows, c.pixel, c.tiles, c.c)
	s.Check(t, "tiles")
	c.each(t, "input", 4,
		func(tile, channel, y, x int) float32 { return v.Data[(4*y+x)*c.plane+tile*c.ld+channel] },
		func(tile, channel int) matrix {
			return winogradB.sandwich(collect(4, func(y, x int) float32 { return rows[y][(2*tile+x)*c.pixel+channel] }))
		})
	noAllocation(t, func() { kernels.WinogradInput(v, &rows, c.pixel, c.tiles, c.c) })
}

func testWinogradSpread(t *testing.T, c winogradCase) {
	r := newRand(2)
	s, z := c.newTiles(r)
	rows := [2][]float32{c.newRow(r, 2*c.tiles, 1).Data, c.newRow(r, 2*c.tiles, 5).Data}
	kernels.WinogradSpread(z, &rows, c.pixel, c.tiles, c.c)
	s.Check(t, "tiles")
	c.each(t, "spread", 4,
		func(tile, channel, y, x int) float32 {
			v := z.Data[(4*y+x)*c.plane+tile*c.ld+channel]
			if (y == 3) != (x == 3) {
				v = -v
			}
			return v
		},
		func(tile, channel int) matrix {
			return winogradA.transposed().sandwich(collect(2,
				func(y, x int) float32 { return rows[y][(2*tile+x)*c.pixel+channel] }))
		})
	noAllocation(t, func() { kernels.WinogradSpread(z, &rows, c.pixel, c.tiles, c.c) })
}

func testWinogradOutput(t *testing.T, c winogradCase, relu bool) {
	r := newRand(3)
	_, m := c.newTiles(r)
	bias := integers(r, c.c, 7).Data
	a, b := c.newRow(r, 2*c.tiles, 1), c.newRow(r, 2*c.tiles, 5)
	rows := [2][]float32{a.Data, b.Data}
	kernels.WinogradOutput(&rows, c.pixel, m, bias, c.tiles, c.c, relu)
	a.Check(t, "first row")
	b.Check(t, "second row")
	c.each(t, "output", 2,
		func(tile, channel, y, x int) float32 { return rows[y][(2*tile+x)*c.pixel+channel] },
		func(tile, channel int) matrix {
			out := winogradA.sandwich(collect(4, func(y, x int) float32 { return m.Data[(4*y+x)*c.plane+tile*c.ld+channel] }))
			for y := range out {
				for x := range out[y] {
					if out[y][x] += float64(bias[channel]); relu {
						out[y][x] = max(out[y][x], 0)
					}
				}
			}
			return out
		})
	noAllocation(t, func() { kernels.WinogradOutput(&rows, c.pixel, m, bias, c.tiles, c.c, relu) })
}

func testWinogradWeights(t *testing.T, c winogradCase) {
	r := newRand(4)
	wPlane := c.c + 16
	s, u := c.newTiles(r)
	w := integers(r, 8*wPlane+c.c, 9)
	c.tiles = 1
	kernels.WinogradWeights(u.Data, c.plane, w.Data, wPlane, c.c)
	s.Check(t, "transformed weights")
	c.each(t, "weights", 4,
		func(_, channel, y, x int) float32 { return u.Data[(4*y+x)*c.plane+channel] },
		func(_, channel int) matrix {
			return winogradG.sandwich(collect(3, func(y, x int) float32 { return w.Data[(3*y+x)*wPlane+channel] }))
		})
	kernels.WinogradGradient(w.Data, wPlane, u.Data, c.plane, c.c)
	w.Check(t, "gradient")
	c.each(t, "gradient", 3,
		func(_, channel, y, x int) float32 { return w.Data[(3*y+x)*wPlane+channel] },
		func(_, channel int) matrix {
			return winogradG.transposed().sandwich(collect(4, func(y, x int) float32 {
				if v := u.Data[(4*y+x)*c.plane+channel]; (y == 3) == (x == 3) {
					return v
				} else {
					return -v
				}
			}))
		})
	noAllocation(t, func() {
		kernels.WinogradWeights(u.Data, c.plane, w.Data, wPlane, c.c)
		kernels.WinogradGradient(w.Data, wPlane, u.Data, c.plane, c.c)
	})
}

// TestWinogradLevels holds that all levels, the generic one too, round alike.
func TestWinogradLevels(t *testing.T) {
	var want []float32
	kernelstest.ForEachLevel(t, func(t *testing.T) {
		const tiles, c = 5, 48
		r := newRand(5)
		row := kernelstest.Random(r, (2*tiles+5)*c, 0).Data
		u, w := make([]float32, 16*tiles*c), make([]float32, 9*c)
		v := kernels.Tiles{Data: u, Plane: tiles * c, Ld: c}
		var got []float32
		kernels.WinogradInput(v, &[4][]float32{row, row[c:], row[2*c:], row[3*c:]}, c, tiles, c)
		got = append(got, u...)
		kernels.WinogradGradient(w, c, u, tiles*c, c)
		got = append(got, w...)
		kernels.WinogradWeights(u, c, w, c, c)
		got = append(got, u...)
		y := make([]float32, 4*tiles*c)
		kernels.WinogradOutput(&[2][]float32{y, y[2*tiles*c:]}, c, v, row[:c], tiles, c, true)
		got = append(got, y...)
		kernels.WinogradSpread(v, &[2][]float32{y, row}, c, tiles, c)
		got = append(got, u...)
		if want == nil {
			want = got
		}
		for i := range want {
			if !equal(got[i], want[i]) {
				t.Fatalf("value %d is %v, want %v", i, got[i], want[i])
			}
		}
	})
}
