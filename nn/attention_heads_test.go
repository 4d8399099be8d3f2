package nn

import (
	"fmt"
	"math"
	"testing"

	"github.com/fedfast/fedfast/internal/test/kernelstest"
	"github.com/fedfast/fedfast/kernels"
	"github.com/fedfast/fedfast/tensor"
)

// handed stands for a dense layer of attention: it hands on what it has, and keeps the
// gradient that it gets.
type handed struct{ forward, backward Act }

func (h *handed) Forward(_ *Run, x Act, _, _ int) Act {
	if h.forward.Data == nil {
		return x
	}
	return h.forward
}

func (h *handed) Backward(_ *Run, dy Act, _, _ int) Act {
	h.backward = dy
	return dy
}

// headsCase is the heads of attention on random queries, keys and values.
type headsCase struct {
	l       Attention
	steps   int
	channel int
	n       int
	tokens  []int32
	rows    []float32 // by time and sample: queries, keys, values
	given   []float32 // gradient of what the heads give
}

func newHeadsCase(l Attention, steps, size, n int) *headsCase {
	c := &headsCase{l: l, steps: steps, channel: l.Heads * size, n: n}
	s := kernels.NewStream(uint64(steps), uint64(size))
	for range steps * n {
		c.tokens = append(c.tokens, int32(s.Uint32()%3))
		for range 3 * c.channel {
			c.rows = append(c.rows, float32(s.NormFloat64()))
		}
		for range c.channel {
			c.given = append(c.given, float32(s.NormFloat64()))
		}
	}
	return c
}

// run returns what the heads give, and the gradients of queries, keys and values.
func (c *headsCase) run(t *testing.T) (out, grad []float32) {
	t.Helper()
	in := Flow{H: 1, W: 1, C: c.channel, Seq: c.steps}
	bound, err := c.l.Bind(in)
	if err != nil {
		t.Fatal(err)
	}
	b, e := bound.(*boundAttention), &Env{
		Arena: &tensor.Arena{}, Samples: c.n, NeedDX: true, in: in, out: in,
		scratch: &scratch{},
	}
	s := b.NewState(e).(*attentionState)
	e.scratch.floats = e.Arena.Alloc(e.scratch.size)
	for i := range e.scratch.floats {
		e.scratch.floats[i] = float32(math.NaN())
	}
	project, dense := &handed{forward: newAct(e.Arena, b.project.Out(), c.n, Border{}, 0)}, &handed{}
	s.project, s.out = project, dense
	c.fill(project.forward, c.rows, 3*c.channel)
	r := &Run{N: c.n, Tokens: c.tokens, Train: true}
	out = c.read(s.Forward(r, Act{}, 0, c.n), c.channel)
	dy := newAct(e.Arena, in, c.n, Border{}, 0)
	c.fill(dy, c.given, c.channel)
	s.Backward(r, dy, 0, c.n)
	return out, c.read(project.backward, 3*c.channel)
}

func (c *headsCase) fill(a Act, x []float32, columns int) {
	for i := range c.steps * c.n {
		copy(a.At(i, 0, 0), x[i*columns:][:columns])
	}
}

func (c *headsCase) read(a Act, columns int) (x []float32) {
	for i := range c.steps * c.n {
		x = append(x, a.At(i, 0, 0)[:columns]...)
	}
	return x
}

// reference is run in float64.
func (c *headsCase) reference() (out, grad []float64) {
	out, grad = make([]float64, len(c.given)), make([]float64, len(c.rows))
	size := c.channel / c.l.Heads
	for i := range c.n {
		for h := range c.l.Heads {
			at := func(t, part int) int { return (t*c.n+i)*3*c.channel + part*c.channel + h*size }
			dot := func(s, part int, x []float32, from int) (sum float64) {
				for k := range size {
					sum += float64(x[from+k]) * float64(c.rows[at(s, part)+k])
				}
				return sum
			}
			for t := range c.steps {
				to := (t*c.n+i)*c.channel + h*size
				share, slope, sum, mean := make([]float64, c.steps), make([]float64, c.steps), 0., 0.
				for s := range c.steps {
					if c.l.Causal && s > t || c.l.MaskPadding && c.tokens[i*c.steps+s] == 0 {
						continue
					}
					share[s] = math.Exp(dot(s, 1, c.rows, at(t, 0)) / math.Sqrt(float64(size)))
					sum += share[s]
				}
				for s := range share {
					if sum > 0 {
						share[s] /= sum
					}
					slope[s] = dot(s, 2, c.given, to)
					mean += share[s] * slope[s]
				}
				for s, p := range share {
					d := p * (slope[s] - mean) / math.Sqrt(float64(size))
					for k := range size {
						out[to+k] += p * float64(c.rows[at(s, 2)+k])
						grad[at(t, 0)+k] += d * float64(c.rows[at(s, 1)+k])
						grad[at(s, 1)+k] += d * float64(c.rows[at(t, 0)+k])
						grad[at(s, 2)+k] += p * float64(c.given[to+k])
					}
				}
			}
		}
	}
	return out, grad
}

func (c *headsCase) compare(t *testing.T, name string, got []float32, want []float64, bound float64) {
	t.Helper()
	for i, w := range want {
		if d := math.Abs(float64(got[i]) - w); !(d <= bound*max(1, math.Abs(w))) {
			t.Fatalf("%s %d is %v, want %v", name, i, got[i], w)
		}
	}
}

// eachHeads calls f for sizes of heads and lengths, those around blocks of queries and
// tiles among them.
func eachHeads(f func(steps, size int)) {
	for size := 1; size <= 64; size++ {
		f(1+size*37%130, size)
	}
	for steps := 1; steps <= 130; steps++ {
		f(steps, 1+steps*5%20)
	}
	for _, size := range []int{7, 16, 32} {
		f(queryBlock, size)
		f(queryBlock+1, size)
		f(2*queryBlock+37, size)
	}
}

// TestAttentionHeads compares heads with float64, on all levels; which give the
// same bits.
func TestAttentionHeads(t *testing.T) {
	for name, l := range map[string]Attention{
		"full": {Heads: 2}, "causal": {Heads: 1, Causal: true}, "padding": {Heads: 3, MaskPadding: true},
		"both": {Heads: 2, Causal: true, MaskPadding: true},
	} {
		t.Run(name, func(t *testing.T) {
			eachHeads(func(steps, size int) {
				every := 8
				if kernelstest.Small() || name != "full" {
					every = 16
				}
				if (steps*7+size)%every > 0 && (every == 16 || steps < queryBlock) {
					return
				}
				c := newHeadsCase(l, steps, size, 1+steps%2)
				t.Run(fmt.Sprintf("steps=%d,size=%d", steps, size), func(t *testing.T) { testHeads(t, c) })
			})
		})
	}
}

func testHeads(t *testing.T, c *headsCase) {
	wantOut, wantGrad := c.reference()
	bits := map[bool][2][]float32{}
	kernelstest.ForEachLevel(t, func(t *testing.T) {
		for _, low := range []bool{false, true} {
			c.l.bf16 = low
			out, grad := c.run(t)
			bound := 2e-5
			if low {
				bound = 0.1
			}
			c.compare(t, "output", out, wantOut, bound)
			c.compare(t, "gradient", grad, wantGrad, bound)
			if b, ok := bits[low]; ok {
				sameBits(t, out, b[0], "outputs")
				sameBits(t, grad, b[1], "gradients")
			}
			bits[low] = [2][]float32{out, grad}
		}
	})
}
