package nn

import "github.com/fedfast/fedfast/tensor"

// sharedMemory is memory that several layers of a chain use one after the other for outputs,
// or for gradients, that need not last: so it stays in a near cache. Layers take the two of
// a level by turns, so that one can read what the layer beside it made.
type sharedMemory struct {
	users []*Act
	size  int
	by    *held // whose output it has
}

// sharedKey tells them apart. Images with a border, whose zeros must stay, share with those
// of the same size alone.
type sharedKey struct {
	level, turn int
	gradient    bool
	branch      int // 1 and up: a gradient of all samples of a chunk, in that branch of a block
	flow        Flow
	border      Border
	samples     int
}

// share lays out a in memory that others use too, which it gets when all layers are made.
func (e *Env) share(a *Act, f Flow, b Border, samples int, gradient bool) *sharedMemory {
	k := sharedKey{level: e.scratch.level, turn: *e.turn & 1, gradient: gradient}
	switch {
	case samples == 0:
		k.turn, k.branch = *e.turn>>2&1, 1+e.branch
		*e.turn ^= 4
	case gradient:
		k.turn = *e.turn >> 1 & 1
		*e.turn ^= 2
	default:
		*e.turn ^= 1
	}
	if b != (Border{}) {
		k.flow, k.border, k.samples = f, b, samples
	}
	p := e.scratch.pools[k]
	if p == nil {
		if p = e.scratch.pool(); e.scratch.pools == nil {
			e.scratch.pools = map[sharedKey]*sharedMemory{}
		}
		e.scratch.pools[k] = p
	}
	p.serve(a, f, e.Samples, b, samples)
	return p
}

// pool returns new memory to share.
func (s *scratch) pool() *sharedMemory {
	p := &sharedMemory{}
	s.order = append(s.order, p)
	return p
}

// serve lays out a in the memory for some samples at a time.
func (p *sharedMemory) serve(a *Act, f Flow, all int, b Border, samples int) {
	var size int
	*a, size = shapeAct(f, all, b, samples)
	p.users, p.size = append(p.users, a), max(p.size, size)
}

// allocate gives the pools their memory.
func (s *scratch) allocate(arena *tensor.Arena) {
	for _, p := range s.order {
		data := arena.Alloc(p.size)
		for _, a := range p.users {
			a.Data = data
		}
	}
}

// nearGradient makes a what Gradient returns, in memory that other layers use too where it
// need not last. Backward must write all floats of each pixel.
func (e *Env) nearGradient(a *Act) {
	if !e.NeedDX || e.shareGrad == 0 && !e.gives || e.turn == nil {
		*a = e.Gradient()
		return
	}
	e.share(a, e.in, e.gradBorder, e.shareGrad, true)
}

// nearOutput does the same with the output of a remaker.
func (e *Env) nearOutput(a *Act) held {
	if e.output != nil {
		e.output.serve(a, e.out, e.Samples, e.outBorder, e.outputs)
		return held{y: a, pool: e.output}
	}
	if e.shareOut == 0 || e.turn == nil || e.last {
		*a = e.Output()
		return held{y: a}
	}
	return held{y: a, pool: e.share(a, e.out, e.outBorder, e.shareOut, false)}
}
