package methods

import (
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/fedfast/fedfast/fl"
	"github.com/fedfast/fedfast/internal/test/fltest"
	"github.com/fedfast/fedfast/nn"
)

// TestScoresOfSubnets compares what an engine measures of sub-networks, with no training
// of their own, with networks that were cut out of the tensors in their usual layout.
func TestScoresOfSubnets(t *testing.T) {
	fed := fltest.OpenGlyphs(t, 12, 30)
	model := fltest.SmallSupernet(t, fed)
	one := newEngine(t, fl.Config{Model: model, Data: fed, Method: supernet(), Cohort: 4, Seed: 2, Workers: 1})
	four := newEngine(t, fl.Config{Model: model, Data: fed, Method: supernet(), Cohort: 4, Seed: 2, Workers: 4})
	tr := one.NewTrial(0)
	plan := defaultPlan(supernet())
	runRounds(t, tr, plan, 3)
	weights := slices.Clone(tr.Weights())
	whole := map[string]nn.Tensor{}
	for _, tensor := range model.Export(weights) {
		whole[tensor.Name] = tensor
	}
	var seen []float64
	for _, pick := range [][3]int{{0, 3, 6}, {1, 3, 8}, {0, 5, 6}, {1, 5, 8}} {
		c := picked(plan.Clients[0], pick[0], pick[1], pick[2])
		got, err := one.Validate(t.Context(), weights, fl.EvalConfig{Arch: c.Arch})
		if err != nil {
			t.Fatal(err)
		}
		again, err := four.Validate(t.Context(), weights, fl.EvalConfig{Arch: c.Arch})
		if err != nil || again.Error != got.Error || again.Loss != got.Loss {
			t.Errorf("%s: 4 workers measure %+v (%v), one %+v", c.Arch, again, err, got)
		}
		sub, err := model.Sub(c.Pick())
		if err != nil {
			t.Fatal(err)
		}
		at := sub.NewParams()
		cut := sub.Export(at)
		for i := range cut {
			from := whole[cut[i].Name]
			eachCentred(cut[i].Shape, from.Shape, func(small, large int) { cut[i].Data[small] = from.Data[large] })
		}
		if err := sub.Import(at, cut); err != nil {
			t.Fatal(err)
		}
		ws, loss, n := sub.NewWorkspace(), 0.0, 0
		for i := range fed.Clients {
			if val := fed.Clients[i].Val; val.Len() > 0 {
				r := ws.Evaluate(at, fltest.Batch(t, sub, val))
				loss, n = loss+r.Loss, n+r.Count
			}
		}
		if want := loss / float64(n); math.Abs(got.Loss-want) > 1e-5 || got.Examples != n {
			t.Errorf("%s: a loss of %v over %d examples, want %v over %d", c.Arch, got.Loss, got.Examples, want, n)
		}
		if slices.Contains(seen, got.Loss) {
			t.Errorf("%s: the loss %v of another one", c.Arch, got.Loss)
		}
		seen = append(seen, got.Loss)
		net, err := one.Subnet(c)
		if err != nil {
			t.Fatal(err)
		}
		forward, _ := sub.FLOPs()
		if flops, params := net.Cost(); flops != float64(forward) || params != float64(sub.NumParams()) {
			t.Errorf("%s costs %v operations with %v parameters, want %d and %d", c.Arch, flops,
				params, forward, sub.NumParams())
		}
	}
	if plain, err := one.Validate(t.Context(), weights, fl.EvalConfig{}); err != nil || plain.Loss != seen[3] {
		t.Errorf("the whole network has a loss of %v (%v), the pick of everything %v", plain, err, seen[3])
	}
	if _, err := one.Validate(t.Context(), weights, fl.EvalConfig{Arch: "width=7"}); err == nil ||
		!strings.Contains(err.Error(), "width = 7; it must be among [6 8]") {
		t.Errorf("an unknown pick: error %v", err)
	}
	if _, err := newEngine(t, fl.Config{Model: model, Data: fed, Method: FedAvg(), Cohort: 4}).Validate(t.Context(),
		weights, fl.EvalConfig{Arch: "width=6"}); err == nil || !strings.Contains(err.Error(), "trains the whole network") {
		t.Errorf("FedAvg has no sub-networks: error %v", err)
	}
}

// eachCentred visits the common indices of two tensors, the smaller of which has the
// first channels and the middle of a kernel.
func eachCentred(small, large []int, f func(small, large int)) {
	var visit func(d, a, b int)
	visit = func(d, a, b int) {
		if d == len(small) {
			f(a, b)
			return
		}
		for k := range small[d] {
			at := k
			if d >= 2 {
				at += (large[d] - small[d]) / 2
			}
			visit(d+1, a*small[d]+k, b*large[d]+at)
		}
	}
	visit(0, 0, 0)
}
