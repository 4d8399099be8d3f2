package nn

import "github.com/fedfast/fedfast/kernels"

// embedding draws an embedding's table.
func (i Init) embedding(t []float32, vocab, dim int, s *kernels.Stream) {
	switch i {
	case InitTorch:
		for j := range t {
			t[j] = float32(s.NormFloat64())
		}
	case InitGlorot:
		i.weight(t, vocab, dim, s)
	case InitHaiku:
		i.weight(t, 1, dim, s)
	}
}

// lstmInit draws the parameters of one layer of a stack.
type lstmInit struct {
	Init
	width, hidden int
}

func (l lstmInit) gates(t []float32, s *kernels.Stream) {
	if l.Init == InitTorch {
		l.bias(t, s)
		return
	}
	l.weight(t, l.width+l.hidden, 4*l.hidden, s)
}

func (l lstmInit) bias(t []float32, s *kernels.Stream) { l.Init.bias(t, l.hidden, s) }
