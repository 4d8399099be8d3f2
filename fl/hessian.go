package fl

import (
	"fmt"

	"github.com/fedfast/fedfast/nn"
)

// hessian writes H v to dst, where H is the Hessian at w of the loss of a batch, with
// the dropout masks of o.
func (l *Local) hessian(dst, w, v []float32, b *nn.Batch, o nn.TrainOpts) {
	l.worker.ws.Hessian(dst, w, v, b, o)
	l.flops += float64(b.N) * l.engine.hessianFLOPs
}

// needsHessian is the fit of methods that multiply with Hessians.
func (e *Engine) needsHessian() error {
	if err := e.cfg.Model.CheckHessian(); err != nil {
		return fmt.Errorf("method %q: %w", e.cfg.Method.Name(), err)
	}
	return nil
}
