package methods

import (
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/fedfast/fedfast/data"
	"github.com/fedfast/fedfast/fl"
	"github.com/fedfast/fedfast/internal/test/fltest"
	"github.com/fedfast/fedfast/nn"
	"github.com/fedfast/fedfast/nn/models"
)

// logisticOn is logistic regression of a federation's samples.
func logisticOn(t *testing.T, fed *data.Federation) *nn.Model {
	t.Helper()
	m, err := models.New("logistic", models.Options{Classes: fed.Classes, Input: nn.Shape{H: fed.H, W: fed.W, C: fed.C}})
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// descend takes steps of logistic regression in float64 on all samples of a batch, by
// differences of a loss of logits; each sample's logits of the first weights are known to it.
func descend(at []float64, b *nn.Batch, classes, steps int, lr float64,
	loss func(y int, z, first []float64) float64,
) []float64 {
	inputs := len(b.X) / b.N
	logits := func(w []float64, x []float32) []float64 {
		z := slices.Clone(w[classes*inputs:])
		for k := range z {
			for j, v := range x {
				z[k] += w[k*inputs+j] * float64(v)
			}
		}
		return z
	}
	first, w := slices.Clone(at), slices.Clone(at)
	for range steps {
		grad := make([]float64, len(w))
		for i, y := range b.Labels {
			x := b.X[i*inputs:][:inputs]
			z, before := logits(w, x), logits(first, x)
			for k := range z {
				const h = 1e-5
				z[k] += h
				up := loss(int(y), z, before)
				z[k] -= 2 * h
				d := (up - loss(int(y), z, before)) / (2 * h) / float64(b.N)
				z[k] += h
				for j, v := range x {
					grad[k*inputs+j] += d * float64(v)
				}
				grad[classes*inputs+k] += d
			}
		}
		for i, g := range grad {
			w[i] -= lr * g
		}
	}
	return w
}

// flat joins the tensors of weights.
func flat(m *nn.Model, w []float32) []float64 {
	var all []float64
	for _, t := range m.Export(w) {
		for _, x := range t.Data {
			all = append(all, float64(x))
		}
	}
	return all
}

// softmaxOf is the softmax of logits over a temperature, without a class; -1 leaves none out.
func softmaxOf(z []float64, temperature float64, without int) []float64 {
	p, sum := make([]float64, len(z)), 0.0
	for k := range z {
		if k != without {
			p[k] = math.Exp(z[k] / temperature)
			sum += p[k]
		}
	}
	for k := range p {
		p[k] /= sum
	}
	return p
}

// TestDistillationByHand takes three local steps of logistic regression by differences of
// the loss, of which the first has nothing to distill.
func TestDistillationByHand(t *testing.T) {
	fed := fltest.OpenGlyphs(t, 3, 30)
	model := logisticOn(t, fed)
	e := newEngine(t, fl.Config{Model: model, Data: fed, Method: fedNTD(), Cohort: 1, Seed: 9})
	c, s := fedNTD().Defaults()
	c = fullBatch(c, 0.02, 3)
	c.Temperature, c.Distill = 2, 3
	tr := e.NewTrial(0)
	before := flat(model, tr.Weights())
	r := runRounds(t, tr, fl.Plan{Server: s, Clients: []fl.ClientParams{c}}, 1)[0]
	b := fltest.Batch(t, model, fed.Clients[r.Slots[0].Client].Train)
	loss := func(y int, z, first []float64) float64 {
		sum := -math.Log(softmaxOf(z, 1, -1)[y])
		p, q := softmaxOf(z, 2, y), softmaxOf(first, 2, y)
		for k := range q {
			if k != y {
				sum += 3 * 2 * 2 * q[k] * math.Log(q[k]/p[k])
			}
		}
		return sum
	}
	want := descend(before, b, fed.Classes, 3, 0.02, loss)
	plain := descend(before, b, fed.Classes, 3, 0.02,
		func(y int, z, _ []float64) float64 { return -math.Log(softmaxOf(z, 1, -1)[y]) })
	off := 0.0
	for i, x := range flat(model, tr.Weights()) {
		if math.Abs(x-want[i]) > 1e-5 {
			t.Fatalf("weight %d is %v, want %v", i, x, want[i])
		}
		off = max(off, math.Abs(want[i]-plain[i]))
	}
	if off < 1e-4 {
		t.Errorf("distillation moves no weight by more than %v", off)
	}
	inputs, classes := len(b.X)/b.N, fed.Classes
	at, sum := slices.Clone(before), 0.0
	for step := range 3 {
		for i, y := range b.Labels {
			z := func(w []float64) []float64 {
				out := slices.Clone(w[classes*inputs:])
				for k := range out {
					for j, v := range b.X[i*inputs:][:inputs] {
						out[k] += w[k*inputs+j] * float64(v)
					}
				}
				return out
			}
			sum += loss(int(y), z(at), z(before)) / float64(3*b.N)
		}
		at = descend(before, b, classes, step+1, 0.02, loss)
	}
	if got := r.Slots[0].TrainLoss; math.Abs(got-sum) > 1e-4 {
		t.Errorf("the training loss is %v, want %v", got, sum)
	}
}

// TestDistillationRefuses models and losses that have nothing to distill.
func TestDistillationRefuses(t *testing.T) {
	fed := fltest.OpenGlyphs(t, 3, 30)
	two := *fed
	two.Classes = 2
	_, err := distills(&fl.Config{Model: logisticOn(t, &two), Data: &two, Method: fedNTD()})
	if err == nil || !strings.Contains(err.Error(),
		`method "fedntd" distills the other classes than a sample's, and 2 have none to compare`) {
		t.Errorf("two classes: %v", err)
	}
	sigmoid, err := fltest.SmallCNN(t, fed).WithLoss(nn.Loss{Kind: nn.Sigmoid})
	if err != nil {
		t.Fatal(err)
	}
	if _, err = distills(&fl.Config{Model: sigmoid, Data: fed, Method: fedNTD()}); err == nil ||
		!strings.Contains(err.Error(), `needs samples of one class each`) {
		t.Errorf("several labels: %v", err)
	}
}
