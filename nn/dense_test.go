package nn

import "testing"

// TestDenseWithoutBias holds for dense layers without biases, on vectors that are mostly
// zeros and on steps of sequences, what other tests hold for the networks of forEachNet.
func TestDenseWithoutBias(t *testing.T) {
	build := func(in Shape, layers ...Layer) *Model {
		m, err := NewModel("test", in, 7, append(layers, Dense{Units: 21, NoBias: true}, ReLU{},
			Dense{Units: 7, NoBias: true})...)
		if err != nil {
			t.Fatal(err)
		}
		return m
	}
	vectors := build(Shape{H: 1, W: 1, C: thinInputs + 5})
	steps := build(Shape{H: 4, W: 3, C: 2}, Conv2D{Filters: 5, Kernel: 2}, Sequence{}, Dense{Units: 9, NoBias: true},
		Steps{})
	forEachRule(t, func(t *testing.T, rule Optimizer) {
		testStep(t, vectors, rule)
		testStep(t, steps, rule)
	})
	testLevels(t, vectors)
	testLevels(t, steps)
	testAllocations(t, steps)
	sparse := func() *Batch {
		b := images(vectors, 9)
		for i := range b.X {
			if i%97 > 0 {
				b.X[i] = 0
			}
		}
		return b
	}
	w := train(vectors, vectors.newWorkspace(4), sparse())
	sameBits(t, train(vectors, vectors.newWorkspace(9), sparse()), w, "in one chunk")
	rounded := steps.WithPrecision(BF16)
	sameBits(t, train(rounded, rounded.NewWorkspace(), images(steps, 9)), train(rounded, rounded.NewWorkspace(),
		images(steps, 9)), "in bf16")
}
