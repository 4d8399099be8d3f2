package methods

import (
	"math"
	"testing"

	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat"

	"github.com/fedfast/fedfast/kernels"
)

// newPosterior has memory of its own.
func newPosterior(rho float64, size int) *posterior {
	var vectors [][]float32
	return &posterior{rho: rho, borrow: func(i int) []float32 {
		for len(vectors) <= i {
			vectors = append(vectors, make([]float32, size))
		}
		return vectors[i]
	}}
}

// TestPosteriorAgainstDenseInverse forms S and inverts it.
func TestPosteriorAgainstDenseInverse(t *testing.T) {
	const d = 16
	for _, rho := range []float64{0, 0.01, 0.3, 1} {
		stream := kernels.NewStream(5, 0)
		vector := func() []float32 {
			x := make([]float32, d)
			for i := range x {
				x[i] = float32(stream.NormFloat64())
			}
			return x
		}
		w := vector()
		p := newPosterior(rho, d)
		samples := mat.NewDense(12, d, nil)
		for l := 1; l <= 12; l++ {
			x := vector()
			for i, v := range x {
				samples.Set(l-1, i, float64(v))
			}
			p.add(x)
			seen := samples.Slice(0, l, 0, d)
			s := mat.NewSymDense(d, nil)
			if l > 1 {
				stat.CovarianceMatrix(s, seen, nil)
			}
			rhoL := 1 / (1 + float64(l-1)*rho)
			right := mat.NewVecDense(d, nil)
			for i := range d {
				for j := i; j < d; j++ {
					v := (1 - rhoL) * s.At(i, j)
					if i == j {
						v += rhoL
					}
					s.SetSym(i, j, v)
				}
				right.SetVec(i, float64(w[i])-stat.Mean(mat.Col(nil, i, seen), nil))
			}
			var want mat.VecDense
			if err := want.SolveVec(s, right); err != nil {
				t.Fatal(err)
			}
			got := append([]float32(nil), w...)
			p.delta(got)
			for i := range d {
				if math.Abs(float64(got[i])-want.AtVec(i)) > 1e-4*(1+mat.Norm(&want, 2)) {
					t.Fatalf("rho %v, %d samples: delta[%d] is %v, want %v", rho, l, i, got[i], want.AtVec(i))
				}
			}
		}
	}
}

// TestPosteriorOfGaussianClients gives two clients samples whose mean and unbiased
// covariance are the moments of their Gaussian posteriors. Then the deltas are
// Sigma_i^-1 (w - mu_i) up to the shrinkage, and lead from w to the mode of the
// product of the posteriors, which FedAvg's mean misses.
func TestPosteriorOfGaussianClients(t *testing.T) {
	const d, repeats, l = 16, 20, 2 * 16 * 20
	var deltas [2][]float32
	mu := [2]float64{2, -1}
	sigma := [2]func(i int) float64{
		func(i int) float64 { return 0.5 + float64(i%2) }, // variances
		func(i int) float64 { return 1.5 - float64(i%2) },
	}
	for c := range deltas {
		p := newPosterior(1, d)
		x := make([]float32, d)
		for range repeats {
			for i := range d {
				for _, side := range []float64{1, -1} {
					for j := range x {
						x[j] = float32(mu[c])
					}
					x[i] += float32(side * math.Sqrt(sigma[c](i)*(l-1)/(2*repeats)))
					p.add(x)
				}
			}
		}
		deltas[c] = make([]float32, d) // w = 0
		p.delta(deltas[c])
		for i, got := range deltas[c] {
			if want := -mu[c] / sigma[c](i); math.Abs(float64(got)-want) > 0.01*math.Abs(want) {
				t.Errorf("client %d: delta[%d] is %v, want %v", c, i, got, want)
			}
		}
	}
	for i := range d {
		a, b := 1/sigma[0](i), 1/sigma[1](i)
		mode, mean := (a*mu[0]+b*mu[1])/(a+b), (mu[0]+mu[1])/2
		step := -(float64(deltas[0][i]) + float64(deltas[1][i])) / (a + b) // Newton's, from 0
		if math.Abs(step-mode) > 0.02 || math.Abs(mode-mean) < 0.5 {
			t.Errorf("coordinate %d: the deltas lead to %v, the mode is %v, FedAvg's mean %v", i, step, mode, mean)
		}
	}
}
