// Package sobol is the tuner with which `fedfast table record` trains: the points of a
// scrambled Sobol sequence, which fill the space evenly, each trained to the end. They
// depend on neither the seed nor the results, so that all sets and seeds have the same.
package sobol

import (
	"math"
	"math/bits"

	"github.com/fedfast/fedfast/internal/tuner/internal/batch"
	"github.com/fedfast/fedfast/internal/tuner/internal/options"
	"github.com/fedfast/fedfast/kernels/det"
	"github.com/fedfast/fedfast/tuners"
)

// Name is the name of the tuner.
const Name = "sobol"

// Tuner trains floor(T/M) points (T = budget.rounds, M = budget.trial_rounds).
var Tuner = options.Tuner[uint64]{About: options.About("sobol"), Plan: key, Study: open}

// key reads the option scramble, and checks the budget and that the sequence has the
// dimensions.
func key(r *options.Reader, req tuners.ValidateRequest) uint64 {
	if n := len(req.Space); n > MostDims {
		r.Problem("space", "%d dimensions: the Sobol sequence here has at most %d", n, MostDims)
	}
	if b := req.Budget; b.TrialRounds < 1 || b.Rounds < b.TrialRounds {
		r.Problem("budget.rounds", "%d rounds, %d per trial, train nothing", b.Rounds, b.TrialRounds)
	}
	return uint64(r.Whole("scramble", math.MinInt32, math.MaxInt32))
}

func open(req tuners.OpenRequest, key uint64) (tuners.Session, error) {
	return batch.Open(Name, req, req.Budget.Rounds/req.Budget.TrialRounds, func(trial int) tuners.Params {
		return Point(req.Space, key, trial)
	})
}

// Point is the point of a number in a space of at most MostDims dimensions.
func Point(space tuners.Space, key uint64, number int) tuners.Params {
	p := make(tuners.Params, len(space))
	for i, d := range space {
		p[d.Name] = d.Sample(Unit(key, uint32(number), i))
	}
	return space.Active(p)
}

// MostDims is how many dimensions have directions.
const MostDims = 21

// directions are the primitive polynomials, by degree and coefficients, and the first
// numbers of all dimensions but the first (Joe and Kuo 2008, new-joe-kuo-6.21201).
var directions = [MostDims - 1]struct {
	degree, poly uint
	first        []uint32
}{
	{1, 0, []uint32{1}},
	{2, 1, []uint32{1, 3}},
	{3, 1, []uint32{1, 3, 1}},
	{3, 2, []uint32{1, 1, 1}},
	{4, 1, []uint32{1, 1, 3, 3}},
	{4, 4, []uint32{1, 3, 5, 13}},
	{5, 2, []uint32{1, 1, 5, 5, 17}},
	{5, 4, []uint32{1, 1, 5, 5, 5}},
	{5, 7, []uint32{1, 1, 7, 11, 19}},
	{5, 11, []uint32{1, 1, 5, 1, 1}},
	{5, 13, []uint32{1, 1, 1, 3, 11}},
	{5, 14, []uint32{1, 3, 5, 5, 31}},
	{6, 1, []uint32{1, 3, 3, 9, 7, 49}},
	{6, 13, []uint32{1, 1, 1, 15, 21, 21}},
	{6, 16, []uint32{1, 3, 1, 13, 27, 49}},
	{6, 19, []uint32{1, 1, 1, 15, 7, 5}},
	{6, 22, []uint32{1, 3, 1, 15, 13, 25}},
	{6, 25, []uint32{1, 1, 5, 5, 19, 61}},
	{7, 1, []uint32{1, 3, 7, 11, 23, 15, 103}},
	{7, 4, []uint32{1, 3, 7, 13, 13, 15, 69}},
}

// point returns coordinate dim of the point of a number of the sequence, in 32 bits.
func point(number uint32, dim int) uint32 {
	var v [32]uint32
	if dim == 0 {
		return bits.Reverse32(number)
	}
	d := directions[dim-1]
	for i := range v {
		if uint(i) < d.degree {
			v[i] = d.first[i] << (31 - i)
			continue
		}
		back := v[uint(i)-d.degree]
		v[i] = back ^ back>>d.degree
		for k := uint(1); k < d.degree; k++ {
			if d.poly>>(d.degree-1-k)&1 == 1 {
				v[i] ^= v[uint(i)-k]
			}
		}
	}
	x := uint32(0)
	for i := range v {
		if number>>i&1 == 1 {
			x ^= v[i]
		}
	}
	return x
}

// scrambled is Owen's nested uniform scrambling: each bit is flipped or not by a draw that
// belongs to the bits above it.
func scrambled(x uint32, key uint64, dim int) uint32 {
	out := uint32(0)
	for b := range 32 {
		above := uint64(0)
		if b > 0 {
			above = uint64(x >> (32 - b))
		}
		flip := uint32(det.Mix(det.Mix(det.Mix(key)^uint64(dim))^(uint64(b)<<32|above)) >> 63)
		out |= (x>>(31-b)&1 ^ flip) << (31 - b)
	}
	return out
}

// Unit returns coordinate dim, below MostDims, of a point of the sequence that a key
// scrambles, in [0, 1).
func Unit(key uint64, number uint32, dim int) float64 {
	return float64(scrambled(point(number, dim), key, dim)) / (1 << 32)
}
