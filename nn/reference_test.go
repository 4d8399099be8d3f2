package nn

import (
	"cmp"
	"math"
	"math/cmplx"
	"slices"
)

// reference is a float64 image network written from the textbook definitions. It
// shares nothing with the layers under test: images are channel first, weights
// canonical, every sum a plain loop. Its numbers are complex so that an imaginary
// step, which nothing is subtracted from, gives exact derivatives.
type reference struct {
	ops    []refOp
	in     [3]int // channels, rows, columns
	params complexParams
	shapes [][]int
	mixes  map[string]int // parameters of mixtures by name
}

// refOp is one step: "conv" (stride, padding), "pool" (size, stride, padding),
// "avgpool" (size, stride), "lrn", "groupnorm", "residual", "relu" or "dense", and
// "depthwise" (stride, padding, dilation), "layernorm", "rmsnorm", "squeeze",
// "sequence", "positions", "attention" or "causal" (groups are heads), or the name of a
// smooth activation.
type refOp struct {
	op           string
	stride, size int
	columns      int // of a window, 0 for size; of the output of adaptive, whose rows are size
	largest      bool
	before       int // padding above and left
	after        int // padding below and right
	dilation     int
	noBias       bool // of a convolution or a dense layer; of a normalization, neither weight nor bias
	groups       int
	lrn          LRN
	body         []refOp
	shortcut     []refOp
	branches     []refBranch
}

// refBranch is a branch of the op "graph".
type refBranch struct {
	from   []int  // earlier branches, -1 for the graph's input
	concat bool   // else the sum
	times  bool   // the product, of an image and perhaps a factor for each channel
	mix    string // name of the weights, if it is a mix
	zero   bool
	ops    []refOp
}

func newReference(in Shape, ops []refOp, ts []Tensor) *reference {
	r := &reference{ops: ops, in: [3]int{in.C, in.H, in.W}}
	r.params = newComplexParams(ts)
	for _, t := range ts {
		r.shapes = append(r.shapes, t.Shape)
	}
	return r
}

// complexParams are the parameters of a reference, in the order of the model's.
type complexParams [][]complex128

func newComplexParams(ts []Tensor) complexParams {
	var c complexParams
	for _, t := range ts {
		p := make([]complex128, len(t.Data))
		for i, v := range t.Data {
			p[i] = complex(float64(v), 0)
		}
		c = append(c, p)
	}
	return c
}

// slope returns the derivative of loss by element e of parameter p.
func (c complexParams) slope(loss func() complex128, p, e int) float64 {
	const h = 1e-30
	old := c[p][e]
	c[p][e] += complex(0, h)
	d := imag(loss()) / h
	c[p][e] = old
	return d
}

// curve returns the difference of the slopes that loss has step times v before and behind, over
// the two steps: with a small one an element of the Hessian times v.
func (c complexParams) curve(loss func() complex128, v []Tensor, step float64, p, e int) float64 {
	at := func(step float64) float64 {
		old := slices.Clone(c)
		for i, t := range v {
			c[i] = slices.Clone(c[i])
			for j, x := range t.Data {
				c[i][j] += complex(step*float64(x), 0)
			}
		}
		defer copy(c, old)
		return c.slope(loss, p, e)
	}
	return (at(step) - at(-step)) / (2 * step)
}

// largest returns the value of the largest real part, the first of equals.
func largest(v []complex128) complex128 {
	best := v[0]
	for _, x := range v[1:] {
		if real(x) > real(best) {
			best = x
		}
	}
	return best
}

// rectified is a ReLU.
func rectified(v complex128) complex128 {
	if real(v) > 0 {
		return v
	}
	return 0
}

// refImage is a channel-first image.
type refImage struct {
	c, h, w int
	v       []complex128
}

func newRefImage(c, h, w int) refImage { return refImage{c, h, w, make([]complex128, c*h*w)} }

// at returns a pixel, zero outside.
func (m refImage) at(c, y, x int) complex128 {
	if y < 0 || y >= m.h || x < 0 || x >= m.w {
		return 0
	}
	return m.v[(c*m.h+y)*m.w+x]
}

