package nn

import (
	"github.com/fedfast/fedfast/kernels"
	"github.com/fedfast/fedfast/tensor"
)

// embedding draws an embedding's table.
func (i Init) embedding(t []float32, vocab, dim int, s *kernels.Stream) {
	switch i {
	case InitTorch:
		for j := range t {
			t[j] = float32(s.NormFloat64())
		}
	case InitGlorot, InitGPT2:
		i.weight(t, vocab, dim, s)
	case InitHaiku:
		i.weight(t, 1, dim, s)
	case InitKeras:
		fillUniform(t, 0.05, s)
	}
}

// lstmInit draws the parameters of one layer of a stack.
type lstmInit struct {
	Init
	width, hidden int
}

func (l lstmInit) input(t []float32, s *kernels.Stream) {
	if l.Init == InitKeras {
		l.weight(t, l.width, 4*l.hidden, s)
		return
	}
	l.gates(t, s)
}

func (l lstmInit) recurrent(t []float32, s *kernels.Stream) {
	if l.Init == InitKeras {
		fillOrthonormal(t, l.hidden, s)
		return
	}
	l.gates(t, s)
}

func (l lstmInit) gates(t []float32, s *kernels.Stream) {
	if l.Init == InitTorch {
		l.bias(t, s)
		return
	}
	l.weight(t, l.width+l.hidden, 4*l.hidden, s)
}

func (l lstmInit) bias(t []float32, s *kernels.Stream) {
	l.Init.bias(t, l.hidden, s)
	if l.Init == InitKeras {
		forget := t[l.hidden : 2*l.hidden]
		for i := range forget {
			forget[i] = 1
		}
	}
}

// fillOrthonormal draws a matrix t of cols columns and at least as many rows whose
// columns are orthonormal, every such matrix as likely as any other: the columns
// of normal draws by Gram and Schmidt's method. A draw with four times as many
// rows as columns is far from singular, so float32 loses nothing that matters.
func fillOrthonormal(t []float32, cols int, s *kernels.Stream) {
	rows := len(t) / cols
	ld := kernels.Pad(rows)
	columns := tensor.Aligned(cols * ld)
	for j := range cols {
		c := columns[j*ld:][:rows]
		for i := range c {
			c[i] = float32(s.NormFloat64())
		}
		for k := range j {
			before := columns[k*ld:][:rows]
			kernels.Axpy(c, float32(-kernels.Dot(before, c)), before)
		}
		kernels.Scale(c, float32(1/kernels.Norm(c)))
		for i, v := range c {
			t[i*cols+j] = v
		}
	}
}
