package nn_test

import (
	"fmt"
	"log"

	"github.com/fedfast/fedfast/nn"
)

// A small network learns the exclusive or.
func Example() {
	m, err := nn.NewModel("xor", nn.Shape{H: 1, W: 1, C: 2}, 2, nn.Dense{Units: 16}, nn.ReLU{}, nn.Dense{Units: 2})
	if err != nil {
		log.Fatal(err)
	}
	w := m.NewParams()
	m.Init(w, 1)
	ws := m.NewWorkspace()
	batch := &nn.Batch{N: 4, X: []float32{0, 0, 0, 1, 1, 0, 1, 1}, Labels: []int32{0, 1, 1, 0}}
	opt := &nn.Optimizer{SGD: nn.SGD{LR: 0.1, Momentum: 0.9}, Velocity: m.NewParams()}
	for step := range 100 {
		ws.Step(w, batch, nn.TrainOpts{Step: uint32(step)}, opt)
	}
	r := ws.Evaluate(w, batch)
	fmt.Printf("%d parameters, %d of %d right\n", m.NumParams(), r.Correct, r.Count)
	// Output: 82 parameters, 4 of 4 right
}
