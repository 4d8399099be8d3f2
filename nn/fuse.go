package nn

import (
	"cmp"
	"slices"
)

// placed is a layer with its number, from 1, in the description of the model.
type placed struct {
	Layer
	number int
	name   string // of its parameters, "" to go by its kind
	files  map[string]Tensor
	swish  bool // a hard swish is in it, which counts as a layer where draws are keyed
}

// fuse folds layers into the ones before them where one kernel does both: a ReLU
// into a dense or convolutional layer. A max-pool after such a convolution takes
// over the ReLU's backward pass, on its smaller image, and may leave its own to the
// convolution. A hard swish goes into a group normalisation. A dropout after that takes over the ReLU's backward pass
// in turn.
// Layers with products get the precision of these.
func fuse(layers []Layer, to binding) []placed {
	var out []placed
	for i, l := range layers {
		now := placed{number: i + 1}
		if n, ok := l.(Named); ok {
			l, now = n.Layer, placed{number: cmp.Or(n.Number, i+1), name: n.Name, files: n.Files}
		}
		if a := l.Abilities(); a.within != nil {
			l = a.within(to)
		}
		if a := l.Abilities(); a.Rounded != nil && to.precision != FP32 {
			l = a.Rounded(to.precision)
		}
		if len(out) > 0 {
			last := &out[len(out)-1]
			switch now := l.(type) {
			case ReLU:
				if a := last.Abilities(); a.ReLU != nil {
					last.Layer = a.ReLU()
					continue
				}
			case Activation:
				if n, ok := last.Layer.(GroupNorm); ok && now == hardSwish {
					last.Layer, last.swish = groupNormSwish{n}, true
					continue
				}
			case MaxPool:
				if c, ok := last.Layer.(fusedConv); ok {
					c.maskLater, c.halved = true, now.halves()
					last.Layer = c
					l = maskedPool{now}
				}
			case Dropout:
				if p, ok := last.Layer.(maskedPool); ok {
					last.Layer = p.MaxPool
					l = maskedDropout{now}
				}
			}
		}
		now.Layer = l
		out = append(out, now)
	}
	return out
}

// Span is a part of a packed parameter vector: the places [Lo, Hi). It holds whole
// layers.
type Span struct{ Lo, Hi int }

func (s Span) empty() bool { return s.Lo >= s.Hi }

// Len returns the number of packed floats.
func (s Span) Len() int { return s.Hi - s.Lo }

// Head returns the span of the last n layers with parameters, n >= 1; it is the
// whole vector when there are no more than n. A residual block counts as one.
func (m *Model) Head(n int) Span {
	s := Span{0, m.nodes.size()}
	for _, nd := range slices.Backward(m.nodes) {
		if nd.size() == 0 {
			continue
		}
		s.Lo = nd.offset
		if n--; n == 0 {
			break
		}
	}
	return s
}

// BuffersOf returns where the buffers of the layers lie whose parameters a span has.
func (m *Model) BuffersOf(s Span) Span {
	var of Span
	for _, nd := range m.nodes {
		if at := m.nodes.size() + nd.buffer; nd.buffers() > 0 && nd.offset >= s.Lo && nd.offset+nd.size() <= s.Hi {
			if of.empty() {
				of.Lo = at
			}
			of.Hi = at + nd.buffers()
		}
	}
	return of
}

// EndsDense reports whether the network ends in a dense layer, Head(1), so that its outputs
// are linear in that layer's parameters.
func (m *Model) EndsDense() bool {
	last, ok := m.nodes[len(m.nodes)-1].Bound.(*boundDense)
	return ok && !last.relu
}

// Features returns how many numbers the last layer takes for a sample, where that is a dense
// layer, see EndsDense, after others with parameters, and a sample has one label; else 0.
// Some may be padding, which is 0.
func (m *Model) Features() int {
	if !m.EndsDense() || m.Head(1).Lo == 0 || m.LabelsPerExample() > 1 {
		return 0
	}
	return m.nodes[len(m.nodes)-1].Bound.(*boundDense).t.K
}

// tap is the last layer in a pass that looks at what it takes.
type tap struct {
	State
	n int // numbers of a sample
	x Act // of the chunk

	// In a pass that trains:
	aside  Aside
	labels []int32 // of the chunk
	scale  float32
	loss   float64 // of the batch
}

// tapping returns the last layer with a tap.
func (ws *Workspace) tapping(aside Aside) *tap {
	return &tap{State: ws.states[len(ws.states)-1], n: ws.m.Features(), aside: aside}
}

func (t *tap) Forward(r *Run, x Act, lo, hi int) Act {
	t.x = x
	return t.State.Forward(r, x, lo, hi)
}

func (t *tap) Backward(r *Run, dy Act, lo, hi int) Act {
	dx := t.State.Backward(r, dy, lo, hi)
	for i, label := range t.labels {
		if label >= 0 {
			t.loss += t.aside.Add(r.Base+i, label, t.x.At(i, 0, 0)[:t.n], dx.At(i, 0, 0)[:t.n], t.scale)
		}
	}
	return dx
}

// copyOut copies what the layer takes of a chunk to a batch's features, sample by sample.
func (t *tap) copyOut(to []float32, r *Run) {
	for i := range r.N {
		copy(to[(r.Base+i)*t.n:][:t.n], t.x.At(i, 0, 0))
	}
}
