package order

import "sort"

// Ranked is a client with its weight, above 0.
type Ranked struct {
	Weight int64
	Client int32
}

// Before orders the highest weights first, equal ones by client.
func (a Ranked) Before(b Ranked) bool {
	return a.Weight > b.Weight || a.Weight == b.Weight && a.Client < b.Client
}

// blockSize is how many of a ranking are moved at most when one is put in.
const blockSize = 256

// block has some of a ranking, in their order.
type block struct {
	n   int
	sum int64
	of  [blockSize]Ranked
}

// Ranking has clients in the order of their weights, in blocks. Its sums are exact.
type Ranking struct {
	blocks, spare []*block // without empty ones
	n             int
}

// Len returns the number of clients.
func (r *Ranking) Len() int { return r.n }

// Fill replaces all by sorted ones.
func (r *Ranking) Fill(sorted []Ranked) {
	r.spare, r.blocks, r.n = append(r.spare, r.blocks...), r.blocks[:0], len(sorted)
	for len(sorted) > 0 {
		b := r.empty()
		b.n = copy(b.of[:blockSize*3/4], sorted)
		for _, x := range b.of[:b.n] {
			b.sum += x.Weight
		}
		r.blocks, sorted = append(r.blocks, b), sorted[b.n:]
	}
}

// empty returns an empty block.
func (r *Ranking) empty() *block {
	last := len(r.spare) - 1
	if last < 0 {
		return &block{}
	}
	b := r.spare[last]
	r.spare = r.spare[:last]
	b.n, b.sum = 0, 0
	return b
}

// place returns where x is, or belongs: a block, and a place in it.
func (r *Ranking) place(x Ranked) (at, i int) {
	at = max(sort.Search(len(r.blocks), func(i int) bool { return x.Before(r.blocks[i].of[0]) })-1, 0)
	b := r.blocks[at]
	return at, sort.Search(b.n, func(i int) bool { return !b.of[i].Before(x) })
}

// Put adds one that is not in the ranking.
func (r *Ranking) Put(x Ranked) {
	if len(r.blocks) == 0 {
		r.blocks = append(r.blocks, r.empty())
	}
	at, i := r.place(x)
	b := r.blocks[at]
	if b.n == blockSize {
		half := r.empty()
		half.n = copy(half.of[:], b.of[blockSize/2:])
		for _, y := range half.of[:half.n] {
			half.sum += y.Weight
		}
		b.n, b.sum = blockSize/2, b.sum-half.sum
		r.blocks = append(r.blocks, nil)
		copy(r.blocks[at+2:], r.blocks[at+1:])
		if r.blocks[at+1] = half; i > b.n {
			b, i = half, i-b.n
		}
	}
	copy(b.of[i+1:b.n+1], b.of[i:b.n])
	b.of[i] = x
	b.n++
	b.sum += x.Weight
	r.n++
}

// Take removes one that is in the ranking.
func (r *Ranking) Take(x Ranked) {
	at, i := r.place(x)
	b := r.blocks[at]
	copy(b.of[i:], b.of[i+1:b.n])
	b.n--
	b.sum -= x.Weight
	if r.n--; b.n == 0 {
		r.spare = append(r.spare, b)
		r.blocks = append(r.blocks[:at], r.blocks[at+1:]...)
	}
}

// At returns the one of a rank, from 0.
func (r *Ranking) At(rank int) Ranked {
	at := 0
	for ; rank >= r.blocks[at].n; at++ {
		rank -= r.blocks[at].n
	}
	return r.blocks[at].of[rank]
}

// Above returns the sum of the weights of at least cut.
func (r *Ranking) Above(cut int64) (sum int64) {
	for _, b := range r.blocks {
		if b.of[b.n-1].Weight >= cut {
			sum += b.sum
			continue
		}
		for i := 0; b.of[i].Weight >= cut; i++ {
			sum += b.of[i].Weight
		}
		break
	}
	return sum
}

// Find returns the one before which those of a weight of at most sum come.
func (r *Ranking) Find(sum int64) Ranked {
	at := 0
	for ; sum >= r.blocks[at].sum; at++ {
		sum -= r.blocks[at].sum
	}
	i := 0
	for ; sum >= r.blocks[at].of[i].Weight; i++ {
		sum -= r.blocks[at].of[i].Weight
	}
	return r.blocks[at].of[i]
}
