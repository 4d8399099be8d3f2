package nn

import (
	"fmt"
	"slices"

	"github.com/fedfast/fedfast/kernels"
	"github.com/fedfast/fedfast/kernels/det"
)

// mixture is a mix in its place. Its parameter is alpha, a number for each input.
type mixture struct {
	name string // of the weights
	zero bool
	n    int // numbers of alpha
	// owns says that the parameter lies here: this is the first Mix of that name.
	// Gradients reach last first.
	owns, last bool
}

// mixtures are the mixtures of a network that were bound so far.
type mixtures map[string][]*mixture

// add binds a mix of the inputs of a branch.
func (m mixtures) add(b Branch) (*mixture, error) {
	x := &mixture{name: b.Weights, zero: b.Zero, n: len(b.From), owns: true, last: true}
	if x.zero {
		x.n++
	}
	if before := m[x.name]; len(before) > 0 {
		if first := before[0]; first.n != x.n || first.zero != x.zero {
			return nil, fmt.Errorf("the weights %q have %d alternatives elsewhere and %d here; they must be equal", x.name, first.n, x.n)
		}
		before[len(before)-1].last = false
		x.owns = false
	}
	m[x.name] = append(m[x.name], x)
	return x, nil
}

// alphaDeviation is the deviation of alpha at first, as in DARTS.
const alphaDeviation = 1e-3

// params returns alpha, if it lies here.
func (x *mixture) params() []Param {
	if x == nil || !x.owns {
		return nil
	}
	p := biasParam(x.n, func(t []float32, s *kernels.Stream) { fillNormal(t, alphaDeviation, s) })
	p.Name, p.mixes = x.name+".alpha", true
	return []Param{p}
}

// size returns the packed floats of what lies here.
func (x *mixture) size() int {
	if x == nil || !x.owns {
		return 0
	}
	return kernels.Pad(x.n)
}

// mixState is a mix in one workspace.
type mixState struct {
	*mixture
	at    int       // offset of alpha
	share []float64 // softmax of alpha
	drawn int       // number of alpha whose input is given alone, -1 gives the sum
	// inner are the products of each input with the output's gradient, of the samples that
	// go through a graph at a time.
	inner    [][]float64
	measured bool // whether they belong to the present samples
	// Of each input, for a row: what it gave, its part of the product, and its share.
	inputs []Act
	apart  []bool // whether an input's product with the gradient is not for measure
	row    [][]float32
	part   []float64
	narrow []float32
	left   []int // inputs that are not apart
	next   int   // the first input that is not in the sum
}

// newState returns one of a mix whose own parameter would be at an offset. Where
// those of a name are is told from the first one to the others.
func (x *mixture) newState(e *Env, at, samples int) *mixState {
	if x == nil {
		return nil
	}
	if x.owns {
		if e.scratch.mixed == nil {
			e.scratch.mixed = map[string]int{}
		}
		e.scratch.mixed[x.name] = at
	}
	s := &mixState{mixture: x, at: e.scratch.mixed[x.name], share: make([]float64, x.n), inner: make([][]float64, samples)}
	for i := range s.inner {
		s.inner[i] = make([]float64, x.n)
	}
	n := x.n - s.of(0)
	s.apart, s.left = make([]bool, n), make([]int, 0, n)
	s.inputs, s.row, s.part, s.narrow = make([]Act, n), make([][]float32, n), make([]float64, n), make([]float32, n)
	return s
}

// drawing keeps the draws of mixed operations apart from those of dropout.
const drawing = 1 << 40

// begin computes the softmax of alpha, and draws by it if the run says so.
func (s *mixState) begin(r *Run) {
	alpha := r.W[s.at:][:s.n]
	most, sum := float64(slices.Max(alpha)), 0.0
	for k, a := range alpha {
		s.share[k] = det.Exp(float64(a) - most)
		sum += s.share[k]
	}
	for k := range s.share {
		s.share[k] /= sum
	}
	if s.drawn = -1; !r.drawn {
		return
	}
	at := kernels.NewStream(r.Key, drawing+uint64(s.at)).Float64()
	for s.drawn = 0; s.drawn+1 < s.n; s.drawn++ { // the last one, if sums round below 1
		if at -= s.share[s.drawn]; at < 0 {
			break
		}
	}
}

// reads reports whether input k counts.
func (s *mixState) reads(k int) bool { return s.drawn < 0 || s.drawn == s.of(k) }

// take makes dst what was drawn of the samples [lo, hi): src, or zeros without any.
func take(r *Run, dst, src Act, f Flow, lo, hi int) {
	n := f.W * f.Ld()
	for i := lo; i < hi; i++ {
		f.rows(r, i, func(row, y int) {
			if to := dst.At(row, y, 0)[:n]; src.Data == nil {
				clear(to)
			} else {
				copy(to, src.At(row, y, 0)[:n])
			}
		})
	}
}

// of returns the place of input k in alpha.
func (s *mixState) of(k int) int {
	if s.zero {
		return k + 1
	}
	return k
}

