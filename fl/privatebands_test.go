package fl

import (
	"math"
	"slices"
	"testing"

	"github.com/fedfast/fedfast/internal/test/fltest"
)

// rootColumn returns a column of the matrix of n rounds as it is defined: that of the square
// root of the lower triangular matrix of ones, whose coefficients are binom(2k, k)/4^k, with
// all beyond the bands left out, over its norm.
func rootColumn(bands, n int) []float64 {
	c := make([]float64, n)
	squares := 0.0
	for k := range min(bands, n) {
		lg2, _ := math.Lgamma(float64(2*k + 1))
		lg, _ := math.Lgamma(float64(k + 1))
		c[k] = math.Exp(lg2 - 2*lg - float64(k)*math.Log(4))
	}
	for k := range bands {
		lg2, _ := math.Lgamma(float64(2*k + 1))
		lg, _ := math.Lgamma(float64(k + 1))
		squares += math.Exp(2 * (lg2 - 2*lg - float64(k)*math.Log(4)))
	}
	for k := range c {
		c[k] /= math.Sqrt(squares)
	}
	return c
}

// TestBandColumn has the square of the whole matrix be that of prefix sums, but for the norm.
func TestBandColumn(t *testing.T) {
	t.Parallel()
	const n = 40
	c := bandColumn(n)
	for k := range n {
		square := 0.0
		for i := range k + 1 {
			square += c[i] / c[0] * c[k-i] / c[0]
		}
		if math.Abs(square-1) > 1e-12 || math.Abs(c[k]-rootColumn(n, n)[k]) > 1e-12 {
			t.Errorf("coefficient %d is %v, that of the square %v, want %v and 1", k, c[k], square, rootColumn(n, n)[k])
		}
	}
}

// TestBandedNoise multiplies the noise of all rounds by the matrix: what comes out is
// independent normal noise, so that what was released is what the account is of. A client that
// takes part as often as it can moves it by the root of its participations, and the sums of the
// rounds have less noise than with independent noise of the same account.
func TestBandedNoise(t *testing.T) {
	t.Parallel()
	all := fltest.OpenGlyphs(t, 40, 30)
	fed := *all
	fed.Clients = all.Clients[:22]
	var got []float32
	const clip, noise, cohort, rounds = 0.5, 3, 4, 13
	for _, bands := range []int{0, 1, 3} {
		cfg := Config{
			Model: fltest.SmallTransformer(t, &fed), Data: &fed, Method: silent(&got), Cohort: cohort, Shuffle: true, Seed: 2,
			Privacy: &Privacy{Mechanism: BandedNoise, Clip: clip, Noise: noise, Bands: bands},
		}
		e := newEngine(t, cfg)
		tr, places := e.NewTrial(3), e.places()
		var released [][]float64
		last := map[int]int{}
		var taken [rounds]bool // rounds of client 5
		for round := range rounds {
			for _, client := range e.Cohort(3, round) {
				if before, ok := last[client]; ok && round-before < 22/cohort {
					t.Fatalf("client %d takes part in the rounds %d and %d", client, before, round)
				}
				last[client] = round
				taken[round] = taken[round] || client == 5
			}
			runRounds(t, tr, Plan{}, 1)
			row := make([]float64, len(places))
			for i, at := range places {
				row[i] = float64(got[at]) * cohort
			}
			released = append(released, row)
		}
		if bands == 0 {
			bands = 22 / cohort
		}
		column := rootColumn(bands, rounds)
		var before []float64
		moved, participations := 0.0, 0
		for round := range rounds {
			z, by := make([]float64, len(places)), 0.0
			for from := range round + 1 {
				c := column[round-from]
				for i, x := range released[from] {
					z[i] += c * x
				}
				if taken[from] {
					by += c
				}
			}
			moved += by * by
			if taken[round] {
				participations++
			}
			if d := distance(slices.Clone(z), clip*noise); d > 1 {
				t.Errorf("%d bands, round %d: the noise is not that of its matrix: %v times the distance", bands, round, d)
			}
			if before != nil {
				if c := correlation(z, before); math.Abs(c) > 5 {
					t.Errorf("%d bands, rounds %d and %d have a correlation of %v", bands, round-1, round, c)
				}
			}
			before = z
		}
		if participations < 2 || moved > float64(participations)+1e-9 {
			t.Errorf("%d bands: a client moves the rounds by the root of %v in %d participations", bands, moved, participations)
		}
		sum, squares := make([]float64, len(places)), 0.0
		for _, row := range released {
			for i, x := range row {
				sum[i] += x
			}
		}
		for _, x := range sum {
			squares += x * x / (clip * clip * noise * noise)
		}
		// The variance of the last sum: that of the last row of the prefix sums times the
		// inverse of the matrix, whose column is found by forward substitution.
		inverse, want, prefix := make([]float64, rounds), 0.0, 0.0
		for k := range inverse {
			if k == 0 {
				inverse[0] = 1 / column[0]
			}
			for i := 1; i <= k; i++ {
				inverse[k] -= column[i] * inverse[k-i] / column[0]
			}
			prefix += inverse[k]
			want += prefix * prefix
		}
		if variance := squares / float64(len(places)); math.Abs(variance/want-1) > 5*math.Sqrt(2/float64(len(places))) ||
			bands > 1 && want > 0.8*rounds {
			t.Errorf("%d bands: the sum of all rounds has the variance %v, want %v", bands, variance, want)
		}
	}
}
