package nn

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	"github.com/fedfast/fedfast/kernels"
)

// Sequence makes of an image the sequence of its pixels, row after row. Behind a
// convolution whose stride is its kernel these are the patches of a vision transformer
// (Dosovitskiy et al. 2021). With ClassToken a learned vector, the parameter
// class_token [1, 1, channels], which starts with normals of deviation 0.02, stands
// before them. A sequence it leaves as it is, but for the class token.
type Sequence struct{ ClassToken bool }

// Kind returns "sequence".
func (Sequence) Kind() string { return "sequence" }

// Abilities returns what the layer can do.
func (l Sequence) Abilities() Abilities {
	return Abilities{
		Narrow: Narrowing.Follow, Homogeneous: true,
		Blocks: ChannelBlocks("class_token"),
		Torch: func(t *Torch) {
			if t.In.Seq == 0 {
				t.Set("%s.flatten(2).transpose(1, 2)", t.X)
			}
			if l.ClassToken {
				t.Need("ClassToken", torchClassToken)
				t.Set("%s(%s)", t.Module("ClassToken(%d)", t.In.C), t.X)
			}
			t.Flat = false
		},
	}
}

const torchClassToken = `
class ClassToken(nn.Module):
    """Puts a learned vector before the steps of a sequence."""

    def __init__(self, size):
        super().__init__()
        self.class_token = nn.Parameter(torch.zeros(1, 1, size))

    def forward(self, x):
        return torch.cat((self.class_token.expand(x.shape[0], -1, -1), x), 1)
`

// Bind fixes the layer for its input.
func (l Sequence) Bind(in Flow) (Bound, error) {
	if in.Vocab > 0 || in.Raw || in.Seq > 0 && !l.ClassToken {
		return nil, errors.New("a sequence is made of the image of a convolution, or of a sequence of vectors with class_token")
	}
	b := &boundSequence{passive: passive{in}}
	if l.ClassToken {
		b.first = 1
	}
	return b, nil
}

type boundSequence struct {
	passive
	first int // step of the first pixel
}

func (b *boundSequence) Out() Flow {
	out := Flow{H: 1, W: 1, C: b.in.C, Seq: b.first + b.steps(), Lead: b.in.Lead + b.first}
	if b.in.Seq == 0 || b.in.Lead < 0 {
		out.Lead = -1 - out.Seq // not even when reversed
	}
	return out
}

// steps returns those of the input.
func (b *boundSequence) steps() int { return max(1, b.in.Seq) * b.in.H * b.in.W }

// at returns step p of sample i of n of the input.
func (b *boundSequence) at(x Act, p, i, n int) []float32 {
	if b.in.Seq > 0 {
		return x.At(p*n+i, 0, 0)
	}
	return x.At(i, p/b.in.W, p%b.in.W)
}

func (b *boundSequence) Params() []Param {
	if b.first == 0 {
		return nil
	}
	p := biasParam(b.in.C, func(t []float32, s *kernels.Stream) { fillNormal(t, smallDeviation, s) })
	p.Name, p.Shape = "class_token", []int{1, 1, b.in.C}
	return []Param{p}
}

// smallDeviation is the deviation of the normals with which transformers start what is added
// to values.
const smallDeviation = 0.02

// fillNormal draws normals of a deviation.
func fillNormal(t []float32, deviation float64, s *kernels.Stream) {
	for i := range t {
		t[i] = float32(s.NormFloat64() * deviation)
	}
}

func (b *boundSequence) NewState(e *Env) State {
	s := &sequenceState{b: b, token: e.Offset, y: e.Output()}
	s.dx = e.Gradient()
	return s
}

type sequenceState struct {
	b     *boundSequence
	token int // offset of the class token
	y, dx Act
}

func (s *sequenceState) Forward(r *Run, x Act, _, _ int) Act {
	ld, n := s.b.in.Ld(), r.N
	for i := range n {
		if s.b.first == 1 {
			copy(s.y.At(i, 0, 0)[:ld], r.W[s.token:])
		}
		for p := range s.b.steps() {
			copy(s.y.At((s.b.first+p)*n+i, 0, 0)[:ld], s.b.at(x, p, i, n))
		}
	}
	return s.y
}