func (m refImage) conv(w []complex128, shape []int, b []complex128, o refOp) refImage {
	kh, kw, d := shape[2], shape[3], max(o.dilation, 1)
	up, rows := o.padding(kh)
	left, columns := o.padding(kw)
	out := newRefImage(shape[0], (m.h+rows-d*(kh-1)-1)/o.stride+1, (m.w+columns-d*(kw-1)-1)/o.stride+1)
	in, each := shape[1], shape[0]*shape[1]/m.c // channels that a filter reads, and filters of a group
	for f := range out.c {
		for y := range out.h {
			for x := range out.w {
				s := b[f]
				for c := range in {
					for i := range kh {
						for j := range kw {
							s += w[((f*in+c)*kh+i)*kw+j] * m.at(f/each*in+c, y*o.stride+i*d-up, x*o.stride+j*d-left)
						}
					}
				}
				out.v[(f*out.h+y)*out.w+x] = s
			}
		}
	}
	return out
}

// windows calls f for every output of a pool with the values that are within the
// image.
func (m refImage) windows(o refOp, f func(v []complex128) complex128) refImage {
	wide := cmp.Or(o.columns, o.size)
	up, rows := o.padding(o.size)
	left, columns := o.padding(wide)
	out := newRefImage(m.c, (m.h+rows-o.size)/o.stride+1, (m.w+columns-wide)/o.stride+1)
	for i := range out.v {
		c, y, x := i/(out.h*out.w), i/out.w%out.h, i%out.w
		var values []complex128
		for j := range o.size * wide {
			sy, sx := y*o.stride+j/wide-up, x*o.stride+j%wide-left
			if sy >= 0 && sy < m.h && sx >= 0 && sx < m.w {
				values = append(values, m.at(c, sy, sx))
			}
		}
		out.v[i] = f(values)
	}
	return out
}

// padding returns what stands before an image along a side of a kernel, and in all.
func (o refOp) padding(kernel int) (before, all int) {
	if kernel == 1 {
		return 0, 0
	}
	return o.before, o.before + o.after
}

// adaptive is the means, or maxima, of windows that cover the image.
func (m refImage) adaptive(o refOp) refImage {
	rows, columns := o.size, o.columns
	out := newRefImage(m.c, rows, columns)
	for i := range out.v {
		c, y, x := i/(rows*columns), i/columns%rows, i%columns
		var values []complex128
		for sy := y * m.h / rows; sy*rows < (y+1)*m.h; sy++ {
			for sx := x * m.w / columns; sx*columns < (x+1)*m.w; sx++ {
				values = append(values, m.at(c, sy, sx))
			}
		}
		if out.v[i] = mean(values); o.largest {
			out.v[i] = largest(values)
		}
	}
	return out
}

func mean(v []complex128) complex128 {
	var s complex128
	for _, x := range v {
		s += x
	}
	return s / complex(float64(len(v)), 0)
}

func (m refImage) normalize(l LRN) refImage {
	out := newRefImage(m.c, m.h, m.w)
	n := m.h * m.w
	for i := range out.v {
		c, p := i/n, i%n
		var s complex128
		for j := range m.c {
			if j-c <= l.Radius && c-j <= l.Radius {
				s += m.v[j*n+p] * m.v[j*n+p]
			}
		}
		out.v[i] = m.v[i] / cmplx.Pow(complex(l.Bias, 0)+complex(l.Alpha, 0)*s, complex(l.Beta, 0))
	}
	return out
}

func (m refImage) groupNorm(groups int, weight, bias []complex128) refImage {
	out := newRefImage(m.c, m.h, m.w)
	n := len(m.v) / groups
	for g := range groups {
		values := m.v[g*n:][:n]
		mu, variance := mean(values), complex128(0)
		for _, v := range values {
			variance += (v - mu) * (v - mu) / complex(float64(n), 0)
		}
		for i, v := range values {
			c := (g*n + i) / (m.h * m.w)
			out.v[g*n+i] = (v-mu)/cmplx.Sqrt(variance+1e-5)*weight[c] + bias[c]
		}
	}
	return out
}

