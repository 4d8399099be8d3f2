package tuners

import (
	"crypto/sha256"
	"encoding/binary"
	"math/rand/v2"

	"github.com/fedfast/fedfast/kernels/det"
)

// Draws is a short sequence of pseudo-random numbers for one purpose. The same key
// gives the same sequence on every machine.
type Draws struct{ pcg *rand.PCG }

// NewDraws returns the draws of one purpose in one round of one trial. Use
// StudySession as the trial, and any fixed round, for draws that belong to the
// study, and a name of your own as the purpose: equal keys repeat the same numbers.
func NewDraws(seed uint64, trial, round int, purpose string) *Draws {
	key := make([]byte, 0, 24+len(purpose))
	key = binary.LittleEndian.AppendUint64(key, seed)
	key = binary.LittleEndian.AppendUint64(key, uint64(int64(trial)))
	key = binary.LittleEndian.AppendUint64(key, uint64(int64(round)))
	key = append(key, purpose...)
	sum := sha256.Sum256(key)
	return &Draws{pcg: rand.NewPCG(binary.LittleEndian.Uint64(sum[:]), binary.LittleEndian.Uint64(sum[8:]))}
}

// Uint64 returns 64 random bits.
func (d *Draws) Uint64() uint64 { return d.pcg.Uint64() }

// Float64 returns a number from [0, 1) with 53 random bits.
func (d *Draws) Float64() float64 { return det.Unit(d.pcg.Uint64()) }

// IntN returns an unbiased integer from [0, n). It panics when n < 1.
func (d *Draws) IntN(n int) int {
	if n < 1 {
		panic("tuners: Draws.IntN requires n >= 1")
	}
	for {
		if i, ok := det.Below(d.pcg.Uint64(), uint64(n)); ok {
			return int(i)
		}
	}
}

// Pick returns index i with probability weights[i] / sum(weights). Weights are not
// negative and their sum is positive.
func (d *Draws) Pick(weights []float64) int {
	sum := 0.0
	for _, w := range weights {
		sum += w
	}
	at := float64(d.Float64() * sum)
	last := 0
	for i, w := range weights {
		if w <= 0 {
			continue
		}
		if last = i; at < w {
			return i
		}
		at -= w
	}
	return last
}

// Perm returns 0..n-1 in random order.
func (d *Draws) Perm(n int) []int {
	p := make([]int, n)
	for i := range p {
		j := d.IntN(i + 1)
		p[i], p[j] = p[j], i
	}
	return p
}
