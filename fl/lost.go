package fl

import "math"

// lost says whether a run of local steps, one of which has just measured a loss, can be
// given up with the same result: the weights' outputs are NaN and remain so, so that
// the client measures and returns nothing finite and is left out. Arms of a wide
// space of learning rates have many such clients, most of them from their first steps on.
func (l *Local) lost(r LocalRun, w []float32, probed bool, loss float64) bool {
	if !math.IsNaN(loss) || probed || l.subnet != nil || r.Weights != nil || r.Each != nil || r.Other {
		return false
	}
	return l.engine.cfg.Model.Lost(w)
}

// skip counts so many steps as if they were taken: what the client costs on a device and
// the batches that it draws later are the same.
func (b *Batches) skip(steps int) {
	b.l.Steps += steps
	for range steps {
		b.count(b.next())
	}
}
