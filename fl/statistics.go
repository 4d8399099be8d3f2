package fl

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"github.com/fedfast/fedfast/data"
	"github.com/fedfast/fedfast/fl/internal/shard"
	"github.com/fedfast/fedfast/internal/key"
	"github.com/fedfast/fedfast/internal/list"
	"github.com/fedfast/fedfast/kernels"
	"github.com/fedfast/fedfast/kernels/det"
	"github.com/fedfast/fedfast/nn"
)

// What becomes of the buffers of a model, the running statistics of batch normalization,
// see Config.Statistics.
const (
	// StatisticsAverage averages them with the clients' weights, whatever the server's
	// optimizer does.
	StatisticsAverage = "average"
	// StatisticsKeep has each client keep its normalizations: scales, shifts and statistics
	// (FedBN, Li et al. 2021). The model of the trial has the means of its cohorts', which
	// a client that trains for the first time begins with.
	StatisticsKeep = "keep"
	// StatisticsAffineShared has each client keep the statistics alone (SiloBN, Andreux et
	// al. 2020, arXiv:2007.08424).
	StatisticsAffineShared = "affine-shared"
	// StatisticsBatch has the round's clients compute those of each new model, by one pass
	// over their training samples that normalizes by its batches, as training does: their
	// means over the samples (static batch normalization, Diao et al. 2021, arXiv:2010.01264,
	// which passes over all clients' samples). What clients make of them in training is lost.
	StatisticsBatch = "batch"
)

// statistics returns what becomes of the buffers.
func (c *Config) statistics() string {
	return cmp.Or(c.Statistics, c.Method.Statistics, StatisticsAverage)
}

// keptSpans returns where the values lie that each client keeps instead of sending them.
func (c *Config) keptSpans() []nn.Span {
	if c.Model == nil || c.Model.NumBuffers() == 0 {
		return nil
	}
	switch buffers := c.Model.Buffers(); c.statistics() {
	case StatisticsKeep:
		return append(c.Model.Normalizations(), buffers)
	case StatisticsAffineShared:
		return []nn.Span{buffers}
	}
	return nil
}

// keepsStatistics reports whether a client has such values; without a Model, whether it
// has any of a model with batch normalization.
func (c *Config) keepsStatistics() bool {
	return c.keptLen() > 0 || c.Model == nil && ownStatistics(c.statistics())
}

// ownStatistics reports whether clients keep statistics of their own.
func ownStatistics(what string) bool {
	return what == StatisticsKeep || what == StatisticsAffineShared
}

// asideSpans returns where the values lie that only their means move: no norm, probe or
// optimizer of the server sees them.
func (c *Config) asideSpans() []nn.Span {
	if kept := c.keptSpans(); kept != nil || c.Model.NumBuffers() == 0 {
		return kept
	}
	return []nn.Span{c.Model.Buffers()}
}

// keptLen returns the floats of what a client keeps by Statistics.
func (c *Config) keptLen() int { return length(c.keptSpans()) }

// length returns the floats of spans.
func length(spans []nn.Span) (n int) {
	for _, s := range spans {
		n += s.Len()
	}
	return n
}

// Sent returns how many values go to a client that trains the whole network, and back.
func (c *Config) Sent() int {
	n := c.Model.NumTrainable() + c.sentBuffers()
	if c.statistics() == StatisticsKeep {
		n -= c.Model.NumNormalizations()
	}
	return n
}

// sentBuffers returns how many of them are statistics, to which nothing happens on their way.
func (c *Config) sentBuffers() int {
	if c.statistics() == StatisticsAverage {
		return c.Model.NumBuffers()
	}
	return 0
}

