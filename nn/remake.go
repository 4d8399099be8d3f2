package nn

import (
	"crypto/sha256"
	"encoding/hex"
	"math"

	"github.com/fedfast/fedfast/kernels"
	"github.com/fedfast/fedfast/tensor"
)

// remaker is a state that can make its output again from its input, of samples that it took
// forward. Where few samples share the memory of the output, which stays in a near cache,
// that takes less time than to write all of it to memory and to read it.
type remaker interface {
	State
	// lost reports whether the memory of the output has other samples than [lo, hi).
	lost(lo, hi int) bool
	remake(r *Run, lo, hi int)
}

// held is the range of samples that the memory of an output has, for a remaker.
type held struct {
	y      *Act
	pool   *sharedMemory // nil unless others write there
	lo, hi int
}

// hold notes that the samples [lo, hi) were made, one after the other.
func (h *held) hold(lo, hi int) {
	h.lo, h.hi = lo, hi
	if h.pool != nil {
		h.pool.by = h
	}
}

func (h *held) lost(lo, hi int) bool {
	return h.y.Fold != 0 && (lo < h.lo || hi > h.hi || h.pool != nil && h.pool.by != h)
}

// remake makes the outputs of the last states again that the next one reads in its backward
// pass of the samples [lo, hi).
func remake(states []State, r *Run, lo, hi int) {
	first := len(states)
	for first > 0 {
		m, ok := states[first-1].(remaker)
		if !ok || !m.lost(lo, hi) {
			break
		}
		first--
	}
	for _, s := range states[first:] {
		r.again(s.(remaker), lo, hi)
	}
}

// Displacement gathers, over the parts of a step, the products of its gradient g
// and of the displacement d = Anchor - w of the weights w after the step. g is
// what the step goes by before weight decay, proximal term and momentum, a
// TrainOpts.Shift included. It is computed while a part is still in the cache.
type Displacement struct {
	// Anchor is a vector of the model's size.
	Anchor []float32
	// Prior also gathers the products with the displacement before the step. Then
	// large dense layers are taken part by part.
	Prior bool

	sums, prior [3]float64 // of g*g, g*d and d*d
}

// Reset forgets what was gathered.
func (p *Displacement) Reset() { p.sums, p.prior = [3]float64{}, [3]float64{} }

// Cosine returns the cosine of g and d since Reset, 0 if one of them is 0.
func (p *Displacement) Cosine() float64 { return cosine(p.sums) }

// PriorCosine returns the cosine of g and the displacement before the step; ok is
// false if the weights were the anchor then, or Prior is not set.
func (p *Displacement) PriorCosine() (cos float64, ok bool) { return cosine(p.prior), p.prior[2] > 0 }

func cosine(sums [3]float64) float64 {
	gg, gd, dd := sums[0], sums[1], sums[2]
	if gg == 0 || dd == 0 {
		return 0
	}
	return gd / (math.Sqrt(gg) * math.Sqrt(dd))
}

// add adds the products of a part that starts at to sums.
func (p *Displacement) add(sums *[3]float64, w, g []float32, at int) {
	gg, gd, dd := kernels.Away(w, g, p.Anchor[at:at+len(w)])
	sums[0] += gg
	sums[1] += gd
	sums[2] += dd
}

// SHA256 returns the SHA-256, in hexadecimal, of the tensors that Export makes of packed
// weights, in the order of their names as little-endian float32. It is the same for every
// CPU level. A constant that a layer adds to a parameter, which ExportFolded folds in, is no
// part of it.
func (m *Model) SHA256(w []float32) string {
	h := sha256.New()
	m.check(w)
	for t := range m.byName(w, false) {
		h.Write(tensor.LittleEndian(t.Data))
	}
	return hex.EncodeToString(h.Sum(nil))
}

// spreads reports whether a flow is a vector for each sample that can be multiplied with all
// pixels of an image of as many channels.
func (f Flow) spreads(over Flow) bool {
	return f.Seq == 0 && over.Seq == 0 && f.H*f.W == 1 && f.C == over.C
}

// product is the join of two inputs of one shape, or of an image and a factor for each of
// its channels, in one workspace.
type product struct {
	whole Flow // the larger one
	space []float32
}

// add computes dst = a*b pixel by pixel, of the flows fd, fa and fb, or adds it once dst is
// begun. Of what has one pixel all others read that, and such a dst is the sum over the pixels.
func (p *product) add(dst, a, b Act, fd, fa, fb Flow, lo, hi int, begun bool) {
	w, part := p.whole, p.space
	for i := w.Rows(lo); i < w.Rows(hi); i++ {
		for y := range fd.H {
			if !begun {
				clear(dst.At(i, y, 0)[:fd.W*w.Ld()])
			}
		}
		for y := range w.H {
			for x := range w.W {
				kernels.Mul(part, a.pixel(i, y, x, fa)[:len(part)], b.pixel(i, y, x, fb)[:len(part)])
				d := dst.pixel(i, y, x, fd)[:len(part)]
				kernels.Add(d, d, part)
			}
		}
	}
}

// pixel returns that of row i at y and x, or the only one.
func (a Act) pixel(i, y, x int, f Flow) []float32 {
	if f.H*f.W == 1 {
		return a.At(i, 0, 0)
	}
	return a.At(i, y, x)
}
