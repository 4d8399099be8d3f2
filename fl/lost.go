package fl

import (
	"math"

	"github.com/fedfast/fedfast/kernels"
)

// lost says whether a run of local steps, one of which has just measured a loss, can be
// given up with the same result: the weights' outputs are NaN and remain so, so that
// the client measures and returns nothing finite and is left out. Where the body is
// trained, it has a NaN of its own by then, since some methods return it alone. Arms of
// a wide space of learning rates have many such clients, most of them from their first
// steps on.
func (l *Local) lost(r LocalRun, w []float32, probed bool, loss float64) bool {
	if !math.IsNaN(loss) || probed || l.subnet != nil || r.Weights != nil || r.Each != nil || r.Before != nil || r.Other || !l.engine.cfg.Model.Lost(w) {
		return false
	}
	body := w[:l.Body().Hi]
	return r.Only == l.Head() || len(body) == 0 || math.IsNaN(kernels.Dot(body, body)) // of squares, NaN only with one in it
}

// skip counts a number of steps as if they had been taken, except for their labels: what
// the client costs on a device and the batches that it draws later are the same, and its
// loss is NaN over any number of steps.
func (b *Batches) skip(steps int) {
	b.l.Steps += steps
	for range steps {
		b.count(b.next())
	}
}
