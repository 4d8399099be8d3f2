package nn

import (
	"fmt"
	"slices"
	"testing"

	"github.com/fedfast/fedfast/internal/test/kernelstest"
)

// TestEmbeddingStep checks that Step gives the bits of Gradient and Optimizer.Step
// with a table of which a batch uses few rows: whatever moves the other rows, with
// gradients, shifted steps and batches without labels in between.
func TestEmbeddingStep(t *testing.T) {
	for _, c := range []struct {
		vocab int
		opt   Optimizer
	}{
		{150, Optimizer{SGD: SGD{LR: 0.3}}},
		{150, Optimizer{SGD: SGD{LR: 0.3, Momentum: 0.9}}},
		{70, Optimizer{SGD: SGD{LR: 0.3, WeightDecay: 1e-2}}},
		{900, Optimizer{SGD: SGD{LR: 0.3, Momentum: 0.9, WeightDecay: 1e-3, Mu: 0.1}}},
		{64, Optimizer{SGD: SGD{LR: 0.3, Mu: 0.1}}},
		{150, Optimizer{SGD: SGD{LR: 0.3, Momentum: 0.9, Nesterov: true}}},
		{70, Optimizer{SGD: SGD{LR: 0.3, ClipNorm: 0.1}}},
		{150, Optimizer{SGD: SGD{LR: 0.01}, Adam: Adam{On: true, Beta1: 0.9, Beta2: 0.999, Eps: 1e-8}}},
	} {
		m, err := NewModel("test", Shape{Seq: 3, Vocab: c.vocab}, 5,
			Embedding{Dim: 10, ZeroPadding: c.vocab%4 == 0}, LSTM{Hidden: 9}, Dense{Units: 5})
		if err != nil {
			t.Fatal(err)
		}
		t.Run(fmt.Sprintf("%d %+v adam=%v", c.vocab, c.opt.SGD, c.opt.Adam.On), func(t *testing.T) {
			kernelstest.ForEachLevel(t, func(t *testing.T) {
				ws, plain := m.newWorkspace(4), m.newWorkspace(4)
				w, v, anchor, shift := m.NewParams(), make([]float32, 2*m.Size()), m.NewParams(), m.NewParams()
				m.Init(w, 1)
				m.Init(anchor, 2)
				m.Init(shift, 3)
				w2, v2 := slices.Clone(w), slices.Clone(v)
				for k := range 8 {
					b := sequences(m, 3+k, false)
					b.Tokens[0] = int32(c.vocab - 1 - k)
					o := TrainOpts{Step: uint32(k)}
					switch k {
					case 2:
						b.Labels = slices.Repeat([]int32{-1}, b.N)
						o.Shift = shift
					case 4:
						o.Shift = shift
					case 6:
						ws.Gradient(w2, b, o)
					}
					want := plain.Gradient(w, b, o)
					grad := slices.Clone(plain.Grad())
					if o.Shift != nil {
						for i := range grad {
							grad[i] += shift[i]
						}
					}
					c.opt.after(k, v, anchor).Step(w, grad)
					if got := ws.Step(w2, b, o, c.opt.after(k, v2, anchor)); got != want {
						t.Fatalf("step %d reports %+v, Gradient %+v", k, got, want)
					}
					sameBits(t, w2, w, fmt.Sprintf("weights after step %d", k))
					sameBits(t, v2, v, fmt.Sprintf("state after step %d", k))
				}
			})
		})
	}
}
