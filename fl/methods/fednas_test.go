package methods

import (
	"math"
	"strings"
	"testing"

	"github.com/fedfast/fedfast/fl"
	"github.com/fedfast/fedfast/internal/test/fltest"
	"github.com/fedfast/fedfast/nn"
)

// TestFedNASAlternates takes a round of one client by one step: w moves along its
// gradient on training examples and not by its decay of alpha, then alpha by a first
// step of Adam along its own on validation examples.
func TestFedNASAlternates(t *testing.T) {
	fed := fltest.OpenGlyphs(t, 1, 30)
	m := fltest.SmallMixture(t, fed)
	e, err := fl.New(fl.Config{Data: fed, Model: m, Method: fedNAS(), Cohort: 1, Seed: 3})
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	c, s := fedNAS().Defaults()
	c.LR, c.WeightDecay, c.Steps, c.Batch, c.AlphaLR, c.AlphaDecay = 0.05, 0.1, 1, 1000, 0.01, 0.5
	tr := e.NewTrial(0)
	w := append([]float32(nil), tr.Weights()...)
	runRounds(t, tr, fl.Plan{Server: s, Clients: []fl.ClientParams{c}}, 1)

	client, ws := fed.Clients[0], m.NewWorkspace()
	ws.Gradient(w, fltest.Batch(t, m, client.Train), nn.TrainOpts{})
	want := append([]float32(nil), w...)
	mixing := func(i int) bool {
		for _, a := range m.Mixing() {
			if i >= a.Lo && i < a.Hi {
				return true
			}
		}
		return false
	}
	for i, g := range ws.Grad() {
		if !mixing(i) {
			want[i] -= 0.05 * (g + 0.1*w[i])
		}
	}
	ws.Gradient(want, fltest.Batch(t, m, client.Val), nn.TrainOpts{})
	moved := 0
	for i, g := range ws.Grad() {
		if d := float64(g + 0.5*w[i]); mixing(i) && d != 0 {
			want[i] -= float32(0.01 * d / (math.Abs(d) + 1e-8)) // whatever the rates of decay
			moved++
		}
	}
	if moved != 4 {
		t.Fatalf("%d weights of operations have a gradient, want 4", moved)
	}
	for i, v := range tr.Weights() {
		if math.Abs(float64(v-want[i])) > 2e-5*(1+math.Abs(float64(want[i]))) {
			t.Errorf("weight %d is %v, want %v, alpha %v", i, v, want[i], mixing(i))
		}
	}
}

// TestFedNASNeedsMixtures wants one line for a model without any, and for one whose
// mixtures are frozen.
func TestFedNASNeedsMixtures(t *testing.T) {
	fed := fltest.OpenGlyphs(t, 2, 30)
	frozen, err := fltest.SmallMixture(t, fed).WithTrainable([]string{"stem.*"}, 1)
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range []*nn.Model{fltest.SmallCNN(t, fed), frozen} {
		_, err := fl.New(fl.Config{Data: fed, Model: m, Method: fedNAS(), Cohort: 1})
		if err == nil || !strings.HasSuffix(err.Error(),
			"has no mixed operations that train; take one that has, such as darts-cifar") {
			t.Errorf("error %v", err)
		}
	}
}
