package tensor

import "math"

// The matrices of F(2x2, 3x3) without signs, and what they make of a square matrix.
var (
	absB = [][]float64{{1, 0, 1, 0}, {0, 1, 1, 0}, {0, 1, 1, 0}, {0, 1, 0, 1}}
	absG = [][]float64{{1, 0, 0}, {0.5, 0.5, 0.5}, {0.5, 0.5, 0.5}, {0, 0, 1}}
	absA = [][]float64{{1, 1, 1, 0}, {0, 1, 1, 1}}
)

// sandwich returns m x m', or m' x m if turned, of a matrix given by its values.
func sandwich(m [][]float64, turned bool, x func(i, j int) float64) (out [4][4]float64) {
	rows, n := len(m), len(m[0])
	at := func(i, k int) float64 { return m[i][k] }
	if turned {
		rows, n = n, rows
		at = func(i, k int) float64 { return m[k][i] }
	}
	for i := range rows {
		for j := range rows {
			for k := range n {
				for l := range n {
					out[i][j] += at(i, k) * x(k, l) * at(j, l)
				}
			}
		}
	}
	return out
}

// winogradSize is what the bound of Winograd's comment multiplies.
type winogradSize struct {
	Winograd
	n int // images
}

// tiles calls f for every tile with its number.
func (w winogradSize) tiles(f func(t, image, y, x int)) {
	for t := range w.n * w.Tiles() {
		f(t, t/w.Tiles(), t%w.Tiles()/w.cols, t%w.cols)
	}
}

// input returns the sizes of the transformed input, by tile and channel.
func (w winogradSize) input(x []float32) [][4][4]float64 {
	d := make([][4][4]float64, w.n*w.Tiles()*w.C)
	w.tiles(func(t, image, row, col int) {
		for c := range w.C {
			d[t*w.C+c] = sandwich(absB, false, func(i, j int) float64 {
				y, x0 := 2*row-w.Top+i, 2*col-w.Left+j
				if y < 0 || y >= w.H || x0 < 0 || x0 >= w.W {
					return 0
				}
				return math.Abs(float64(x[((image*w.H+y)*w.W+x0)*w.C+c]))
			})
		}
	})
	return d
}

// outputs returns the bounds of the outputs, for weights by kernel pixel, channel
// and filter.
func (w winogradSize) outputs(x, weights []float32) []float64 {
	g := make([][4][4]float64, w.C*w.N)
	for i := range g {
		g[i] = sandwich(absG, false, func(y, x int) float64 { return math.Abs(float64(weights[(3*y+x)*w.C*w.N+i])) })
	}
	bounds, d := make([]float64, w.n*w.OH*w.OW*w.N), w.input(x)
	w.tiles(func(t, image, row, col int) {
		for f := range w.N {
			var m [4][4]float64
			for c := range w.C {
				for i := range 16 {
					m[i/4][i%4] += d[t*w.C+c][i/4][i%4] * g[c*w.N+f][i/4][i%4]
				}
			}
			y := sandwich(absA, false, func(i, j int) float64 { return m[i][j] })
			for i := range 4 {
				if r, c := 2*row+i/2, 2*col+i%2; r < w.OH && c < w.OW {
					bounds[((image*w.OH+r)*w.OW+c)*w.N+f] = float64(w.C+14) / (1 << 24) * (y[i/2][i%2] + 1) // and a bias up to 1
				}
			}
		}
	})
	return bounds
}

// weights returns the bounds of the gradient of the weights.
func (w winogradSize) weights(x, dy []float32) []float64 {
	u, d := make([][4][4]float64, w.C*w.N), w.input(x)
	w.tiles(func(t, image, row, col int) {
		for f := range w.N {
			z := sandwich(absA, true, func(i, j int) float64 {
				r, c := 2*row+i, 2*col+j
				if r >= w.OH || c >= w.OW {
					return 0
				}
				return math.Abs(float64(dy[((image*w.OH+r)*w.OW+c)*w.N+f]))
			})
			for c := range w.C {
				for i := range 16 {
					u[c*w.N+f][i/4][i%4] += d[t*w.C+c][i/4][i%4] * z[i/4][i%4]
				}
			}
		}
	})
	bounds := make([]float64, 9*w.C*w.N)
	for i := range u {
		g := sandwich(absG, true, func(a, b int) float64 { return u[i][a][b] })
		for k := range 9 {
			bounds[k*w.C*w.N+i] = float64(w.n*w.Tiles()+14) / (1 << 24) * g[k/3][k%3]
		}
	}
	return bounds
}

// turned returns plain weights with the kernel turned by half a turn, and channels
// and filters exchanged.
func turned(w []float32, c, n int) []float32 {
	out := make([]float32, len(w))
	for k := range 9 {
		for i := range c {
			for j := range n {
				out[((8-k)*n+j)*c+i] = w[(k*c+i)*n+j]
			}
		}
	}
	return out
}