// logits runs one raw sample (rows, columns, channels) through the network.
func (r *reference) logits(x []float32) []complex128 {
	m := newRefImage(r.in[0], r.in[1], r.in[2])
	for i := range m.v {
		c, y, px := i/(m.h*m.w), i/m.w%m.h, i%m.w
		m.v[i] = complex(float64(x[(y*m.w+px)*m.c+c]), 0)
	}
	next := 0
	return r.run(m, r.ops, &next).v
}

// run takes an image through ops, whose parameters start at next.
func (r *reference) run(m refImage, ops []refOp, next *int) refImage {
	take := func() []complex128 { *next++; return r.params[*next-1] }
	for _, o := range ops {
		switch o.op {
		case "conv":
			shape := r.shapes[*next]
			w := take()
			b := make([]complex128, shape[0])
			if !o.noBias {
				b = take()
			}
			m = m.conv(w, shape, b, o)
		case "pool":
			m = m.windows(o, largest)
		case "avgpool":
			m = m.windows(o, mean)
		case "flip":
			out := newRefImage(m.c, m.h, m.w)
			for i := range m.v {
				out.v[i] = m.v[i/m.w*m.w+m.w-1-i%m.w]
			}
			m = out
		case "channels": // size of them from before on
			out := newRefImage(o.size, m.h, m.w)
			for i := range o.groups {
				for j := range o.size / o.groups {
					copy(out.v[(j*o.groups+i)*m.h*m.w:][:m.h*m.w], m.v[(o.before+i*o.size/o.groups+j)*m.h*m.w:])
				}
			}
			m = out
		case "adaptive":
			m = m.adaptive(o)
		case "lrn":
			m = m.normalize(o.lrn)
		case "groupnorm":
			w, b := slices.Repeat([]complex128{1}, m.c), make([]complex128, m.c)
			if !o.noBias {
				w = take()
				b = take()
			}
			m = m.groupNorm(o.groups, w, b)
		case "depthwise":
			shape := r.shapes[*next]
			w := take()
			b := make([]complex128, m.c)
			if !o.noBias {
				b = take()
			}
			m = m.depthwise(w, shape[2], b, o)
		case "layernorm":
			w := take()
			m = m.rowNorm(w, take())
		case "rmsnorm":
			m = m.rowNorm(take(), nil)
		case "squeeze":
			w1, b1, w2 := take(), take(), take()
			m = m.squeeze(w1, b1, w2, take())
		case "sequence":
			m = m.sequence(take())
		case "positions":
			out := newRefImage(m.c, 1, m.w)
			w := take()
			for i, v := range m.v {
				out.v[i] = v + w[i%m.w*m.c+i/m.w]
			}
			m = out
		case "attention", "causal":
			w, b, w2 := take(), take(), take()
			m = m.attention(o.groups, o.op == "causal", w, b, w2, take())
		case "steps":
			out := newRefImage(m.c, 1, 1)
			for c := range out.v {
				out.v[c] = mean(m.v[c*m.w:][:m.w])
			}
			m = out
		case "residual":
			a := r.run(m, o.body, next)
			b := r.run(m, o.shortcut, next)
			m = newRefImage(a.c, a.h, a.w)
			for i := range m.v {
				m.v[i] = a.v[i] + b.v[i]
			}
		case "graph":
			m = r.graph(m, o.branches, next)
		case "relu":
			out := newRefImage(m.c, m.h, m.w)
			for i, v := range m.v {
				out.v[i] = rectified(v)
			}
			m = out
		case "dense":
			out := newRefImage(r.shapes[*next][0], 1, 1)
			w := take()
			if !o.noBias {
				copy(out.v, take())
			}
			affine(out.v, w, m.v)
			m = out
		default:
			out := newRefImage(m.c, m.h, m.w)
			for i, v := range m.v {
				out.v[i] = refCurves[o.op](v)
			}
			m = out
		}
	}
	return m
}

