package kernels

// Columns is the softmax of every column of a matrix X of M rows and N columns, as
// attention has it of keys by rows and queries by columns. With Causal, column j has its
// first First+j+1 rows only: of the others those that lie in a panel with a row that
// counts get shares of zero, and those behind are left alone. First is a multiple of
// [Width] then, or 0.
type Columns struct {
	M, N   int // N is a multiple of Width
	X      []float32
	Ld     int // distance between rows, at least N
	Causal bool
	First  int

	// Largest and Scale, of N values, are what turns a column into its shares:
	// e^(x - Largest) * Scale. Scale is 0 where a column has nothing but -Inf.
	Largest, Scale []float32
}

// columnTable holds the loops of one level over 16 columns, whose rows lie ld and ldg
// bytes apart: rows whole ones, and then masked ones of which the i-th one counts in the
// columns from i on. Products and sums outside of the exponential are not fused, and
// sums go down the columns, so that every level gives the same bits.
type columnTable struct {
	softmax  func(x *float32, ld, rows, masked int, largest, scale *float32)
	backward func(x, g *float32, ld, ldg, rows, masked int, largest, scale *float32)
}

var columns columnTable

const msgColumns = "kernels: Columns with a negative size, a distance below N or a slice that is too short"

// Softmax turns X into shares and keeps what that took in Largest and Scale. Shares
// below e^-60 times the largest become 0, and so does all of a column of nothing but
// -Inf; a column with NaN or +Inf becomes NaN.
func (c *Columns) Softmax() {
	c.check()
	c.each(func(x []float32, rows, masked, at int) {
		callColumns(x, 4*c.Ld, rows, masked, c.Largest[at:], c.Scale[at:])
	})
}

// Backward turns X into the shares of Softmax again, and the gradient g of these, whose
// rows are ldg apart, into that of what Softmax got: with the shares p of a column,
// p*(g - sum of p*g).
func (c *Columns) Backward(g []float32, ldg int) {
	c.check()
	if ldg < c.N || c.M > 0 && len(g) < (c.M-1)*ldg+c.N {
		panic(msgColumns)
	}
	c.each(func(x []float32, rows, masked, at int) {
		if raceEnabled {
			for i := range rows + masked {
				raceWrite(g[i*ldg+at:][:Width])
			}
		}
		callColumnsBackward(x, g[at:], 4*c.Ld, 4*ldg, rows, masked, c.Largest[at:], c.Scale[at:])
	})
}

func (c *Columns) check() {
	if c.M < 0 || c.N < 0 || c.N%Width != 0 || c.Ld < c.N || c.First < 0 || c.First%Width != 0 ||
		c.M > 0 && len(c.X) < (c.M-1)*c.Ld+c.N || len(c.Largest) < c.N || len(c.Scale) < c.N {
		panic(msgColumns)
	}
}

// each calls f for every 16 columns that have rows.
func (c *Columns) each(f func(x []float32, rows, masked, at int)) {
	for at := 0; at < c.N && c.M > 0; at += Width {
		rows, masked := c.M, 0
		if c.Causal {
			rows = min(c.M, c.First+at)
			masked = min(c.M-rows, Width)
		}
		if raceEnabled {
			for i := range rows + masked {
				raceWrite(c.X[i*c.Ld+at:][:Width])
			}
			raceWrite(c.Largest[at:][:Width])
			raceWrite(c.Scale[at:][:Width])
		}
		f(c.X[at:], rows, masked, at)
	}
}

//go:noinline
func callColumns(x []float32, ld, rows, masked int, largest, scale []float32) {
	columns.softmax(&x[0], ld, rows, masked, &largest[0], &scale[0])
}

//go:noinline
func callColumnsBackward(x, g []float32, ld, ldg, rows, masked int, largest, scale []float32) {
	columns.backward(&x[0], &g[0], ld, ldg, rows, masked, &largest[0], &scale[0])
}
