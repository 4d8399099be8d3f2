package main

import (
	"errors"

	"github.com/fedfast/fedfast/kernels"
	"github.com/fedfast/fedfast/nn"
	"github.com/fedfast/fedfast/nn/models"
)

func init() {
	must(models.Register(models.LayerType{
		Name: "prelu", Doc: "max(x, 0) + a min(x, 0) with a learned a for each channel (He et al. 2015)",
		Options: prelu{Start: 0.25},
		Module:  "PReLU",
		Make:    func(_ models.LayerSpec, options any) nn.Layer { return options.(prelu) },
	}))
}

// prelu is the layer as files describe it. Its parameter is weight [channels].
type prelu struct {
	Start float64 `toml:"start" in:"[0, 1]" doc:"slope for negative values at the start"`
}

func (prelu) Kind() string { return "prelu" }

// Abilities: in a sub-network the slopes follow the channels.
func (l prelu) Abilities() nn.Abilities {
	return nn.Abilities{
		Narrow:      nn.Narrowing.Follow,
		Homogeneous: true,
		Blocks:      nn.ChannelBlocks("weight"),
		Torch: func(t *nn.Torch) {
			module := t.Module("nn.PReLU(%d)", t.In.C)
			if t.In.Seq > 0 { // PyTorch has channels second
				t.Set("%s(%s.transpose(1, 2)).transpose(1, 2)", module, t.X)
				return
			}
			t.Set("%s(%s)", module, t.X)
		},
	}
}

func (l prelu) Bind(in nn.Flow) (nn.Bound, error) {
	if in.Vocab > 0 || in.Raw {
		return nil, errors.New("a PReLU cannot be the first layer")
	}
	return &boundPReLU{l, in}, nil
}

type boundPReLU struct {
	l  prelu
	in nn.Flow
}

func (b *boundPReLU) Out() nn.Flow { return b.in }

func (b *boundPReLU) FLOPs() int64 { return 0 } // few beside those of products

func (b *boundPReLU) Traits() nn.Traits {
	return nn.Traits{PerSample: b.in.Image(), ReadsInput: true}
}

func (b *boundPReLU) Params() []nn.Param {
	return []nn.Param{{
		Name: "weight", Shape: []int{b.in.C}, Size: kernels.Pad(b.in.C),
		Init: func(a []float32, _ *kernels.Stream) {
			for c := range a {
				a[c] = float32(b.l.Start)
			}
		},
		Pack:   func(packed, a []float32) { copy(packed, a) },
		Unpack: func(a, packed []float32) { copy(a, packed) },
	}}
}

func (b *boundPReLU) NewState(e *nn.Env) nn.State {
	return &preluState{in: b.in, at: e.Offset, y: e.Output()}
}

type preluState struct {
	in   nn.Flow
	at   int // offset of the slopes
	x, y nn.Act
}

// rows calls f with every row of values of the samples [lo, hi), sample by sample.
func (s *preluState) rows(r *nn.Run, lo, hi int, f func(row, y int)) {
	for i := lo; i < hi; i++ {
		for t := range max(1, s.in.Seq) {
			for y := range s.in.H {
				f(t*r.N+i, y)
			}
		}
	}
}

// slopes returns those of all channels in a vector of parameters.
func (s *preluState) slopes(of []float32) []float32 { return of[s.at:][:s.in.Ld()] }

func (s *preluState) Forward(r *nn.Run, x nn.Act, lo, hi int) nn.Act {
	s.x = x
	n, a := s.in.W*s.in.Ld(), s.slopes(r.W)
	s.rows(r, lo, hi, func(row, y int) {
		to, from := s.y.At(row, y, 0)[:n], x.At(row, y, 0)[:n]
		for i, v := range from {
			if v < 0 {
				v *= a[i%len(a)]
			}
			to[i] = v
		}
	})
	return s.y
}

func (s *preluState) Backward(r *nn.Run, dy nn.Act, lo, hi int) nn.Act {
	n, a, grad := s.in.W*s.in.Ld(), s.slopes(r.W), s.slopes(r.G)
	if r.Starts(lo) {
		clear(grad)
	}
	s.rows(r, lo, hi, func(row, y int) {
		g, x := dy.At(row, y, 0)[:n], s.x.At(row, y, 0)[:n]
		for i, v := range x {
			if v < 0 {
				grad[i%len(a)] += float32(g[i] * v)
				g[i] *= a[i%len(a)]
			}
		}
	})
	return dy
}
