package nn

import "fmt"

// CheckHessian returns an error that names a layer or a loss that takes no tangents along, so
// that Workspace.Hessian cannot be computed: of those of this package a Mix and a
// GroupNorm without parameters.
func (m *Model) CheckHessian() error {
	if kind := m.nodes.rigid(); kind != "" {
		return fmt.Errorf("model %s: layers of type %s do not support products with the Hessian", m.name, kind)
	}
	if !m.lossType.along() {
		return fmt.Errorf("model %s: the loss %q does not support products with the Hessian", m.name, m.lossType.Name)
	}
	return nil
}

// withTangents returns the model with layers that take tangents along. Its vectors
// and draws belong to m.
func (m *Model) withTangents() *Model {
	t := *m
	t.nodes = m.bind(binding{tangents: true})
	t.groups, t.tangents, t.precision = t.nodes.groups(), true, FP32
	return &t
}

// HessianFLOPs counts the multiplications and additions of Workspace.Hessian for
// one sample. A layer's output has a tangent by its weights and, after other
// weights, by its input; the gradient of its weights as well, and that of its input
// has two besides itself.
func (m *Model) HessianFLOPs() int64 {
	var n int64
	learned := false
	for _, nd := range m.nodes {
		n += nd.FLOPs()
		if nd.size() > 0 {
			n += 2 * nd.FLOPs()
		}
		if learned {
			n += 5 * nd.FLOPs()
		}
		learned = learned || nd.size() > 0
	}
	return n
}

// Hessian writes to dst the product of v with the Hessian of the mean loss over the
// batch's unmasked labels at w: the derivative of the gradient along v, by the
// chain rule, forward along v and then in reverse (Pearlmutter 1994). ReLUs and
// max-pools count as the linear pieces that w is in. It is the Hessian of the loss
// that Gradient takes with the same options; those for Step alone are not used. The
// bits depend on nothing but the model, w, v, the batch and the options. The first
// call makes memory of its own, about twice what the workspace has.
func (ws *Workspace) Hessian(dst, w, v []float32, b *Batch, o TrainOpts) {
	ws.m.check(dst)
	ws.m.check(w)
	ws.m.check(v)
	count := ws.count(b)
	if count == 0 {
		clear(dst)
		return
	}
	t := ws.twice
	if t == nil {
		t = ws.m.withTangents().NewWorkspace()
		ws.twice = t
	}
	t.fit(b.N)
	t.start(Run{W: w, V: v, G: dst}, o)
	t.chunks(b, t.scale(b, count), nil)
	ws.m.Hold(dst, nil)
	clear(dst[ws.m.Buffers().Lo:])
}
