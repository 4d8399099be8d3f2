package methods

import (
	"math"
	"slices"
	"testing"

	"github.com/fedfast/fedfast/fl"
	"github.com/fedfast/fedfast/fl/hyper"
	"github.com/fedfast/fedfast/fl/internal/fltest"
	"github.com/fedfast/fedfast/nn"
)

// TestFedPerKeepsHeads: the heads that clients keep are those that local SGD of the
// whole network leaves, the server's stays the initial one, and the bodies are
// averaged.
func TestFedPerKeepsHeads(t *testing.T) {
	whole := *fltest.OpenGlyphs(t, 36, 14)
	whole.Clients = whole.Clients[:6]
	fed := &whole
	model := fltest.SmallCNN(t, fed)
	head := model.Head(1).Lo
	e := newEngine(t, fl.Config{Model: model, Data: fed, Method: fedPer(), Cohort: 2, Seed: 3, Workers: 2})
	c := fullBatch(hyper.DefaultClient(), 0.1, 3)
	tr := e.NewTrial(0)
	initial := slices.Clone(tr.Weights())
	heads := map[int][]float32{}
	for range 4 {
		before := slices.Clone(tr.Weights())
		r := runRounds(t, tr, fl.Plan{Server: hyper.DefaultServer(), Clients: []fl.ClientParams{c}}, 1)[0]
		body, total := make([]float64, head), 0.0
		for _, s := range r.Slots {
			// The same local training by hand: the whole batch three times.
			w := slices.Clone(before)
			if heads[s.Client] != nil {
				copy(w[head:], heads[s.Client])
			}
			train := fed.Clients[s.Client].Train
			ws, velocity := model.NewWorkspace(), make([]float32, len(w))
			b := fltest.Batch(t, model, train)
			for step := range 3 {
				ws.Step(w, b, nn.TrainOpts{Step: uint32(step)}, &nn.Optimizer{SGD: nn.SGD{LR: 0.1}, Velocity: velocity, Steps: step})
			}
			heads[s.Client] = slices.Clone(w[head:])
			for j := range body {
				body[j] += float64(train.Len()) * float64(w[j])
			}
			total += float64(train.Len())
		}
		for j := range body {
			if d := math.Abs(body[j]/total - float64(tr.Weights()[j])); d > 1e-5 {
				t.Fatalf("weight %d of the body is %v from the mean of the clients'", j, d)
			}
		}
	}
	if !slices.Equal(tr.Weights()[head:], initial[head:]) {
		t.Error("the server's head has changed")
	}
	if len(heads) == 6 || len(heads) == 2 {
		t.Fatalf("%d clients were drawn: want some twice and some never", len(heads))
	}
	kept := states(t, tr)
	if len(kept) != len(heads) {
		t.Fatalf("%d clients keep a head, %d were drawn", len(kept), len(heads))
	}
	for i, got := range kept {
		for j, x := range heads[i] {
			if d := math.Abs(float64(x - got[j])); d > 1e-5 {
				t.Fatalf("client %d: weight %d of its head is %v, want %v", i, j, got[j], x)
			}
		}
	}
}
