package fl

import (
	"github.com/fedfast/fedfast/kernels"
	"github.com/fedfast/fedfast/nn"
)

// hessianStep is the length of the displacement by which Hessians are measured.
const hessianStep = 1e-3

// hessianVector writes H q to dst, where H is the Hessian of the loss of a batch at
// w: the central difference (grad(w + d q) - grad(w - d q))/2d with
// d = 1e-3/|q|, both on the same batch and dropout masks. scratch is another
// weight-sized vector.
func (l *Local) hessianVector(dst, scratch, w, q []float32, b *nn.Batch, o nn.TrainOpts) {
	norm := kernels.Norm(q)
	if norm == 0 || !finite(norm) {
		clear(dst)
		return
	}
	d := hessianStep / norm
	side := func(d float64) []float32 {
		copy(scratch, w)
		kernels.Axpy(scratch, float32(d), q)
		l.worker.ws.Gradient(scratch, b, o)
		return l.worker.ws.Grad()
	}
	copy(dst, side(d))
	kernels.Sub(dst, dst, side(-d))
	kernels.Scale(dst, float32(1/(2*d)))
	l.flops += 2 * float64(b.N) * l.exampleFLOPs
}
