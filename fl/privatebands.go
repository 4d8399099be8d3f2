package fl

import (
	"math"

	"github.com/fedfast/fedfast/kernels"
)

// defaultBands is how many bands BandedNoise has at most, unless Privacy.Bands says otherwise.
const defaultBands = 16

// bandColumn returns a column of the matrix of BandedNoise, from the diagonal down: the first
// coefficients of the square root of the matrix of prefix sums, binom(2k, k)/4^k, scaled to
// the norm 1 (Choquette-Choo et al. 2023, arXiv 2306.08153; Kalinin and Lampert 2024, arXiv
// 2405.13763). bands is 1 or more.
func bandColumn(bands int) []float64 {
	c := make([]float64, bands)
	c[0] = 1
	squares := 1.0
	for k := 1; k < bands; k++ {
		c[k] = c[k-1] * float64(2*k-1) / float64(2*k)
		squares += float64(c[k] * c[k])
	}
	for k := range c {
		c[k] /= math.Sqrt(squares)
	}
	return c
}

// bands returns how many bands the noise of BandedNoise has: so few that no client takes part
// twice within as many rounds.
func (c *Config) bands() int {
	if c.Privacy.Bands > 0 {
		return c.Privacy.Bands
	}
	return min(defaultBands, separation(len(c.Data.Clients), c.Cohort))
}

// separation returns the least number of rounds from one participation of a client to its next
// one where all take turns.
func separation(clients, cohort int) int { return clients / cohort }

// bandedNoise is the noise that a trial has added to its last rounds, in the packed layout and
// for a deviation of 1: round r's is in rows[r%len(rows)]. It is computed again from the keys
// of all rounds where a trial is restored, so that no snapshot has it.
type bandedNoise struct {
	rows  [][]float32
	round int // the next one
}

// addBanded adds the noise of a round of BandedNoise to a sum: the next row of the solution w
// of C w = z, where C is the banded matrix, with bandColumn in each column, and z independent
// noise. So C times what the rounds release is what they sum plus z, and as no client takes
// part twice within the bands, a participation moves that by at most the clipping norm,
// independently of the others.
func (t *Trial) addBanded(sum []float32, deviation float64) error {
	if deviation == 0 {
		return nil
	}
	e := t.engine
	column := bandColumn(e.cfg.bands())
	n := &t.banded
	if n.rows == nil || n.round > t.round {
		n.round, n.rows = 0, make([][]float32, max(1, len(column)-1))
		for i := range n.rows {
			n.rows[i] = make([]float32, len(sum))
		}
	}
	for ; n.round <= t.round; n.round++ {
		row := n.rows[n.round%len(n.rows)]
		if len(column) == 1 {
			clear(row)
		}
		// The row has the noise of the round from which the last band comes.
		err := e.pool.run((len(row)+noiseBlock-1)/noiseBlock, func(i int, _ *worker) error {
			lo, hi := i*noiseBlock, min((i+1)*noiseBlock, len(row))
			for k := len(column) - 1; k > 0; k-- {
				factor := float32(-column[k] / column[0])
				if k == len(column)-1 {
					kernels.Scale(row[lo:hi], factor)
				} else if k <= n.round {
					kernels.Axpy(row[lo:hi], factor, n.rows[(n.round-k)%len(n.rows)][lo:hi])
				}
			}
			return nil
		})
		if err != nil {
			return err
		}
		key := kernels.Key(e.cfg.Seed, uint64(t.number), uint64(n.round), purposeNoise)
		if err := addNoise(e, row, noiseOf{kernels.Key(key, sumNoise), 1 / column[0]}); err != nil {
			return err
		}
	}
	kernels.Axpy(sum, float32(deviation), n.rows[t.round%len(n.rows)])
	return nil
}
