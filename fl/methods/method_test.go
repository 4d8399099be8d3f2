package methods

import (
	"math"
	"testing"

	"github.com/fedfast/fedfast/fl"
	"github.com/fedfast/fedfast/fl/hyper"
	"github.com/fedfast/fedfast/internal/test/fltest"
	"github.com/fedfast/fedfast/kernels"
	"github.com/fedfast/fedfast/nn"
)

// referenceLocal is local SGD by METHODS' equations in float64 on top of the
// model's own gradients: d = grad + mu (w_k - w) + wd w_k, buf = d at first and
// then m buf + d, w_k -= lr buf, or lr (d + m buf) by Nesterov; grad + mu (w_k - w)
// has at most the norm client.clip_norm, if that is not 0. Or it is AdamW. It sees
// one batch of all examples a step.
func referenceLocal(ws *nn.Workspace, b *nn.Batch, broadcast []float32, p fl.ClientParams, steps int) []float64 {
	at := make([]float64, len(broadcast))
	buf, second := make([]float64, len(broadcast)), make([]float64, len(broadcast))
	for i, x := range broadcast {
		at[i] = float64(x)
	}
	cur := make([]float32, len(broadcast))
	for k := range steps {
		for i := range cur {
			cur[i] = float32(at[i])
		}
		ws.Gradient(cur, b, nn.TrainOpts{})
		share, square := 1.0, 0.0
		for i, g := range ws.Grad() {
			square += math.Pow(float64(g)+p.Mu*(at[i]-float64(broadcast[i])), 2)
		}
		if p.ClipNorm > 0 {
			share = min(1, p.ClipNorm/math.Sqrt(square))
		}
		for i, g := range ws.Grad() {
			d := share * (float64(g) + p.Mu*(at[i]-float64(broadcast[i])))
			if p.Optimizer == "adamw" {
				buf[i] = p.Beta1*buf[i] + (1-p.Beta1)*d
				second[i] = p.Beta2*second[i] + (1-p.Beta2)*d*d
				first, root := buf[i]/(1-math.Pow(p.Beta1, float64(k+1))), math.Sqrt(second[i]/(1-math.Pow(p.Beta2, float64(k+1))))
				at[i] -= p.LR * (first/(root+p.Eps) + p.WeightDecay*at[i])
				continue
			}
			d += p.WeightDecay * at[i]
			if k == 0 {
				buf[i] = d
			} else {
				buf[i] = p.Momentum*buf[i] + d
			}
			if p.Nesterov {
				d += p.Momentum * buf[i]
			} else {
				d = buf[i]
			}
			at[i] -= p.LR * d
		}
	}
	return at
}

// TestLocalSGDAgainstEquations trains one client with every term of local SGD
// switched on and compares the change of the weights with the reference.
func TestLocalSGDAgainstEquations(t *testing.T) {
	fed := fltest.OpenGlyphs(t, 3, 30)
	model := fltest.SmallCNN(t, fed)
	e := newEngine(t, fl.Config{Model: model, Data: fed, Method: fedProx(), Cohort: 1, Seed: 9})
	const steps = 4
	momentum := begun(fl.ClientParams{
		LR: 0.05, Momentum: 0.9, WeightDecay: 0.01, Mu: 0.3,
		Steps: steps, Batch: 1000, Dropout: 0,
	})
	nesterov, clipped := momentum, momentum
	nesterov.Nesterov, clipped.ClipNorm = true, 0.5
	adamw := clipped
	adamw.Optimizer, adamw.Momentum, adamw.Eps = "adamw", 0, 1e-3
	for _, p := range []fl.ClientParams{momentum, nesterov, clipped, adamw} {
		tr := e.NewTrial(0)
		broadcast := append([]float32(nil), tr.Weights()...)
		// One batch holds all examples, so that the order of shuffling matters
		// only to the last bits of the gradient.
		r, err := tr.Round(t.Context(), fl.Plan{Server: hyper.DefaultServer(), Clients: []fl.ClientParams{p}})
		if err != nil {
			t.Fatal(err)
		}
		want := referenceLocal(model.NewWorkspace(),
			fltest.Batch(t, model, fed.Clients[r.Slots[0].Client].Train), broadcast, p, steps)
		var diff, norm float64
		for i, x := range tr.Weights() {
			diff += math.Pow(float64(x)-want[i], 2)
			norm += math.Pow(want[i]-float64(broadcast[i]), 2)
		}
		if rel := math.Sqrt(diff / norm); rel > 1e-4 {
			t.Errorf("%+v: the change of the weights differs from the equations by %.2g of its norm", p, rel)
		}
		if got := r.Slots[0].DeltaNorm; math.Abs(got-math.Sqrt(norm)) > 1e-3*got {
			t.Errorf("%+v: delta norm %v, want %v", p, got, math.Sqrt(norm))
		}
	}
}

// TestServerStepsByHand works the update equations of each server out in
// float64 for three rounds of given pseudo-gradients.
func TestServerStepsByHand(t *testing.T) {
	grads := [][]float32{{1, -2, 0.5}, {0.25, 1, -1}, {-3, 0, 2}}
	start := []float32{0.5, 1, -1}
	tests := []struct {
		method fl.Method
		params fl.ServerParams
	}{
		{FedAvg(), fl.ServerParams{LR: 1, Decay: 1, Weighted: true}},
		{fedProx(), fl.ServerParams{LR: 1, Decay: 1, Weighted: true}},
		{fedAvgM(), fl.ServerParams{LR: 0.3, Momentum: 0.9, Decay: 1, Weighted: true}},
		{Reptile(), fl.ServerParams{LR: 0.3, Momentum: 0.9, Decay: 0.97, Weighted: true}},
	}
	for _, tt := range tests {
		t.Run(tt.method.Name, func(t *testing.T) {
			// The kernels take whole blocks of 16 lanes.
			w := make([]float32, kernels.Width)
			copy(w, start)
			s := tt.method.NewServer(len(w))
			want := []float64{0.5, 1, -1}
			v := make([]float64, 3)
			for round, g := range grads {
				padded := make([]float32, len(w))
				copy(padded, g)
				s.Step(w, &fl.Update{Mean: padded, Round: round}, tt.params)
				for i := range want {
					v[i] = tt.params.Momentum*v[i] + float64(g[i])
					want[i] -= tt.params.LR * math.Pow(tt.params.Decay, float64(round)) * v[i]
				}
			}
			for i := range want {
				if math.Abs(float64(w[i])-want[i]) > 1e-6 {
					t.Errorf("weight %d is %v, want %v", i, w[i], want[i])
				}
			}
		})
	}
}