// checkStatistics returns an error for a method or a setting that buffers do not go with.
func (c *Config) checkStatistics() error {
	names, m := []string{StatisticsAverage, StatisticsKeep, StatisticsAffineShared, StatisticsBatch}, &c.Method
	bad := func(format string, args ...any) error {
		return &key.Error{Key: "norm.statistics", Problem: fmt.Sprintf(" = %q: ", c.statistics()) + fmt.Sprintf(format, args...)}
	}
	switch keep := ownStatistics(c.statistics()); {
	case !slices.Contains(names, c.statistics()):
		return bad("must be average, keep, affine-shared or batch")
	case m.Statistics != "" && c.statistics() != m.Statistics:
		return bad("method %q has %q; leave it out", m.Name, m.Statistics)
	case c.Statistics != "" && c.Statistics != StatisticsAverage && c.Model.NumBuffers() == 0:
		return bad("model %s has no batch normalization; use a model that has, or leave it out", c.Model.Name())
	case c.Model.NumBuffers() == 0:
		return nil
	case c.Privacy != nil:
		return &key.Error{Key: "dp", Problem: fmt.Sprintf(": model %s has batch normalization, whose statistics mix samples and are neither clipped nor noised; use groupnorm", c.Model.Name())}
	case m.Subnet != nil || m.Trains != nil:
		return fmt.Errorf("model %s has batch normalization, and method %q trains sub-networks, whose statistics are others; use groupnorm", c.Model.Name(), m.Name)
	case keep && m.NewSender != nil:
		return bad("the server of method %q makes each client's weights; use \"average\"", m.Name)
	case c.statistics() == StatisticsKeep && (m.StateLen != nil || m.Gather != nil):
		return bad("clients of method %q keep or send more than their weights, of the whole network; use \"average\" or \"affine-shared\"", m.Name)
	}
	return nil
}

// checkBatches returns an error for batches of one sample where the model needs more: those
// of clients that train by p.
func (c *Config) checkBatches(p ClientParams, clients ...data.Client) error {
	if c.Model.LeastBatch() < 2 {
		return nil
	}
	const needs = "batch normalization of vectors needs 2 or more"
	if p.Batch == 1 {
		return &key.Error{Key: "client.batch", Problem: " = 1: " + needs}
	}
	if p.Wrap {
		return nil
	}
	for i := range clients {
		client := &clients[i]
		n := client.Train.Len()
		if p.DealsOne(n) {
			return &key.Error{Key: "client.batch", Problem: fmt.Sprintf(" = %d: a batch of client %s, with %d training "+
				"samples, has 1, and %s; set client.wrap = true, or another batch size", p.Batch, client.ID, n, needs)}
		}
	}
	return nil
}

// ownValues puts what a client keeps by Statistics into its weights, which are then what
// was broadcast to it.
func (l *Local) ownValues() {
	if len(l.own) == 0 {
		return
	}
	if !l.Fresh {
		at := 0
		for _, s := range l.engine.kept {
			at += copy(l.Weights[s.Lo:s.Hi], l.own[at:])
		}
	}
	l.Broadcast = room(&l.worker.sent, len(l.Weights))
	copy(l.Broadcast, l.Weights)
}

// setAside takes what the server's optimizer must not see out of a trained client's
// weights, which then have no change there. It remembers the change from the server's
// weights, and in the client's state what it keeps.
func (l *Local) setAside(server []float32) {
	at := 0
	for _, s := range l.engine.kept {
		at += copy(l.own[at:], l.Weights[s.Lo:s.Hi])
	}
	w := l.worker
	w.aside = w.aside[:0]
	for _, s := range l.engine.aside {
		for i := s.Lo; i < s.Hi; i++ {
			w.aside = append(w.aside, server[i]-l.Weights[i])
		}
		copy(l.Weights[s.Lo:s.Hi], l.Broadcast[s.Lo:s.Hi])
		if l.Upload != nil {
			clear(l.Upload[s.Lo:s.Hi])
		}
	}
}

// putBack adds what was set aside to the change that the server gets, and reports
// whether all of it is finite.
func (l *Local) putBack(delta []float32) bool {
	if len(l.engine.aside) == 0 {
		return true
	}
	at := 0
	for _, s := range l.engine.aside {
		at += copy(delta[s.Lo:s.Hi], l.worker.aside[at:])
	}
	return det.Finite(kernels.Norm(l.worker.aside))
}

