package nn

import (
	"fmt"
	"math"
	"slices"

	"github.com/fedfast/fedfast/kernels"
)

// hessianStep is how far Hessian moves the weights, times 1 + their length. In smooth networks
// the error of rounding, about 1e-7 over it, is then near that of the curve's bend, which grows
// with its square.
const hessianStep = 1e-3

// Hessian writes to dst, which is another vector than w and v, the product of v with the
// Hessian of the mean loss over the batch's unmasked labels at w, as a central difference of
// the gradient g that Gradient gives with the same options and Still,
//
//	H v = (g(w + d v) - g(w - d v)) / 2d,  d = hessianStep (1 + |w|) / |v|
//
// as HF-MAML and Per-FedAvg do (Fallah et al. 2020, section 5): exact for a quadratic loss but
// for rounding. Kinks that lie between the two, of ReLUs and max-pools, count as the bend that
// they are. Products are of float32 whatever the model's precision. Without labels and of v = 0
// it is 0; what is not finite makes it NaN. Grad is of no use afterwards. The first call makes
// room for a vector, and in bf16 for another workspace.
func (ws *Workspace) Hessian(dst, w, v []float32, b *Batch, o TrainOpts) {
	ws.m.check(dst)
	ws.m.check(w)
	ws.m.check(v)
	n := ws.m.Buffers().Lo
	length := kernels.Norm(v[:n])
	if length == 0 || ws.count(b) == 0 {
		clear(dst)
		return
	}
	if ws.moved == nil {
		ws.moved, ws.exact = ws.m.NewParams(), ws
		if ws.m.precision != FP32 {
			ws.exact = ws.m.WithPrecision(FP32).NewWorkspace()
		}
	}
	t, step := ws.exact, float32(hessianStep*(1+kernels.Norm(w[:n]))/length)
	o.Still = true
	gradient := func(step float32) {
		copy(ws.moved, w)
		kernels.Axpy(ws.moved[:n], step, v[:n])
		t.Gradient(ws.moved, b, o)
	}
	gradient(step)
	copy(dst, t.Grad())
	gradient(-step)
	kernels.Sub(dst, dst, t.Grad())
	kernels.Scale(dst, 1/(2*step))
	clear(dst[n:])
}

// CheckGradient compares the gradient of the mean loss over a batch at w, without dropout, with
// central differences of the loss, for tests of own layers and losses in float32. In turn it moves
// the values of each tensor that Export names in three drawn directions, by at most 1e-3, and
// returns an error that names the first tensor whose slope is off by more than .002 + .01 |g|,
// with the gradient g of the tensor. Grad is of no use afterwards.
func (ws *Workspace) CheckGradient(w []float32, b *Batch) error {
	const directions, step = 3, 1e-3
	ws.Gradient(w, b, TrainOpts{})
	trained := ws.m.Buffers().Lo
	gradients, same := slices.Clone(ws.Grad()), *b
	same.Share = 1 // norms by the batch, as in training
	at := func(v []float32, step float32) float64 {
		moved := slices.Clone(w)
		kernels.Axpy(moved, step, v)
		r := ws.Evaluate(moved, &same)
		return r.Mean()
	}
	draws := kernels.NewStream(1, 0)
	for i, g := range ws.m.Export(gradients) {
		for range directions {
			v, values := ws.m.NewParams(), ws.m.Export(ws.m.NewParams())
			for j := range values[i].Data {
				values[i].Data[j] = 2*draws.Float32() - 1
			}
			if err := ws.m.Import(v, values); err != nil {
				return err
			}
			if kernels.Norm(v[trained:]) > 0 {
				break // a buffer, which has none
			}
			got, want := kernels.Dot(gradients[:trained], v[:trained]), (at(v, step)-at(v, -step))/(2*step)
			if !(math.Abs(got-want) <= 2e-3+1e-2*kernels.Norm(g.Data)) {
				const text = "%s: along a direction the loss has the slope %.4g by the gradient, and %.4g by differences"
				return fmt.Errorf(text, g.Name, got, want)
			}
		}
	}
	return nil
}
