package fl

import (
	"math"
	"slices"
	"testing"

	"github.com/fedfast/fedfast/nn"
)

// TestFedPerKeepsHeads: the heads that clients keep are those that local SGD of the whole network leaves, the server's stays the initial
// one, and the bodies are averaged.
func TestFedPerKeepsHeads(t *testing.T) {
	whole := *openGlyphs(t, 36, 14)
	whole.Clients = whole.Clients[:6]
	fed := &whole
	model := smallCNN(t, fed)
	e := newEngine(t, Config{Model: model, Data: fed, Method: fedPer{}, Cohort: 2, Seed: 3, Workers: 2})
	c := fullBatch(DefaultClientParams(), 0.1, 3)
	tr := e.NewTrial(0)
	initial := slices.Clone(tr.Weights())
	heads := map[int][]float32{}
	for range 4 {
		before := slices.Clone(tr.Weights())
		r := runRounds(t, tr, Plan{Server: DefaultServerParams(), Clients: []ClientParams{c}}, 1)[0]
		body, total := make([]float64, e.head.Lo), 0.0
		for _, s := range r.Slots {
			// The same visit by hand: the whole batch three times.
			w := slices.Clone(before)
			if heads[s.Client] != nil {
				copy(w[e.head.Lo:], heads[s.Client])
			}
			train := fed.Clients[s.Client].Train
			ws, velocity := model.NewWorkspace(), make([]float32, len(w))
			pos := make([]int32, train.Len())
			for i := range pos {
				pos[i] = int32(i)
			}
			b := (&worker{inputs: inputSize(model.Input()), labels: 1}).fill(train, pos, nil)
			for step := range 3 {
				ws.Step(w, b, nn.TrainOpts{Step: uint32(step)}, &nn.Optimizer{SGD: nn.SGD{LR: 0.1}, Velocity: velocity, Steps: step})
			}
			heads[s.Client] = slices.Clone(w[e.head.Lo:])
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
	if !slices.Equal(tr.Weights()[e.head.Lo:], initial[e.head.Lo:]) {
		t.Error("the server's head has changed")
	}
	if len(heads) == 6 || len(heads) == 2 {
		t.Fatalf("%d clients were drawn: want some twice and some never", len(heads))
	}
	got := make([]float32, e.store.size)
	for i, b := range tr.clients {
		if (b == nil) != (heads[i] == nil) {
			t.Fatalf("client %d: has a head %v, was drawn %v", i, b != nil, heads[i] != nil)
		}
		if b == nil {
			continue
		}
		if err := e.store.read(got, b); err != nil {
			t.Fatal(err)
		}
		for j, x := range heads[i] {
			if d := math.Abs(float64(x - got[j])); d > 1e-5 {
				t.Fatalf("client %d: weight %d of its head is %v, want %v", i, j, got[j], x)
			}
		}
	}
}
