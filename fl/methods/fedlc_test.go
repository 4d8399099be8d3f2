package methods

import (
	"math"
	"strings"
	"testing"

	"github.com/fedfast/fedfast/fl"
	"github.com/fedfast/fedfast/internal/test/fltest"
	"github.com/fedfast/fedfast/nn"
)

// TestCalibrationByHand takes a client's step of logistic regression in float64: the
// gradient of a class is the mean of x (p_c - [c = y]) with p the softmax over the classes
// that the client has, of z_c - t n_c^(-1/4).
func TestCalibrationByHand(t *testing.T) {
	fed := fltest.OpenGlyphs(t, 3, 30)
	model := logisticOn(t, fed)
	e := newEngine(t, fl.Config{Model: model, Data: fed, Method: fedLC(), Cohort: 1, Seed: 9})
	c, s := fedLC().Defaults()
	c = fullBatch(c, 0.5, 1)
	c.Temperature = 2
	tr := e.NewTrial(0)
	before := model.Export(tr.Weights())
	r := runRounds(t, tr, fl.Plan{Server: s, Clients: []fl.ClientParams{c}}, 1)[0]
	b := fltest.Batch(t, model, fed.Clients[r.Slots[0].Client].Train)
	counts := make([]float64, fed.Classes)
	for _, y := range b.Labels {
		counts[y]++
	}
	inputs, lacks := len(b.X)/b.N, 0
	grad := make([]float64, fed.Classes*inputs)
	for i, y := range b.Labels {
		x, p, sum := b.X[i*inputs:][:inputs], make([]float64, fed.Classes), 0.0
		for k := range p {
			if counts[k] == 0 {
				lacks++
				continue
			}
			z := float64(before[1].Data[k]) - 2*math.Pow(counts[k], -0.25)
			for j, v := range x {
				z += float64(before[0].Data[k*inputs+j]) * float64(v)
			}
			p[k] = math.Exp(z)
			sum += p[k]
		}
		for k := range p {
			d := p[k] / sum
			if int32(k) == y {
				d--
			}
			for j, v := range x {
				grad[k*inputs+j] += d * float64(v) / float64(b.N)
			}
		}
	}
	if lacks == 0 {
		t.Fatal("the client has all classes")
	}
	for i, x := range model.Export(tr.Weights())[0].Data {
		if want := float64(before[0].Data[i]) - 0.5*grad[i]; math.Abs(float64(x)-want) > 1e-6 {
			t.Fatalf("weight %d is %v, want %v", i, x, want)
		}
	}
}

// TestCalibrationNeedsOneLabel refuses losses without classes or with smoothed ones.
func TestCalibrationNeedsOneLabel(t *testing.T) {
	fed := fltest.OpenGlyphs(t, 3, 30)
	smooth, err := fltest.SmallCNN(t, fed).WithLoss(nn.Loss{Smoothing: 0.1})
	if err != nil {
		t.Fatal(err)
	}
	_, err = fl.New(fl.Config{Model: smooth, Data: fed, Method: fedLC(), Cohort: 1})
	if err == nil || !strings.Contains(err.Error(), `loss.smoothing = 0.1: method "fedlc" leaves out classes`) {
		t.Errorf("with smoothed labels: %v", err)
	}
}
