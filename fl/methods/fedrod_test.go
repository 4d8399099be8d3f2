package methods

import (
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/fedfast/fedfast/fl"
	"github.com/fedfast/fedfast/internal/test/fltest"
	"github.com/fedfast/fedfast/kernels/det"
	"github.com/fedfast/fedfast/nn"
)

// TestTwoHeadsByHand works two rounds of a client with logistic regression out in float64:
// the features are the samples.
func TestTwoHeadsByHand(t *testing.T) {
	const lr, momentum, decay, steps, rounds = 0.1, 0.5, 0.05, 3, 2
	whole := *fltest.OpenGlyphs(t, 3, 30)
	whole.Clients = whole.Clients[:1]
	fed, m := &whole, fedRoD()
	model := logisticOn(t, fed)
	e := newEngine(t, fl.Config{Model: model, Data: fed, Method: m, Cohort: 1, Seed: 9, Momentum: true})
	c, s := m.Defaults()
	c = fullBatch(c, lr, steps)
	c.Momentum, c.WeightDecay = momentum, decay
	plan := fl.Plan{Server: s, Clients: []fl.ClientParams{c}}
	tr := e.NewTrial(0)

	b, classes := fltest.Batch(t, model, fed.Clients[0].Train), fed.Classes
	inputs := len(b.X) / b.N
	bias := make([]float64, classes)
	for _, y := range b.Labels {
		bias[y]++
	}
	for k, n := range bias {
		bias[k] = math.Log(n)
	}
	if !slices.Contains(bias, math.Inf(-1)) {
		t.Fatal("the client has all classes")
	}
	shared := flat(model, tr.Weights())
	personal := make([]float64, len(shared))
	gradient := func(w, bias []float64) []float64 { // of the cross entropy of logits with a bias
		grad := make([]float64, len(w))
		for i, y := range b.Labels {
			x, z := b.X[i*inputs:][:inputs], make([]float64, classes)
			for k := range z {
				z[k] = w[classes*inputs+k] + bias[k]
				for j, v := range x {
					z[k] += w[k*inputs+j] * float64(v)
				}
			}
			for k, p := range softmaxOf(z, 1, -1) {
				if int32(k) == y {
					p--
				}
				for j, v := range x {
					grad[k*inputs+j] += p * float64(v) / float64(b.N)
				}
				grad[classes*inputs+k] += p / float64(b.N)
			}
		}
		return grad
	}
	for range rounds {
		v, u := make([]float64, len(shared)), make([]float64, len(shared))
		for range steps {
			both := slices.Clone(shared)
			for i, x := range personal {
				both[i] += x
			}
			g, h := gradient(shared, bias), gradient(both, make([]float64, classes))
			for i := range shared {
				v[i] = momentum*v[i] + g[i] + decay*shared[i]
				u[i] = momentum*u[i] + h[i] + decay*personal[i]
				shared[i] -= lr * v[i]
				personal[i] -= lr * u[i]
			}
		}
	}
	runRounds(t, tr, plan, rounds)
	kept := states(t, tr)[0]
	for i, x := range flat(model, tr.Weights()) {
		if math.Abs(x-shared[i]) > 1e-5 {
			t.Fatalf("weight %d of the network is %v, want %v", i, x, shared[i])
		}
	}
	for i, x := range flat(model, kept) {
		if math.Abs(x-personal[i]) > 1e-5 {
			t.Fatalf("weight %d of the personal head is %v, want %v", i, x, personal[i])
		}
	}
	sum := slices.Clone(tr.Weights())
	for i, x := range kept {
		sum[i] += x
	}
	wantKept(t, e, fed, model.NewWorkspace(), tr, plan, map[int][]float32{0: sum})
}

// TestPersonalHeadsLeaveTheNetworkAlone: the network trains as by the balanced softmax alone,
// with dropout and running statistics, too.
func TestPersonalHeadsLeaveTheNetworkAlone(t *testing.T) {
	fed := fltest.OpenGlyphs(t, 6, 30)
	alone := fedRoD()
	alone.Local = func(l *fl.Local) error {
		counts, err := l.Train.ClassCounts(l.Model().Classes())
		if err != nil {
			return err
		}
		l.LogitBias = classBias(counts, det.Log)
		return l.SGD(fl.LocalRun{})
	}
	for _, model := range []*nn.Model{fltest.SmallCNN(t, fed), fltest.SmallNormalized(t, fed)} {
		trained := func(m fl.Method) string {
			plan := defaultPlan(m)
			plan.Clients[0].Momentum, plan.Clients[0].Dropout = 0.9, 0.3
			tr := newEngine(t, fl.Config{Model: model, Data: fed, Method: m, Cohort: 2, Seed: 5, Momentum: true}).NewTrial(0)
			runRounds(t, tr, plan, 2)
			return model.SHA256(tr.Weights())
		}
		if got, want := trained(fedRoD()), trained(alone); got != want {
			t.Errorf("%s: weights %s, by the network's steps alone %s", model.Name(), got, want)
		}
	}
}

// TestTwoHeadsRefuse models whose last layer cannot be added to another.
func TestTwoHeadsRefuse(t *testing.T) {
	fed := fltest.OpenGlyphs(t, 3, 30)
	model, err := nn.NewModel("behind", nn.Shape{H: fed.H, W: fed.W, C: fed.C}, fed.Classes,
		nn.Dense{Units: fed.Classes}, nn.ReLU{})
	if err != nil {
		t.Fatal(err)
	}
	_, err = fl.New(fl.Config{Model: model, Data: fed, Method: fedRoD(), Cohort: 1})
	if err == nil || !strings.Contains(err.Error(),
		`does not end in a dense layer, of which each client has another one in method "fedrod"`) ||
		strings.Contains(err.Error(), "\n") {
		t.Errorf("outputs behind a ReLU: %v", err)
	}
	smooth, err := fltest.SmallCNN(t, fed).WithLoss(nn.Loss{Smoothing: 0.1})
	if err != nil {
		t.Fatal(err)
	}
	if _, err = fl.New(fl.Config{Model: smooth, Data: fed, Method: fedRoD(), Cohort: 1}); err == nil ||
		!strings.Contains(err.Error(), `loss.smoothing = 0.1: method "fedrod" leaves out classes`) {
		t.Errorf("with smoothed labels: %v", err)
	}
}
