package nn

import "math"

// reference is a float64 image network written from the textbook definitions. It
// shares nothing with the layers under test: images are channel first, weights
// canonical, every sum a plain loop.
type reference struct {
	ops    []refOp
	in     [3]int // channels, rows, columns
	params [][]float64
	shapes [][]int
}

// refOp is one step: "conv" (stride, padding), "pool" (size, stride), "relu" or
// "dense".
type refOp struct {
	op           string
	stride, size int
	before       int // padding above and left
	after        int // padding below and right
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

func (m refImage) pool(o refOp) refImage {
	out := newRefImage(m.c, (m.h-o.size)/o.stride+1, (m.w-o.size)/o.stride+1)
	for i := range out.v {
		c, y, x := i/(out.h*out.w), i/out.w%out.h, i%out.w
		best := math.Inf(-1)
		for j := range o.size * o.size {
			best = max(best, m.at(c, y*o.stride+j/o.size, x*o.stride+j%o.size))
		}
		out.v[i] = best
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
	for _, o := range r.ops {
		switch o.op {
		case "conv":
			m = m.conv(r.params[next], r.shapes[next], r.params[next+1], o)
			next += 2
		case "pool":
			m = m.pool(o)
		case "relu":
			for i := range m.v {
				m.v[i] = max(m.v[i], 0)
			}
		case "dense":
			out := newRefImage(r.shapes[next][0], 1, 1)
			copy(out.v, r.params[next+1])
			affine(out.v, r.params[next], m.v)
			m = out
			next += 2
		default:
			panic(o.op)
		}
	}
	return m.v
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
