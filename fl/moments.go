package fl

import (
	"fmt"
	"math"

	"github.com/fedfast/fedfast/fl/hyper"
	"github.com/fedfast/fedfast/internal/key"
	"github.com/fedfast/fedfast/kernels"
	"github.com/fedfast/fedfast/nn"
)

// memories returns how many optimizers of a client remember something, 0 without
// Config.KeepOptimizer.
func (c *Config) memories() int {
	if !c.KeepOptimizer {
		return 0
	}
	return max(1, c.Method.Memories)
}

// A memory is what an optimizer remembers in a client's state: a head of three
// numbers, which rule it is of and the steps taken in two parts that a float32 holds
// exactly, then the velocity or first moment and the second moment, each of the
// model's size.
const (
	memoryHead  = 3
	memoryParts = 2
	stepBits    = 24
)

// The rules that a memory may be of.
const (
	nothingYet = iota
	ruleSGD
	ruleAdam // and AdamW, whose moments are the same
)

// memorySize returns the floats of a memory.
func memorySize(m *nn.Model) int { return memoryHead + memoryParts*m.Size() }

// checkKept returns an error for hyperparameters that keep what optimizers remember
// in an engine that does not.
func (c *Config) checkKept(p ClientParams) error {
	if p.Keeps() && !c.KeepOptimizer {
		return &key.Error{Key: "client.optimizer_state", Problem: fmt.Sprintf(" = %q: this engine keeps none; set Config.KeepOptimizer", hyper.Keep)}
	}
	return nil
}

// memory returns that of a run, nil for one that starts afresh.
func (l *Local) memory(r LocalRun, p ClientParams) []float32 {
	size := memorySize(l.engine.cfg.Model)
	if !p.Keeps() || r.Afresh || len(l.memories) < (r.Memory+1)*size {
		return nil
	}
	return l.memories[r.Memory*size:][:size]
}

// recall has an optimizer go on from a memory.
func recall(opt *nn.Optimizer, memory []float32) {
	head, moments := memory[:memoryHead], memory[memoryHead:]
	half := len(moments) / memoryParts
	opt.Velocity = moments[:half]
	if opt.Adam.On {
		opt.Second = moments[half:]
	}
	if head[0] == rule(opt) {
		opt.Steps = int(head[1]) + int(head[2])<<stepBits
	}
}

// remember notes how far the optimizer of a memory has come.
func remember(opt *nn.Optimizer, memory []float32) {
	memory[0] = rule(opt)
	memory[1], memory[2] = float32(opt.Steps&(1<<stepBits-1)), float32(opt.Steps>>stepBits)
}

// rule returns which rule an optimizer goes by.
func rule(opt *nn.Optimizer) float32 {
	if opt.Adam.On {
		return ruleAdam
	}
	return ruleSGD
}

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
