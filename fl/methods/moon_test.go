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

// layered is a network of a dense layer, a ReLU and a dense layer in float64.
type layered struct{ inputs, hidden, classes int }

// forward returns the features and the logits of a sample.
func (n layered) forward(w []float64, x []float32) (h, z []float64) {
	b1 := w[n.hidden*n.inputs:]
	h = slices.Clone(b1[:n.hidden])
	for k := range h {
		for j, v := range x {
			h[k] += w[k*n.inputs+j] * float64(v)
		}
		h[k] = max(0, h[k])
	}
	w2 := b1[n.hidden:]
	z = slices.Clone(w2[n.classes*n.hidden:])
	for k := range z {
		for j, v := range h {
			z[k] += w2[k*n.hidden+j] * v
		}
	}
	return h, z
}

func cosineOf(x, y []float64) float64 {
	var xy, xx, yy float64
	for i := range x {
		xy += x[i] * y[i]
		xx += x[i] * x[i]
		yy += y[i] * y[i]
	}
	return xy / math.Sqrt(xx*yy)
}

// TestContrastByHand takes the steps of a client's second round in float64, by differences of
// the contrast with the model that its first one left.
func TestContrastByHand(t *testing.T) {
	const lr, mu, temperature, steps = 0.1, 5, 0.7, 4
	whole := *fltest.OpenGlyphs(t, 12, 30)
	whole.Clients = whole.Clients[:2]
	fed, m := &whole, moon()
	net := layered{inputs: fed.H * fed.W * fed.C, hidden: 12, classes: fed.Classes}
	model, err := nn.NewModel("layered", nn.Shape{H: fed.H, W: fed.W, C: fed.C}, fed.Classes, nn.Flatten{},
		nn.Dense{Units: net.hidden}, nn.ReLU{}, nn.Dense{Units: fed.Classes})
	if err != nil {
		t.Fatal(err)
	}
	m, r := record(m)
	e := newEngine(t, fl.Config{Model: model, Data: fed, Method: m, Cohort: 2, Seed: 9})
	c, s := m.Defaults()
	if c.Mu != 1 || c.Temperature != 0.5 {
		t.Errorf("it starts from %v and %v", c.Mu, c.Temperature)
	}
	c = fullBatch(c, lr, steps)
	c.Mu, c.Temperature = mu, temperature
	tr := e.NewTrial(0)
	plan := fl.Plan{Server: s, Clients: []fl.ClientParams{c}}
	runRounds(t, tr, plan, 1)
	last := flat(model, r.end[0])
	if !slices.Equal(flat(model, states(t, tr)[0]), last) {
		t.Error("a client does not keep what it trained")
	}
	got := runRounds(t, tr, plan, 1)[0]
	broadcast := flat(model, r.start[0])
	b := fltest.Batch(t, model, fed.Clients[0].Train)
	// descend takes a step with the contrast times a weight, and returns the loss before it.
	descend := func(w []float64, weight float64) (loss float64) {
		grad, second := make([]float64, len(w)), net.hidden*(net.inputs+1)
		for i, y := range b.Labels {
			x := b.X[i*net.inputs:][:net.inputs]
			h, z := net.forward(w, x)
			near, _ := net.forward(broadcast, x)
			far, _ := net.forward(last, x)
			contrast := func() float64 {
				a, b := math.Exp(cosineOf(h, near)/temperature), math.Exp(cosineOf(h, far)/temperature)
				return -weight * math.Log(a/(a+b))
			}
			p := softmaxOf(z, 1, -1)
			loss += (contrast() - math.Log(p[y])) / float64(b.N)
			p[y]--
			for k, own := range h {
				const d = 1e-5
				h[k] = own + d
				slope := contrast()
				h[k] = own - d
				slope = (slope - contrast()) / (2 * d)
				h[k] = own
				for c, g := range p {
					slope += g * w[second+c*net.hidden+k]
					grad[second+c*net.hidden+k] += g * own
				}
				if own == 0 { // after the ReLU
					continue
				}
				for j, v := range x {
					grad[k*net.inputs+j] += slope * float64(v)
				}
				grad[net.hidden*net.inputs+k] += slope
			}
			for c, g := range p {
				grad[second+net.classes*net.hidden+c] += g
			}
		}
		for i, g := range grad {
			w[i] -= lr * g / float64(b.N)
		}
		return loss
	}
	w, alone, sum := slices.Clone(broadcast), slices.Clone(broadcast), 0.0
	for range steps {
		sum += descend(w, mu) / steps
		descend(alone, 0)
	}
	off := 0.0
	for i, x := range flat(model, r.end[0]) {
		if math.Abs(x-w[i]) > 2e-5 {
			t.Fatalf("weight %d is %v, want %v", i, x, w[i])
		}
		off = max(off, math.Abs(w[i]-alone[i]))
	}
	if off < 1e-3 {
		t.Errorf("the contrast moves no weight by more than %v", off)
	}
	for _, slot := range got.Slots {
		if slot.Client == 0 && math.Abs(slot.TrainLoss-sum) > 1e-4 {
			t.Errorf("the training loss is %v, want %v", slot.TrainLoss, sum)
		}
	}
}

// TestContrastOfZeros: features that are all 0 have no gradient.
func TestContrastOfZeros(t *testing.T) {
	zeros, ones := make([]float32, 3), []float32{1, 1, 1}
	for _, tt := range []struct {
		h, near, far []float32
		moves        bool
	}{{zeros, ones, ones, false}, {ones, zeros, zeros, false}, {
		ones, zeros,
		[]float32{1, 2, 3},
		true,
	}, {ones, ones, ones, false}} {
		c := contrast{mu: 1, temperature: 1, n: 3, broadcast: tt.near, last: tt.far}
		grad := make([]float32, 3)
		loss := c.Add(0, 0, tt.h, grad, 1)
		if moved := slices.Max(grad) > 1e-6; moved != tt.moves || math.IsNaN(float64(grad[0])) || math.IsNaN(loss) {
			t.Errorf("features %v beside %v and %v: loss %v, gradient %v", tt.h, tt.near, tt.far, loss, grad)
		}
	}
}

// TestContrastRefuses models without features and losses without classes.
func TestContrastRefuses(t *testing.T) {
	fed := fltest.OpenGlyphs(t, 3, 30)
	_, err := fl.New(fl.Config{Model: logisticOn(t, fed), Data: fed, Method: moon(), Cohort: 1})
	if err == nil || !strings.Contains(err.Error(), `has no features of a sample for method "moon"`) ||
		strings.Contains(err.Error(), "\n") {
		t.Errorf("without a body: %v", err)
	}
	sigmoid, err := fltest.SmallCNN(t, fed).WithLoss(nn.Loss{Kind: nn.Sigmoid})
	if err != nil {
		t.Fatal(err)
	}
	if _, err = contrasts(&fl.Config{Model: sigmoid, Data: fed, Method: moon()}); err == nil ||
		!strings.Contains(err.Error(), `method "moon" needs samples of one class each`) {
		t.Errorf("several labels: %v", err)
	}
}