// Change writes Broadcast - Weights to dst, a vector of the model's size, without what Shared
// leaves out.
func (l *Local) Change(dst []float32) {
	kernels.Sub(dst, l.Broadcast, l.Weights)
	l.Shared(dst)
}

// Shared clears the values of v, a vector of the model's size, that no step of the server
// sees, so that norms and products with v leave them out: running statistics, of which only
// means are taken, and what the client keeps by Config.Statistics.
func (l *Local) Shared(v []float32) { l.engine.takeAside(v) }

// takeAside takes what clients set aside out of sums, nil or of the model's size: that of the
// first is returned.
func (e *Engine) takeAside(sums ...[]float32) (aside []float32) {
	for _, s := range e.aside {
		aside = append(aside, sums[0][s.Lo:s.Hi]...)
		for _, sum := range sums {
			if sum != nil {
				clear(sum[s.Lo:s.Hi])
			}
		}
	}
	return aside
}

// moveAside moves them in the weights as they were before the server's step.
func (t *Trial) moveAside(before, aside []float32) {
	at := 0
	for _, s := range t.engine.aside {
		kernels.Sub(t.weights[s.Lo:s.Hi], before[s.Lo:s.Hi], aside[at:at+s.Len()])
		at += s.Len()
	}
}

// refreshes reports whether a round ends with refresh.
func (t *Trial) refreshes() bool {
	return t.engine.cfg.statistics() == StatisticsBatch && t.engine.cfg.Model.NumBuffers() > 0
}

// remember returns what undoes the server's step and what goes with it, where refresh may fail
// after it.
func (t *Trial) remember() (putBack func()) {
	if !t.refreshes() {
		return func() {}
	}
	weights, versions, jobs := slices.Clone(t.weights), maps.Clone(t.versions), t.jobs
	server := list.Of(t.server.State(), slices.Clone)
	smooth := slices.Clone(t.smooth)
	for i := range smooth {
		smooth[i].Values = slices.Clone(smooth[i].Values)
	}
	return func() {
		copy(t.weights, weights)
		for i, a := range t.server.State() {
			copy(a, server[i])
		}
		t.smooth, t.versions, t.jobs = smooth, versions, jobs
	}
}

// refresh computes the statistics of the trial's model by the clients of a round, see
// StatisticsBatch. What is not finite is left out.
func (t *Trial) refresh(slots []Slot) error {
	e := t.engine
	if !t.refreshes() {
		return nil
	}
	b := e.cfg.Model.Buffers()
	sum, seen := make([]float64, b.Len()), 0.0
	for lo := 0; lo < len(slots); lo += shard.Group { // no more results at a time
		some := slots[lo:min(lo+shard.Group, len(slots))]
		each := make([][]float32, len(some))
		if err := e.pool.run(len(some), func(i int, w *worker) (err error) {
			each[i], err = w.statistics(t.weights, b, e.cfg.Data.Clients[some[i].Client].Train, e.cfg.Model.LeastBatch())
			return err
		}); err != nil {
			return err
		}
		for i, s := range each {
			n := float64(e.cfg.Data.Clients[some[i].Client].Train.Len())
			if s == nil || !det.Finite(kernels.Norm(s)) {
				continue
			}
			seen += n
			for at, x := range s {
				sum[at] += float64(n * float64(x))
			}
		}
	}
	if seen > 0 {
		for at, x := range sum {
			t.weights[b.Lo+at] = float32(x / seen)
		}
	}
	return nil
}

// statistics returns the buffers that weights have after a pass over v; nil where v has
// fewer samples than a batch needs.
func (w *worker) statistics(weights []float32, buffers nn.Span, v data.View, least int) ([]float32, error) {
	if v.Len() < least {
		return nil, nil
	}
	copy(w.local, weights)
	defer func() { w.batch.Share = 0 }()
	seen := 0
	err := w.eachBatch(v, nil, least, func(b *nn.Batch) {
		seen += b.N
		b.Share = float64(b.N) / float64(seen)
		w.ws.Evaluate(w.local, b)
	})
	if err != nil {
		return nil, err
	}
	return slices.Clone(w.local[buffers.Lo:buffers.Hi]), nil
}