func (s *sequenceState) Backward(r *Run, dy Act, _, _ int) Act {
	ld := s.b.in.Ld()
	if s.b.first == 1 {
		g := r.G[s.token:][:ld]
		if r.Starts(0) {
			clear(g)
		}
		kernels.ColSum(g, dy.At(0, 0, 0), r.N, ld, dy.Sample)
	}
	if s.dx.Data == nil {
		return s.dx
	}
	for i := range r.N {
		for p := range s.b.steps() {
			copy(s.b.at(s.dx, p, i, r.N)[:ld], dy.At((s.b.first+p)*r.N+i, 0, 0))
		}
	}
	return s.dx
}

// Positions adds a learned vector to every step of a sequence: the parameter weight
// [steps, channels], which starts with normals of deviation 0.02.
type Positions struct{}

// Kind returns "positions".
func (Positions) Kind() string { return "positions" }

// Abilities returns what the layer can do.
func (Positions) Abilities() Abilities {
	return Abilities{
		Narrow: Narrowing.Follow, Homogeneous: true,
		Blocks: func(_ Stage, in []int) Blocks {
			return Blocks{Params: map[string][2][]int{"weight": {nil, in}}, Out: in}
		},
		Torch: func(t *Torch) {
			t.Need("Positions", torchPositions)
			t.Set("%s(%s)", t.Module("Positions(%d, %d)", t.In.Seq, t.In.C), t.X)
		},
	}
}

const torchPositions = `
class Positions(nn.Module):
    """Adds a learned vector to each step of a sequence."""

    def __init__(self, steps, size):
        super().__init__()
        self.weight = nn.Parameter(torch.zeros(steps, size))

    def forward(self, x):
        return x + self.weight
`

// Bind fixes the layer for its input.
func (Positions) Bind(in Flow) (Bound, error) {
	if in.Seq < 1 || in.Vocab > 0 {
		return nil, errors.New("positions are added to a sequence of vectors; an embedding must come before on tokens")
	}
	return &boundPositions{passive: passive{in}}, nil
}

type boundPositions struct{ passive }

func (b *boundPositions) Params() []Param {
	steps, c, ld := b.in.Seq, b.in.C, b.in.Ld()
	return []Param{{
		Name: "weight", Shape: []int{steps, c}, Size: steps * ld,
		Init: func(t []float32, s *kernels.Stream) { fillNormal(t, smallDeviation, s) },
		Pack: func(packed, t []float32) {
			for i := range steps {
				copy(packed[i*ld:], t[i*c:][:c])
			}
		},
		Unpack: func(t, packed []float32) {
			for i := range steps {
				copy(t[i*c:][:c], packed[i*ld:])
			}
		},
	}}
}

func (b *boundPositions) NewState(e *Env) State {
	return &positionsState{in: b.in, at: e.Offset, y: e.Output()}
}

type positionsState struct {
	in Flow
	at int // offset of the parameter
	y  Act
}

func (s *positionsState) Forward(r *Run, x Act, _, _ int) Act {
	ld := s.in.Ld()
	for t := range s.in.Seq {
		for i := t * r.N; i < (t+1)*r.N; i++ {
			kernels.Add(s.y.At(i, 0, 0)[:ld], x.At(i, 0, 0)[:ld], r.W[s.at+t*ld:][:ld])
		}
	}
	return s.y
}

func (s *positionsState) Backward(r *Run, dy Act, _, _ int) Act {
	ld := s.in.Ld()
	g := r.G[s.at:][:s.in.Seq*ld]
	if r.Starts(0) {
		clear(g)
	}
	for t := range s.in.Seq {
		kernels.ColSum(g[t*ld:], dy.At(t*r.N, 0, 0), r.N, ld, dy.Sample)
	}
	return dy
}

// Steps takes from a sequence one vector: that of its step Take, "first" or "last", or the "mean" of all
// steps. Without Take it is the last one.
type Steps struct {
	Take string
	// MaskPadding leaves the steps out whose token is 0, but no class token. Where that
	// is all of them, the mean is 0, and the first step is also the last one.
	MaskPadding bool
}

// Kind returns "steps".
func (Steps) Kind() string { return "steps" }

