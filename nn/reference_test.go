package nn

import (
	"math"
	"slices"
)

// reference is a float64 image network written from the textbook definitions. It
// shares nothing with the layers under test: images are channel first, weights
// canonical, every sum a plain loop.
type reference struct {
	ops    []refOp
	in     [3]int // channels, rows, columns
	params [][]float64
	shapes [][]int
}

// refOp is one step: "conv" (stride, padding), "pool" (size, stride, padding),
// "avgpool" (size, stride), "lrn", "groupnorm", "residual", "relu" or "dense".
type refOp struct {
	op           string
	stride, size int
	before       int  // padding above and left
	after        int  // padding below and right
	noBias       bool // of a convolution
	groups       int
	lrn          LRN
	body         []refOp
	shortcut     []refOp
}

func newReference(in Shape, ops []refOp, ts []Tensor) *reference {
	r := &reference{ops: ops, in: [3]int{in.C, in.H, in.W}}
	for _, t := range ts {
		p := make([]float64, len(t.Data))
		for i, v := range t.Data {
			p[i] = float64(v)
		}
		r.params = append(r.params, p)
		r.shapes = append(r.shapes, t.Shape)
	}
	return r
}

// refImage is a channel-first image.
type refImage struct {
	c, h, w int
	v       []float64
}

func newRefImage(c, h, w int) refImage { return refImage{c, h, w, make([]float64, c*h*w)} }

// at returns a pixel, zero outside.
func (m refImage) at(c, y, x int) float64 {
	if y < 0 || y >= m.h || x < 0 || x >= m.w {
		return 0
	}
	return m.v[(c*m.h+y)*m.w+x]
}

func (m refImage) conv(w []float64, shape []int, b []float64, o refOp) refImage {
	kh, kw := shape[2], shape[3]
	out := newRefImage(shape[0], (m.h+o.before+o.after-kh)/o.stride+1, (m.w+o.before+o.after-kw)/o.stride+1)
	for f := range out.c {
		for y := range out.h {
			for x := range out.w {
				s := b[f]
				for c := range m.c {
					for i := range kh {
						for j := range kw {
							s += w[((f*m.c+c)*kh+i)*kw+j] * m.at(c, y*o.stride+i-o.before, x*o.stride+j-o.before)
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
func (m refImage) windows(o refOp, f func(v []float64) float64) refImage {
	out := newRefImage(m.c, (m.h+o.before+o.after-o.size)/o.stride+1, (m.w+o.before+o.after-o.size)/o.stride+1)
	for i := range out.v {
		c, y, x := i/(out.h*out.w), i/out.w%out.h, i%out.w
		var values []float64
		for j := range o.size * o.size {
			sy, sx := y*o.stride+j/o.size-o.before, x*o.stride+j%o.size-o.before
			if sy >= 0 && sy < m.h && sx >= 0 && sx < m.w {
				values = append(values, m.at(c, sy, sx))
			}
		}
		out.v[i] = f(values)
	}
	return out
}

func mean(v []float64) float64 {
	s := 0.0
	for _, x := range v {
		s += x
	}
	return s / float64(len(v))
}

func (m refImage) normalize(l LRN) refImage {
	out := newRefImage(m.c, m.h, m.w)
	n := m.h * m.w
	for i := range out.v {
		c, p, s := i/n, i%n, 0.0
		for j := range m.c {
			if j-c <= l.Radius && c-j <= l.Radius {
				s += m.v[j*n+p] * m.v[j*n+p]
			}
		}
		out.v[i] = m.v[i] / math.Pow(l.Bias+l.Alpha*s, l.Beta)
	}
	return out
}

func (m refImage) groupNorm(groups int, weight, bias []float64) refImage {
	out := newRefImage(m.c, m.h, m.w)
	n := len(m.v) / groups
	for g := range groups {
		values := m.v[g*n:][:n]
		mu, variance := mean(values), 0.0
		for _, v := range values {
			variance += (v - mu) * (v - mu) / float64(n)
		}
		for i, v := range values {
			c := (g*n + i) / (m.h * m.w)
			out.v[g*n+i] = (v-mu)/math.Sqrt(variance+1e-5)*weight[c] + bias[c]
		}
	}
	return out
}

// logits runs one raw sample (rows, columns, channels) through the network.
func (r *reference) logits(x []float32) []float64 {
	m := newRefImage(r.in[0], r.in[1], r.in[2])
	for i := range m.v {
		c, y, px := i/(m.h*m.w), i/m.w%m.h, i%m.w
		m.v[i] = float64(x[(y*m.w+px)*m.c+c])
	}
	next := 0
	return r.run(m, r.ops, &next).v
}

// run takes an image through ops, whose parameters start at next.
func (r *reference) run(m refImage, ops []refOp, next *int) refImage {
	take := func() []float64 { *next++; return r.params[*next-1] }
	for _, o := range ops {
		switch o.op {
		case "conv":
			shape := r.shapes[*next]
			w := take()
			b := make([]float64, shape[0])
			if !o.noBias {
				b = take()
			}
			m = m.conv(w, shape, b, o)
		case "pool":
			m = m.windows(o, slices.Max)
		case "avgpool":
			m = m.windows(o, mean)
		case "lrn":
			m = m.normalize(o.lrn)
		case "groupnorm":
			w := take()
			m = m.groupNorm(o.groups, w, take())
		case "residual":
			a := r.run(m, o.body, next)
			b := r.run(m, o.shortcut, next)
			m = newRefImage(a.c, a.h, a.w)
			for i := range m.v {
				m.v[i] = a.v[i] + b.v[i]
			}
		case "relu":
			out := newRefImage(m.c, m.h, m.w)
			for i, v := range m.v {
				out.v[i] = max(v, 0)
			}
			m = out
		case "dense":
			out := newRefImage(r.shapes[*next][0], 1, 1)
			w := take()
			copy(out.v, take())
			affine(out.v, w, m.v)
			m = out
		default:
			panic(o.op)
		}
	}
	return m
}

// loss is the mean cross-entropy over the unmasked labels of a batch.
func (r *reference) loss(b *Batch) float64 {
	sum, count := 0.0, 0
	size := r.in[0] * r.in[1] * r.in[2]
	for n, label := range b.Labels {
		if label < 0 {
			continue
		}
		z := r.logits(b.X[n*size : (n+1)*size])
		total := 0.0
		for _, v := range z {
			total += math.Exp(v)
		}
		sum += math.Log(total) - z[label]
		count++
	}
	return sum / float64(count)
}

// slope is the central difference of the loss along element e of parameter p.
func (r *reference) slope(b *Batch, p, e int) float64 {
	const h = 1e-5
	w := r.params[p]
	old := w[e]
	w[e] = old + h
	up := r.loss(b)
	w[e] = old - h
	down := r.loss(b)
	w[e] = old
	return (up - down) / (2 * h)
}