// graph runs branches one after the other and returns what the last one gives.
func (r *reference) graph(in refImage, branches []refBranch, next *int) refImage {
	given := map[int]refImage{-1: in}
	for i, b := range branches {
		m := given[b.from[0]]
		if b.mix != "" {
			var inputs []refImage
			for _, from := range b.from {
				inputs = append(inputs, given[from])
			}
			given[i] = r.run(r.mixed(b, inputs, next), b.ops, next)
			continue
		}
		for _, from := range b.from[1:] {
			v := given[from]
			if b.concat {
				m = refImage{m.c + v.c, m.h, m.w, slices.Concat(m.v, v.v)}
				continue
			}
			sum := newRefImage(m.c, m.h, m.w)
			for k := range sum.v {
				sum.v[k] = m.v[k] + v.v[k*len(v.v)/len(m.v)]
				if b.times {
					sum.v[k] = m.v[k] * v.v[k*len(v.v)/len(m.v)]
				}
			}
			m = sum
		}
		given[i] = r.run(m, b.ops, next)
	}
	return given[len(branches)-1]
}

// mixed returns the sum of inputs weighted by the softmax of a parameter, which lies
// where its name comes first.
func (r *reference) mixed(b refBranch, inputs []refImage, next *int) refImage {
	at, ok := r.mixes[b.mix]
	if !ok || at >= *next {
		at = *next
		if r.mixes == nil {
			r.mixes = map[string]int{}
		}
		r.mixes[b.mix] = at
		*next++
	}
	var weights []complex128
	var all complex128
	for _, a := range r.params[at] {
		weights = append(weights, cmplx.Exp(a))
		all += cmplx.Exp(a)
	}
	if b.zero {
		weights = weights[1:]
	}
	out := newRefImage(inputs[0].c, inputs[0].h, inputs[0].w)
	for k, m := range inputs {
		for i, v := range m.v {
			out.v[i] += weights[k] / all * v
		}
	}
	return out
}

// refCurves are the smooth activations.
var refCurves = map[string]func(x complex128) complex128{
	"sigmoid": refSigmoid,
	"relu6":   func(x complex128) complex128 { return rectified(x) - rectified(x-6) },
	"leaky":   func(x complex128) complex128 { return rectified(x) - 0.25*rectified(-x) },
	"by20":    func(x complex128) complex128 { return 20 * x },
	"tanh":    cmplx.Tanh,
	"silu":    func(x complex128) complex128 { return x * refSigmoid(x) },
	"gelu": func(x complex128) complex128 {
		v := real(x)
		return x * complex(math.Erfc(-v/math.Sqrt2)/2, imag(x)*math.Exp(-v*v/2)/math.Sqrt(2*math.Pi))
	},
	"gelu_tanh": func(x complex128) complex128 {
		return x * (1 + cmplx.Tanh(complex(math.Sqrt(2/math.Pi), 0)*(x+0.044715*x*x*x))) / 2
	},
	"hardswish":   func(x complex128) complex128 { return x * refRamp(x) },
	"hardsigmoid": refRamp,
}

func refSigmoid(x complex128) complex128 { return 1 / (1 + cmplx.Exp(-x)) }

func refRamp(x complex128) complex128 {
	switch {
	case real(x) <= -3:
		return 0
	case real(x) >= 3:
		return 1
	}
	return (x + 3) / 6
}

func (m refImage) depthwise(w []complex128, k int, b []complex128, o refOp) refImage {
	wide := (k-1)*o.dilation + 1
	out := newRefImage(m.c, (m.h+o.before+o.after-wide)/o.stride+1, (m.w+o.before+o.after-wide)/o.stride+1)
	for i := range out.v {
		c, y, x := i/(out.h*out.w), i/out.w%out.h, i%out.w
		s := b[c]
		for j := range k * k {
			s += w[c*k*k+j] * m.at(c, y*o.stride+j/k*o.dilation-o.before, x*o.stride+j%k*o.dilation-o.before)
		}
		out.v[i] = s
	}
	return out
}