// Abilities returns what the layer can do.
func (l Steps) Abilities() Abilities {
	return Abilities{
		Narrow: Narrowing.Follow, Homogeneous: true, Tokens: l.MaskPadding,
		Torch: func(t *Torch) {
			take := cmp.Or(l.Take, "last")
			form := map[string]string{"last": "%s[:, -1]", "first": "%s[:, 0]", "mean": "%s.mean(1)"}[take]
			if l.MaskPadding {
				t.Need("real", torchReal)
				form = take + "_real(%s, tokens)"
			}
			t.Set(form, t.X)
			t.Flat = true
		},
	}
}

const torchReal = `
def real(x, tokens):
    """The steps whose token is not 0, and those that come before the tokens'."""
    return nn.functional.pad(tokens != 0, (x.shape[1] - tokens.shape[1], 0), value=True)


def first_real(x, tokens):
    """The first step whose token is not 0."""
    return x[torch.arange(x.shape[0], device=x.device), real(x, tokens).int().argmax(1)]


def last_real(x, tokens):
    """The last step whose token is not 0."""
    places = torch.arange(x.shape[1], device=x.device)
    return x[torch.arange(x.shape[0], device=x.device), (real(x, tokens) * places).argmax(1)]


def mean_real(x, tokens):
    """The mean of the steps whose token is not 0."""
    there = real(x, tokens).unsqueeze(2)
    return (x * there).sum(1) / there.sum(1).clamp(min=1)
`

// Bind fixes the layer for its input.
func (l Steps) Bind(in Flow) (Bound, error) {
	if in.Seq < 1 || in.Vocab > 0 {
		return nil, errors.New("steps are taken from a sequence of vectors")
	}
	if !slices.Contains([]string{"", "last", "first", "mean"}, l.Take) {
		return nil, fmt.Errorf("take = %q; it must be last, first or mean", l.Take)
	}
	if l.MaskPadding {
		if err := in.aligned(); err != nil {
			return nil, err
		}
	}
	return &boundSteps{passive{in}, l}, nil
}

type boundSteps struct {
	passive
	l Steps
}

func (b *boundSteps) Out() Flow { return Flow{H: 1, W: 1, C: b.in.C} }

func (b *boundSteps) NewState(e *Env) State {
	s := &stepsState{b: b, taken: make([]bool, b.in.Seq), y: e.Output()}
	s.dx = e.Gradient()
	return s
}

type stepsState struct {
	b     *boundSteps
	taken []bool // steps of a sample
	y, dx Act
}

// take finds the steps of sample i whose mean is taken, and returns their share in it.
func (s *stepsState) take(r *Run, i int) (share float32) {
	first, last, n := len(s.taken), 0, 0
	for t := range s.taken {
		if s.taken[t] = !s.b.l.MaskPadding || r.real(i, t-s.b.in.Lead); s.taken[t] {
			first, last, n = min(first, t), t, n+1
		}
	}
	if s.b.l.Take == "mean" {
		return 1 / float32(max(n, 1))
	}
	if s.b.l.Take == "first" {
		last = first % len(s.taken)
	}
	clear(s.taken)
	s.taken[last] = true
	return 1
}

func (s *stepsState) Forward(r *Run, x Act, _, _ int) Act {
	ld := s.b.in.Ld()
	for i := range r.N {
		y, share := s.y.At(i, 0, 0)[:ld], s.take(r, i)
		clear(y)
		for t, taken := range s.taken {
			switch step := x.At(t*r.N+i, 0, 0)[:ld]; {
			case !taken:
			case s.b.l.Take == "mean":
				kernels.Add(y, y, step)
			default:
				copy(y, step)
			}
		}
		kernels.Scale(y, share)
	}
	return s.y
}

func (s *stepsState) Backward(r *Run, dy Act, _, _ int) Act {
	ld := s.b.in.Ld()
	for i := 0; i < r.N && s.dx.Data != nil; i++ {
		share := s.take(r, i)
		for t, taken := range s.taken {
			dx := s.dx.At(t*r.N+i, 0, 0)[:ld]
			if clear(dx); taken {
				copy(dx, dy.At(i, 0, 0))
				kernels.Scale(dx, share)
			}
		}
	}
	return s.dx
}
