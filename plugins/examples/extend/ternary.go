package main

import (
	"github.com/fedfast/fedfast/fl"
	"github.com/fedfast/fedfast/kernels"
)

func init() {
	must(fl.RegisterTransform(fl.Transform{
		Name: "ternary", Stage: fl.StageQuantize,
		Doc:    "each value becomes 0 or, by a draw with the right mean, the norm of the update with its sign (Wen et al. 2017)",
		Shrink: func(w *fl.Wire, _ *fl.Updates) { w.Bits, w.Extra = 2, w.Extra+32 },
		Apply:  ternary,
	}))
	must(fl.RegisterAggregator(fl.Aggregator{
		Name: "midrange", Doc: "the middle between the least and the largest value of each coordinate", Combine: midrange,
	}))
}

// ternary quantizes the values that a client sends.
func ternary(u *fl.Upload) {
	norm, draws := float32(kernels.Norm(u.Values)), u.Draws()
	for i, x := range u.Values {
		switch chance := draws.Float32() * norm; {
		case x > chance:
			u.Values[i] = norm
		case -x > chance:
			u.Values[i] = -norm
		default:
			u.Values[i] = 0
		}
	}
}

// midrange combines the updates of a round.
func midrange(h *fl.Held) {
	h.Each(func(lo, hi int) {
		for j := lo; j < hi; j++ {
			least, most := h.Updates[0][j], h.Updates[0][j]
			for _, u := range h.Updates {
				least, most = min(least, u[j]), max(most, u[j])
			}
			h.Out[j] = (least + most) / 2
		}
	})
}