// rows calls f with every row of values of sample i of a run's chunk.
func (f Flow) rows(r *Run, i int, do func(row, y int)) {
	for t := range max(1, f.Seq) {
		for y := range f.H {
			do(t*r.N+i, y)
		}
	}
}

// upTo adds the shares of the inputs before k that are not in the sum dst.
func (s *mixState) upTo(k int, r *Run, dst Act, input func(k int) Act, f Flow, lo, hi int) {
	for ; s.next < k; s.next++ {
		s.add(r, dst, input(s.next), f, s.next, lo, hi, s.next > 0)
	}
}

// sum makes dst the sum of the inputs' shares of the samples [lo, hi), row by row.
func (s *mixState) sum(r *Run, dst Act, input func(k int) Act, f Flow, lo, hi int) {
	s.look(input)
	if s.next > 0 {
		s.upTo(len(s.inputs), r, dst, input, f, lo, hi)
		return
	}
	shares := s.shares()
	for i := lo; i < hi; i++ {
		f.rows(r, i, func(row, y int) { kernels.Blend(dst.At(row, y, 0)[:f.W*f.Ld()], shares, s.rows(row, y, f)) })
	}
}

// look has rows take what the inputs gave.
func (s *mixState) look(input func(k int) Act) {
	for k := range s.inputs {
		s.inputs[k] = input(k)
	}
}

// rows returns a row of each input.
func (s *mixState) rows(row, y int, f Flow) [][]float32 {
	n := f.W * f.Ld()
	for k := range s.inputs {
		s.row[k] = s.inputs[k].At(row, y, 0)[:n]
	}
	return s.row
}

// shares returns those of the inputs.
func (s *mixState) shares() []float32 {
	for k := range s.narrow {
		s.narrow[k] = float32(s.share[s.of(k)])
	}
	return s.narrow
}

// add adds the share of input k of the samples [lo, hi) to dst, or begins it.
func (s *mixState) add(r *Run, dst, src Act, f Flow, k, lo, hi int, begun bool) {
	n, share, give := f.W*f.Ld(), float32(s.share[s.of(k)]), kernels.ScaleTo
	if begun {
		give = kernels.Axpy
	}
	for i := lo; i < hi; i++ {
		f.rows(r, i, func(row, y int) { give(dst.At(row, y, 0)[:n], share, src.At(row, y, 0)[:n]) })
	}
}

// measure computes the products inner of sample i.
func (s *mixState) measure(r *Run, inner []float64, dy Act, f Flow, i int, input func(k int) Act) {
	n := f.W * f.Ld()
	inner = inner[s.of(0):]
	clear(inner)
	if s.drawn < 0 {
		s.look(input)
		f.rows(r, i, func(row, y int) {
			rows, left := s.row[:0], s.left[:0]
			for k, x := range s.inputs {
				if !s.apart[k] {
					rows, left = append(rows, x.At(row, y, 0)[:n]), append(left, k)
				}
			}
			kernels.Dots(s.part[:len(rows)], dy.At(row, y, 0)[:n], rows)
			for j, k := range left {
				inner[k] += s.part[j]
			}
		})
	} else if k := s.drawn - s.of(0); k >= 0 {
		x := input(k)
		f.rows(r, i, func(row, y int) { inner[k] += kernels.Dot(dy.At(row, y, 0)[:n], x.At(row, y, 0)[:n]) })
	}
}

// slope adds the part of sample i to the gradient of alpha: with g_k the product of
// input k with dy, and p the softmax, p_k (g_k - sum_j p_j g_j), or where z was drawn
// g_z (1[k = z] - p_k).
func (s *mixState) slope(r *Run, inner []float64, i int) {
	mean := 0.0
	for k := s.of(0); k < s.n; k++ {
		if s.drawn < 0 || s.drawn == k {
			mean += float64(s.share[k] * inner[k])
		}
	}
	grad := r.G[s.at:][:kernels.Pad(s.n)]
	if s.last && r.Starts(i) {
		clear(grad)
	}
	if s.drawn >= 0 {
		worth := 0.0 // of zeros
		if s.drawn >= s.of(0) {
			worth = inner[s.drawn]
		}
		for k, p := range s.share {
			if k == s.drawn {
				grad[k] += float32(worth * (1 - p))
			} else {
				grad[k] -= float32(worth * p)
			}
		}
		return
	}
	for k, p := range s.share {
		grad[k] += float32(p * (inner[k] - mean))
	}
}

// firstMixing returns where the first of them lies, the model's size without any.
func (m *Model) firstMixing() int {
	first := m.Size()
	m.each(func(i int, _ string, p Param, offset int) {
		if p.mixes && (m.trainable == nil || m.trainable[i]) {
			first = min(first, offset)
		}
	})
	return first
}

// Mixing returns where the weights of mixed operations lie, the alpha of every mix, in
// ascending order, without those that are frozen.
func (m *Model) Mixing() []Span {
	var all []Span
	m.each(func(i int, _ string, p Param, offset int) {
		if p.mixes && (m.trainable == nil || m.trainable[i]) {
			all = append(all, Span{offset, offset + p.Size})
		}
	})
	return all
}
