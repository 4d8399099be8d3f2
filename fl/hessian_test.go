package fl

import (
	"math"
	"testing"

	"github.com/fedfast/fedfast/internal/test/fltest"
	"github.com/fedfast/fedfast/kernels"
	"github.com/fedfast/fedfast/nn"
	"github.com/fedfast/fedfast/nn/models"
)

// TestHessianOfLogisticRegression compares with the analytic product: for softmax
// outputs p of an example x and a direction (Q, r) of weights and biases,
// dz = Q x + r, H q = sum ((diag(p) - p p^T) dz) (x, 1) / n.
func TestHessianOfLogisticRegression(t *testing.T) {
	fed := fltest.OpenGlyphs(t, 12, 30)
	model, err := models.New("logistic", models.Options{
		Classes: fed.Classes,
		Input:   nn.Shape{H: fed.H, W: fed.W, C: fed.C},
	})
	if err != nil {
		t.Fatal(err)
	}
	e := newEngine(t, Config{Method: average(), Model: model, Data: fed, Cohort: 1, Seed: 1})
	w, q, dst := model.NewParams(), model.NewParams(), model.NewParams()
	model.Init(w, 1)
	model.Init(q, 2)
	kernels.Scale(q, 20)
	wk := &worker{ws: model.NewWorkspace(), inputs: inputSize(model.Input()), labels: 1}
	l := &Local{worker: wk, engine: e}
	b, err := wk.fill(fed.Clients[0].Train, []int32{0, 1, 2, 3, 4, 5}, nil)
	if err != nil {
		t.Fatal(err)
	}
	l.Hessian(dst, w, q, b, ClientParams{}, 0)

	dir, at, got := model.Export(q), model.Export(w), model.Export(dst)
	classes, inputs := fed.Classes, wk.inputs
	want := [2][]float64{make([]float64, classes*inputs), make([]float64, classes)}
	for n := range b.N {
		x := make([]float64, inputs) // in PyTorch's order: channel, row, column
		for c := range fed.C {
			for p := range fed.H * fed.W {
				x[c*fed.H*fed.W+p] = float64(b.X[n*inputs+p*fed.C+c])
			}
		}
		line := func(ts []nn.Tensor, k int) float64 {
			z := float64(ts[1].Data[k])
			for i, v := range x {
				z += float64(ts[0].Data[k*inputs+i]) * v
			}
			return z
		}
		p, dz := make([]float64, classes), make([]float64, classes)
		var sum, mean float64
		for k := range p {
			p[k], dz[k] = math.Exp(line(at, k)), line(dir, k)
			sum += p[k]
		}
		for k := range p {
			p[k] /= sum
			mean += p[k] * dz[k]
		}
		for k := range p {
			h := p[k] * (dz[k] - mean) / float64(b.N)
			want[1][k] += h
			for i, v := range x {
				want[0][k*inputs+i] += h * v
			}
		}
	}
	for i := range want {
		var diff, norm float64
		for j, x := range want[i] {
			diff += math.Pow(float64(got[i].Data[j])-x, 2)
			norm += x * x
		}
		if rel := math.Sqrt(diff / norm); rel > 1e-3 {
			t.Errorf("%s: the product is %.2g of its length away from the analytic one", got[i].Name, rel)
		}
	}
	// A direction without length has the product 0.
	clear(q)
	l.Hessian(dst, w, q, b, ClientParams{}, 0)
	if kernels.Norm(dst) != 0 {
		t.Error("H 0 is not 0")
	}
}