// rowNorm normalises the channels of each pixel; without a bias their mean counts as
// zero.
func (m refImage) rowNorm(weight, bias []complex128) refImage {
	out := newRefImage(m.c, m.h, m.w)
	n := m.h * m.w
	for p := range n {
		var mu, variance, epsilon complex128 = 0, 0, 0x1p-23
		for c := range m.c {
			if bias != nil {
				mu += m.v[c*n+p] / complex(float64(m.c), 0)
				epsilon = 1e-5
			}
		}
		for c := range m.c {
			d := m.v[c*n+p] - mu
			variance += d * d / complex(float64(m.c), 0)
		}
		for c := range m.c {
			out.v[c*n+p] = (m.v[c*n+p] - mu) / cmplx.Sqrt(variance+epsilon) * weight[c]
			if bias != nil {
				out.v[c*n+p] += bias[c]
			}
		}
	}
	return out
}

// sequence makes a sequence of the pixels, an image of one row, after a vector.
func (m refImage) sequence(first []complex128) refImage {
	out := newRefImage(m.c, 1, 1+m.h*m.w)
	for c := range m.c {
		out.v[c*out.w] = first[c]
		copy(out.v[c*out.w+1:], m.v[c*m.h*m.w:][:m.h*m.w])
	}
	return out
}

// attention attends from every step of a sequence to all, or to those up to it.
func (m refImage) attention(heads int, causal bool, w, b, w2, b2 []complex128) refImage {
	size := m.c / heads
	project := func(w, b []complex128, at int, x refImage, step int) complex128 {
		sum := b[at]
		for c := range m.c {
			sum += w[at*m.c+c] * x.v[c*m.w+step]
		}
		return sum
	}
	given, out := newRefImage(m.c, 1, m.w), newRefImage(m.c, 1, m.w)
	for h := range heads {
		for t := range m.w {
			seen := m.w
			if causal {
				seen = t + 1
			}
			var total complex128
			values := make([]complex128, size)
			for u := range seen {
				var score complex128
				for c := range size {
					score += project(w, b, h*size+c, m, t) * project(w, b, m.c+h*size+c, m, u)
				}
				e := cmplx.Exp(score / complex(math.Sqrt(float64(size)), 0))
				total += e
				for c := range size {
					values[c] += e * project(w, b, 2*m.c+h*size+c, m, u)
				}
			}
			for c, v := range values {
				given.v[(h*size+c)*m.w+t] = v / total
			}
		}
	}
	for c := range m.c {
		for t := range m.w {
			out.v[c*m.w+t] = project(w2, b2, c, given, t)
		}
	}
	return out
}

func (m refImage) squeeze(w1, b1, w2, b2 []complex128) refImage {
	n := m.h * m.w
	means := make([]complex128, m.c)
	for c := range means {
		means[c] = mean(m.v[c*n:][:n])
	}
	hidden := append([]complex128(nil), b1...)
	affine(hidden, w1, means)
	for i, v := range hidden {
		hidden[i] = rectified(v)
	}
	gate := append([]complex128(nil), b2...)
	affine(gate, w2, hidden)
	out := newRefImage(m.c, m.h, m.w)
	for i, v := range m.v {
		out.v[i] = v * refRamp(gate[i/n])
	}
	return out
}

// loss is the mean cross-entropy over the unmasked labels of a batch.
func (r *reference) loss(b *Batch) float64 { return real(r.complexLoss(b)) }

func (r *reference) complexLoss(b *Batch) complex128 {
	var sum, count complex128
	size := r.in[0] * r.in[1] * r.in[2]
	for n, label := range b.Labels {
		if label < 0 {
			continue
		}
		z := r.logits(b.X[n*size : (n+1)*size])
		var total complex128
		for _, v := range z {
			total += cmplx.Exp(v)
		}
		sum += cmplx.Log(total) - z[label]
		count++
	}
	return sum / count
}

// slope is the derivative of the loss by element e of parameter p.
func (r *reference) slope(b *Batch, p, e int) float64 {
	return r.params.slope(func() complex128 { return r.complexLoss(b) }, p, e)
}

// curve is an element of the product of the loss' Hessian with v, by a step.
func (r *reference) curve(b *Batch, v []Tensor, step float64, p, e int) float64 {
	return r.params.curve(func() complex128 { return r.complexLoss(b) }, v, step, p, e)
}
