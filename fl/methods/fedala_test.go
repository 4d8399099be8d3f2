package methods

import (
	"math"
	"slices"
	"testing"

	"github.com/fedfast/fedfast/fl"
	"github.com/fedfast/fedfast/internal/test/fltest"
	"github.com/fedfast/fedfast/nn"
)

// TestFedALAByHand works rounds of two clients out in float64 on top of the network's own
// gradients: the first, the one that learns the weights until the loss settles, and one more.
func TestFedALAByHand(t *testing.T) {
	whole := *fltest.OpenGlyphs(t, 36, 14)
	whole.Clients = whole.Clients[:2]
	fed := &whole
	model := fltest.SmallCNN(t, fed)
	head := model.Head(1)
	e := newEngine(t, fl.Config{Model: model, Data: fed, Method: fedALA(), Cohort: 2, Seed: 3, Workers: 2})
	c, s := fedALA().Defaults()
	c = fullBatch(c, 0.1, 3)
	c.ALAShare, c.ALARate = 1, 50
	plan := fl.Plan{Server: s, Clients: []fl.ClientParams{c}}
	tr, ws := e.NewTrial(0), model.NewWorkspace()

	type client struct{ v, weights []float64 }
	clients, passes := map[int]*client{}, 0
	// mixed is the mixture of a client with the weights w, after the weights are learned.
	mixed := func(i int, w []float32, learn bool) []float32 {
		at, c := slices.Clone(w), clients[i]
		if c == nil {
			return at
		}
		b := fltest.Batch(t, model, fed.Clients[i].Train)
		set := func() {
			for j := range c.v {
				at[head.Lo+j] = float32(c.v[j] + (float64(w[head.Lo+j])-c.v[j])*c.weights[j])
			}
		}
		set()
		var losses []float64
		for done := false; !done; {
			r := ws.Gradient(at, b, nn.TrainOpts{})
			for j := range c.v {
				c.weights[j] = min(1, max(0, c.weights[j]-50*float64(ws.Grad()[head.Lo+j])*(float64(w[head.Lo+j])-c.v[j])))
			}
			set()
			passes++
			losses = append(losses, r.Mean())
			done = !learn || len(losses) > 10 && spread(losses[len(losses)-10:]) < 0.1
		}
		return at
	}
	for round := range 3 {
		w := slices.Clone(tr.Weights())
		runRounds(t, tr, plan, 1)
		for i := range fed.Clients {
			at := mixed(i, w, round == 1)
			velocity, b := make([]float32, len(at)), fltest.Batch(t, model, fed.Clients[i].Train)
			for step := range 3 {
				ws.Step(at, b, nn.TrainOpts{Step: uint32(step)}, &nn.Optimizer{
					SGD:      nn.SGD{LR: 0.1},
					Velocity: velocity, Steps: step,
				})
			}
			if clients[i] == nil {
				clients[i] = &client{weights: slices.Repeat([]float64{1}, head.Len())}
			}
			clients[i].v = nil
			for _, x := range at[head.Lo:head.Hi] {
				clients[i].v = append(clients[i].v, float64(x))
			}
		}
	}
	moved := 0
	for i, kept := range states(t, tr) {
		for j := range head.Len() {
			if d := math.Abs(float64(kept[j]) - clients[i].v[j]); d > 1e-4 {
				t.Fatalf("client %d: weight %d of its head is %v from the equations", i, j, d)
			}
			if d := math.Abs(float64(kept[head.Len()+j]) - clients[i].weights[j]); d > 1e-3 {
				t.Fatalf("client %d: the share of weight %d is %v from the equations", i, j, d)
			}
			if clients[i].weights[j] < 0.9 {
				moved++
			}
		}
	}
	if moved < 10 || passes < 2*11+2 {
		t.Errorf("in %d passes %d shares have fallen below 0.9", passes, moved)
	}
	has := map[int][]float32{}
	for i := range fed.Clients {
		has[i] = mixed(i, tr.Weights(), false)
	}
	wantKept(t, e, fed, ws, tr, plan, has)
}

func spread(x []float64) float64 {
	var sum, squares float64
	for _, x := range x {
		sum, squares = sum+x, squares+x*x
	}
	n := float64(len(x))
	return math.Sqrt(max(0, squares/n-sum/n*sum/n))
}
