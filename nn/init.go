package nn

import (
	"fmt"
	"math"
	"slices"

	"github.com/fedfast/fedfast/kernels"
)

// Init names how a dense or convolutional layer's parameters start. Fan-in counts
// the inputs of one output, fan-out the outputs of one input.
type Init uint8

const (
	// InitTorch is PyTorch's default: weight and bias uniform in
	// +-1/sqrt(fan-in).
	InitTorch Init = iota
	// InitGlorot is TensorFlow's and Keras's: weight uniform in
	// +-sqrt(6/(fan-in + fan-out)) (Glorot and Bengio 2010), bias zero.
	InitGlorot
	// InitHaiku is Haiku's: weight normal with deviation 1/sqrt(fan-in), cut off
	// at two deviations, bias zero.
	InitHaiku
	// InitKeras is InitGlorot for dense and convolutional layers; an embedding
	// and an LSTM start as Keras has it, which differs.
	InitKeras
	// InitGPT2 is the initialization of GPT-2 (Radford et al. 2019): weights and embeddings normal
	// with deviation 0.02, bias zero.
	InitGPT2
)

func (i Init) check() error {
	if i > InitGPT2 {
		return fmt.Errorf("unknown initialization %d", i)
	}
	return nil
}

// Of returns the layers with this initialization of every one that has weights to draw, also of those
// within residual blocks and graphs.
func (i Init) Of(layers []Layer) []Layer {
	out := slices.Clone(layers)
	for k, l := range out {
		if a := l.Abilities(); a.Init != nil {
			out[k] = renamed(l, a.Init(i))
		}
	}
	return out
}

func (i Init) weight(t []float32, in, out int, s *kernels.Stream) {
	switch i {
	case InitTorch:
		fillUniform(t, 1/math.Sqrt(float64(in)), s)
	case InitGlorot, InitKeras:
		fillUniform(t, math.Sqrt(6/float64(in+out)), s)
	case InitGPT2:
		fillNormal(t, smallDeviation, s)
	case InitHaiku:
		deviation := 1 / math.Sqrt(float64(in))
		for j := range t {
			z := s.NormFloat64()
			for math.Abs(z) > 2 {
				z = s.NormFloat64()
			}
			t[j] = float32(z * deviation)
		}
	}
}

func (i Init) bias(t []float32, in int, s *kernels.Stream) {
	if i == InitTorch {
		fillUniform(t, 1/math.Sqrt(float64(in)), s)
	}
}

// fillUniform draws from [-bound, bound), 24 bits a value as PyTorch does.
func fillUniform(t []float32, bound float64, s *kernels.Stream) {
	for i := range t {
		t[i] = float32((2*float64(s.Float32()) - 1) * bound)
	}
}
