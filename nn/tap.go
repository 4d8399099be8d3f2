package nn

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
