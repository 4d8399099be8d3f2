package nn

import "slices"

// layGradients gives the gradients of what parts give their memory, that of others where it
// is free again: the backward pass goes from the last part to the first, and that of a part
// is begun by its last reader. What only a sum reads, and does not change its gradient, takes
// that of the sum. What only a mix reads has memory from when it is worked on, and gets its
// share then. only are the parts' only readers.
func (s *graphState) layGradients(e *Env, only []int) {
	type shape struct {
		flow   Flow
		border Border
	}
	free := map[shape][]Act{}
	shapeOf := func(p part) shape {
		if len(p.chain) == 0 {
			return shape{p.out(), Border{}}
		}
		return shape{p.out(), p.last().Traits().GradBorder}
	}
	users := map[*float32]int{} // parts further down whose gradient is here
	take := func(i int) {
		k := shapeOf(s.b.parts[i])
		s.parts[i].grad = pop(free, k, func() Act { return newAct(e.Arena, k.flow, e.Samples, k.border, s.b.group) })
	}
	leave := func(i int) { // what part i has
		if g := s.parts[i].grad; g.Data != nil && users[&g.Data[0]] == 0 {
			k := shapeOf(s.b.parts[i])
			free[k] = append(free[k], g)
		}
	}
	for i := range slices.Backward(s.parts) {
		by := s.parts[i].mixedBy
		if by > 0 {
			take(i)
		}
		for _, from := range s.b.parts[i].from {
			if from < 0 || !s.parts[from].needs || s.parts[from].grad.Data != nil {
				continue
			}
			if g := s.parts[i].grad; g.Data != nil && only[from] == i && s.b.joins(i, joinAdd) && len(s.b.parts[from].chain) == 0 {
				s.parts[from].grad, s.parts[from].lent = g, true
				users[&g.Data[0]]++
				continue
			}
			if g := s.parts[i].grad; g.Data != nil && only[from] == i && s.b.joins(i, joinMix) && len(s.b.parts[from].chain) > 0 {
				s.parts[from].mixedBy = i
				users[&g.Data[0]]++
				continue
			}
			take(from)
		}
		if s.parts[i].lent {
			users[&s.parts[i].grad.Data[0]]--
		}
		leave(i)
		if by > 0 {
			users[&s.parts[by].grad.Data[0]]--
			leave(by)
		}
	}
}

// joins reports whether a part is a join of inputs, and no more.
func (b *boundGraph) joins(i int, j string) bool {
	return b.parts[i].join == j && len(b.parts[i].chain) == 0
}

// onlyReaders returns, for each part, the one that alone reads what it gives, and once; -1
// where there is no such part.
func (b *boundGraph) onlyReaders() []int {
	all, reads := make([]int, len(b.parts)), make([]int, len(b.parts))
	for i, p := range b.parts {
		for _, from := range p.from {
			if from >= 0 {
				all[from], reads[from] = i, reads[from]+1
			}
		}
	}
	for i, n := range reads {
		if n != 1 {
			all[i] = -1
		}
	}
	return all
}

// passing is memory for what parts give that is read soon and then not again: it goes from one
// to the next that gives something of the same size once that is read.
type passing struct {
	joined  map[Flow][]Act
	outputs map[Flow][]*sharedMemory
}

// pop returns the last one of what is free, or what make makes.
func pop[K comparable, T any](free map[K][]T, k K, make func() T) T {
	if n := len(free[k]); n > 0 {
		x := free[k][n-1]
		free[k] = free[k][:n-1]
		return x
	}
	return make()
}

// early reports whether the mix that part i alone is for can take it when it is worked on: the inputs
// before it are there, and nothing works in memory until then that the sum could be in.
func (b *boundGraph) early(i, mix, place int) bool {
	for _, from := range b.parts[mix].from[:place] {
		if from > i {
			return false
		}
	}
	return !slices.ContainsFunc(b.parts[i+1:mix], func(p part) bool { return p.join != "" })
}
