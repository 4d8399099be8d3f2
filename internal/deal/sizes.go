package deal

import (
	"cmp"
	"math"
	"slices"

	"github.com/fedfast/fedfast/internal/draw"
	"github.com/fedfast/fedfast/internal/list"
	"github.com/fedfast/fedfast/kernels/det"
)

// Even returns sizes of clients that differ by at most one and sum to total.
func Even(clients, total int) []int {
	return list.Made(clients, func(i int) int { return (i+1)*total/clients - i*total/clients })
}

// LogNormal returns sizes of clients that sum to total and are log-normal: in
// proportion to exp(sigma z), z standard normal. None is below least, which
// takes from the larger ones. clients*least must not exceed total.
func LogNormal(clients, total, least int, sigma float64, key uint64) []int {
	weights, normal := make([]float64, clients), draw.New(key, purposeSize)
	for i := range weights {
		weights[i] = det.Exp(float64(sigma * normal.Normal()))
	}
	return share(weights, total, least)
}

// PowerLaw returns sizes of clients that sum to total and follow a power law:
// in proportion to r^-exponent, the ranks r = 1, 2, ... going to clients at
// random. None is below least, which takes from the larger ones. clients*least
// must not exceed total.
func PowerLaw(clients, total, least int, exponent float64, key uint64) []int {
	ranks := list.Made(clients, func(i int) int32 { return int32(i + 1) })
	draw.New(key, purposeSize).Shuffle(ranks)
	weights := list.Of(ranks, func(r int32) float64 { return det.Exp(float64(-exponent * det.Log(float64(r)))) })
	return share(weights, total, least)
}

// share splits total in proportion to the weights, none of which is below 0 and
// one of which is above. Parts below least are raised to it first; the others
// are rounded by the largest remainder, of equal ones the first.
func share(weights []float64, total, least int) []int {
	if len(weights)*least > total {
		panic("partition: less to share than all must have at least")
	}
	parts := make([]int, len(weights))
	open := make([]int, len(weights)) // those not raised
	for i := range open {
		open[i] = i
	}
	var part func(i int) float64
	for raised := true; raised; {
		var sum float64
		for _, i := range open {
			sum += weights[i]
		}
		rest := float64(total)
		part = func(i int) float64 { return float64(weights[i] / sum * rest) }
		low := func(i int) bool { return part(i) < float64(least) }
		n := len(open)
		for _, i := range open {
			if low(i) {
				parts[i] = least
				total -= least
			}
		}
		open = slices.DeleteFunc(open, low)
		raised = len(open) < n && len(open) > 0
	}
	remainders := make([]float64, len(weights))
	for _, i := range open {
		whole := math.Floor(part(i))
		parts[i], remainders[i] = int(whole), part(i)-whole
		total -= parts[i]
	}
	slices.SortStableFunc(open, func(i, j int) int { return cmp.Compare(remainders[j], remainders[i]) })
	for _, i := range open[:min(total, len(open))] {
		parts[i]++
	}
	return parts
}
