package nn

import "github.com/fedfast/fedfast/kernels"

// groupNormState is a group normalisation in one workspace. Sums over an image are
// taken in float64, pixel after pixel for each channel and then over the channels
// of a group.
type groupNormState struct {
	held
	normWeights
	b           *boundGroupNorm
	x, y, dx    Act
	mean, scale []float64 // of each sample's groups; scale is 1/sqrt(variance + Epsilon)
	// norm holds two sums for each channel, and the factors: dx = Grad*dy + Value*x
	// + Shift. forward has those of y = Value*x + Shift, which the backward pass of an
	// activation needs again: factors holds both of each sample.
	norm, forward kernels.ImageNorm
	factors       []float32
	groups        kernels.NormGroups
	dots          []float32 // of each row, see backwardShare
}

func (b *boundGroupNorm) NewState(e *Env) State {
	ld := b.in.Ld()
	s := &groupNormState{
		b: b, normWeights: newNormWeights(e, ld, b.l.NoAffine),
		mean: make([]float64, e.Samples*b.l.Groups), scale: make([]float64, e.Samples*b.l.Groups),
		norm: kernels.ImageNorm{
			H: b.in.H, W: b.in.W, C: ld, ReLU: b.relu, HardSwish: b.swish,
			Value: e.Arena.Alloc(ld), Shift: e.Arena.Alloc(ld), Grad: e.Arena.Alloc(ld),
			Sum: make([]float64, ld), Inner: make([]float64, ld),
		},
	}
	s.held, s.dots = e.nearOutput(&s.y), make([]float32, b.in.H)
	s.forward = s.norm
	s.groups = kernels.NormGroups{
		Groups: b.l.Groups, Size: b.in.C / b.l.Groups, Count: b.values(), Epsilon: b.l.Epsilon, Sum: s.norm.Sum, Inner: s.norm.Inner,
	}
	s.factors = e.Arena.Alloc(2 * ld * e.Samples)
	e.nearGradient(&s.dx)
	return s
}

// values returns the number of values of a group in one sample.
func (b *boundGroupNorm) values() float64 {
	return float64(b.in.H * b.in.W * (b.in.C / b.l.Groups))
}

func (s *groupNormState) Forward(r *Run, x Act, lo, hi int) Act {
	s.begin(r, x)
	for i := lo; i < hi; i++ {
		s.factor(i)
		s.normalize(i)
	}
	s.hold(max(lo, (hi-1)&s.y.Fold), hi)
	return s.y
}

// shares reports whether it can give and take its share of a mix.
func (s *groupNormState) shares() bool { return !s.b.relu && !s.b.swish }

// begin takes the input and the parameters of a forward pass.
func (s *groupNormState) begin(r *Run, x Act) {
	s.x = x
	s.groups.Weight, s.groups.Bias = s.of(r)
}

// factor computes what the output of sample i is made by, and has forward look at it.
func (s *groupNormState) factor(i int) {
	s.sums(i, s.x.At(i, 0, 0), s.x.Row)
	s.place(i)
	s.group(i)
	s.groups.Value, s.groups.Shift = s.forward.Value, s.forward.Shift
	kernels.NormFactors(&s.groups)
}

// forwardShare is Forward that gives a share of the output alone, which it adds to sum, or begins
// that.
func (s *groupNormState) forwardShare(r *Run, x, sum Act, share float32, begun bool, lo, hi int) {
	s.begin(r, x)
	s.lo, s.hi = 0, 0
	n := &s.forward
	for i := lo; i < hi; i++ {
		s.factor(i)
		n.Y, n.YRow = sum.At(i, 0, 0), sum.Row
		if begun {
			kernels.NormShareForward(n, share)
			continue
		}
		kernels.NormForward(n)
		for y := range n.H {
			kernels.Scale(n.Y[y*n.YRow:][:n.W*n.C], share)
		}
	}
}

// normalize computes the output of sample i, which forward looks at.
func (s *groupNormState) normalize(i int) {
	s.forward.Y, s.forward.YRow = s.y.At(i, 0, 0), s.y.Row
	kernels.NormForward(&s.forward)
}

func (s *groupNormState) remake(_ *Run, lo, hi int) {
	for i := lo; i < hi; i++ {
		s.place(i)
		s.normalize(i)
	}
	s.hold(lo, hi)
}

// place has forward look at sample i.
func (s *groupNormState) place(i int) {
	n := &s.forward
	n.X, n.XRow = s.x.At(i, 0, 0), s.x.Row
	f := s.factors[2*n.C*i:][:2*n.C]
	n.Value, n.Shift = f[:n.C], f[n.C:]
}

// group has groups look at sample i. The squares are exact in float64, so nothing is lost
// where the variance is far below the mean.
func (s *groupNormState) group(i int) {
	n := s.b.l.Groups
	s.groups.Mean, s.groups.Scale = s.mean[i*n:][:n], s.scale[i*n:][:n]
}

// sums computes, for each channel of sample i, the sum of v and that of v*x.
func (s *groupNormState) sums(i int, v []float32, row int) {
	n := &s.norm
	n.X, n.XRow = s.x.At(i, 0, 0), s.x.Row
	n.Y, n.YRow = v, row
	kernels.NormSums(n)
}

// Backward: with z = (x - mean)*scale and u = dy*weight, over a group of n values,
//
//	dx = scale * (u - sum(u)/n - z*sum(u z)/n)
func (s *groupNormState) Backward(r *Run, dy Act, lo, hi int) Act {
	for i := lo; i < hi; i++ {
		if s.b.relu || s.b.swish {
			s.place(i)
			s.forward.Y, s.forward.YRow = dy.At(i, 0, 0), dy.Row
			kernels.NormSlopeSums(&s.forward)
			s.norm.X, s.norm.XRow, s.norm.Y, s.norm.YRow = s.forward.X, s.forward.XRow, s.forward.Y, s.forward.YRow
		} else {
			s.sums(i, dy.At(i, 0, 0), dy.Row)
		}
		s.parameters(r, i)
		if s.dx.Data == nil {
			continue
		}
		s.norm.DX, s.norm.DXRow = s.dx.At(i, 0, 0), s.dx.Row
		kernels.NormBackward(&s.norm)
	}
	return s.dx
}

// backwardShare is Backward for a share of the gradient dy of sample i, and returns the product of
// dy with the output, row after row.
func (s *groupNormState) backwardShare(r *Run, share float32, dy Act, i int) (inner float64) {
	s.place(i)
	n := &s.forward
	n.Y, n.YRow = dy.At(i, 0, 0), dy.Row
	kernels.NormShareSums(n, share, s.b.in.C, s.dots)
	for _, x := range s.dots {
		inner += float64(x)
	}
	s.parameters(r, i)
	if s.dx.Data != nil {
		s.norm.X, s.norm.XRow, s.norm.Y, s.norm.YRow = n.X, n.XRow, n.Y, n.YRow
		s.norm.DX, s.norm.DXRow = s.dx.At(i, 0, 0), s.dx.Row
		kernels.NormShareBackward(&s.norm, share)
	}
	return inner
}

// parameters adds sample i's part of the gradients of weight and bias, and sets the
// factors of its gradient of x.
func (s *groupNormState) parameters(r *Run, i int) {
	s.group(i)
	g := &s.groups
	g.Weight, _ = s.of(r)
	g.WeightGrad, g.BiasGrad = s.gradients(r, r.Starts(i))
	g.Grad, g.Value, g.Shift = s.norm.Grad, s.norm.Value, s.norm.Shift
	kernels.NormGradients(g)
}
