package kernels

// RowNorm is the normalisation of rows X of N values, each value with a weight and a
// bias of its own:
//
//	Y = (X - mean) * scale * Weight + Bias,   scale = 1/sqrt(variance + Epsilon)
//
// Mean and Scale get what the rows had. Without Center the mean counts as 0, and the
// variance is the mean of the squares. Y may be X itself.
type RowNorm struct {
	Rows, N      int
	X, Y         []float32
	LdX, LdY     int // distances between rows
	Weight, Bias []float32
	Mean, Scale  []float32
	Center       bool
	Epsilon      float64
}

// RowNormGrad is its backward pass: from the gradient DY of the results to DX, that of
// the rows, and to those of weight and bias, to which it adds. Mean and Scale are what
// RowNormForward left. A nil DX is not wanted.
type RowNormGrad struct {
	Rows, N              int
	X, DY, DX            []float32
	LdX, LdDY, LdDX      int
	Weight               []float32
	WeightGrad, BiasGrad []float32
	Mean, Scale          []float32
	Center               bool
}

// rowNormTable holds the loops of one level over n > 0 blocks of 16 floats. Nothing
// is fused, so that every level gives the same bits.
type rowNormTable struct {
	// norm and gradient take rows > 0 rows, ldx, ldy, lddx and lddy bytes apart, of size
	// values; nil where plain Go does. center is 0 or 1, dx may be nil.
	norm     func(y, x, weight, bias, means, scales *float32, n, rows, ldx, ldy int, size, epsilon float64, center int)
	gradient func(dx, x, dy, weight, gw, gb, means, scales *float32, n, rows, ldx, lddy, lddx int, size float64, center int)
}

var rowNorms rowNormTable

const msgRowNorm = "kernels: RowNorm with a negative size or a slice too short"

// rowNormCall is the most floats of one call of assembly, about 100 us.
const rowNormCall = 1 << 18

// hasRows reports whether x has rows of n floats, ld apart.
func hasRows(x []float32, ld, rows, n int) bool {
	return ld >= 0 && (rows == 0 || len(x) >= (rows-1)*ld+n)
}

// RowNormForward normalises the rows. Sums go by 16 lanes as in [Sum], in float32. It
// panics if a slice is too short.
func RowNormForward(r *RowNorm) {
	m, n := r.Rows, r.N
	if m < 0 || n < 0 || !hasRows(r.X, r.LdX, m, n) || !hasRows(r.Y, r.LdY, m, n) || len(r.Weight) < n || len(r.Bias) < n || len(r.Mean) < m || len(r.Scale) < m {
		panic(msgRowNorm)
	}
	if m == 0 || n == 0 {
		return
	}
	if raceEnabled {
		r.race()
	}
	if rowNorms.norm == nil || n%Width > 0 {
		rowNormGeneric(r)
		return
	}
	most := max(rowNormCall/n, 1)
	for i := 0; i < m; i += most {
		callRowNorm(r, i, min(most, m-i))
	}
}

func (r *RowNorm) race() {
	raceRead(r.Weight[:r.N])
	raceRead(r.Bias[:r.N])
	raceWrite(r.Mean[:r.Rows])
	raceWrite(r.Scale[:r.Rows])
	for i := range r.Rows {
		raceRead(r.X[i*r.LdX:][:r.N])
		raceWrite(r.Y[i*r.LdY:][:r.N])
	}
}

//go:noinline
func callRowNorm(r *RowNorm, i, rows int) {
	rowNorms.norm(
		&r.Y[i*r.LdY], &r.X[i*r.LdX], &r.Weight[0], &r.Bias[0], &r.Mean[i], &r.Scale[i],
		r.N/Width, rows, 4*r.LdX, 4*r.LdY, float64(r.N), r.Epsilon, oneIf(r.Center),
	)
}

func oneIf(b bool) int {
	if b {
		return 1
	}
	return 0
}

// RowNormBackward computes, with z = (x - Mean)*Scale and u = dy*Weight,
//
//	DX = Scale * (u - mean(u) - z*mean(u z)),   WeightGrad += dy*z,   BiasGrad += dy
//
// row after row, where mean(u) counts as 0 without Center. It panics if a slice is too
// short.
func RowNormBackward(r *RowNormGrad) {
	m, n := r.Rows, r.N
	if m < 0 || n < 0 || !hasRows(r.X, r.LdX, m, n) || !hasRows(r.DY, r.LdDY, m, n) || r.DX != nil && !hasRows(r.DX, r.LdDX, m, n) ||
		len(r.Weight) < n || len(r.WeightGrad) < n || len(r.BiasGrad) < n || len(r.Mean) < m || len(r.Scale) < m {
		panic(msgRowNorm)
	}
	if m == 0 || n == 0 {
		return
	}
	if raceEnabled {
		r.race()
	}
	if rowNorms.gradient == nil || n%Width > 0 {
		rowNormGradGeneric(r)
		return
	}
	most := max(rowNormCall/n, 1)
	for i := 0; i < m; i += most {
		callRowNormBackward(r, i, min(most, m-i))
	}
}

func (r *RowNormGrad) race() {
	raceRead(r.Weight[:r.N])
	raceWrite(r.WeightGrad[:r.N])
	raceWrite(r.BiasGrad[:r.N])
	raceRead(r.Mean[:r.Rows])
	raceRead(r.Scale[:r.Rows])
	for i := range r.Rows {
		raceRead(r.X[i*r.LdX:][:r.N])
		raceRead(r.DY[i*r.LdDY:][:r.N])
		if r.DX != nil {
			raceWrite(r.DX[i*r.LdDX:][:r.N])
		}
	}
}

//go:noinline
func callRowNormBackward(r *RowNormGrad, i, rows int) {
	var dx *float32
	step := 0
	if r.DX != nil {
		dx, step = &r.DX[i*r.LdDX], 4*r.LdDX
	}
	rowNorms.gradient(
		dx, &r.X[i*r.LdX], &r.DY[i*r.LdDY], &r.Weight[0], &r.WeightGrad[0], &r.BiasGrad[0], &r.Mean[i], &r.Scale[i],
		r.N/Width, rows, 4*r.LdX, 4*r.LdDY, step, float64(r.N), oneIf(r.Center),
	)
}
