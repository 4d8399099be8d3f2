package models_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/fedfast/fedfast/nn"
	"github.com/fedfast/fedfast/nn/models"
)

// image is an image in float64, channel by channel.
type image struct {
	c, h, w int
	v       []float64
}

func (m image) at(c, y, x int) float64 {
	if y < 0 || x < 0 || y >= m.h || x >= m.w {
		return 0
	}
	return m.v[(c*m.h+y)*m.w+x]
}

// masked computes mbv3-cifar in float64 with all its parameters, of which masks leave
// those of a pick: what is not picked is multiplied by 0.
type masked struct {
	of   map[string]nn.Tensor
	pick func(name string) int
}

// conv is a convolution without bias that leaves channels below out and a kernel of
// size k in the middle.
func (m masked) conv(name string, in image, stride, out, k int, each bool) image {
	t := m.of[name+".weight"]
	size := t.Shape[2]
	y := image{c: t.Shape[0], h: (in.h + stride - 1) / stride, w: (in.w + stride - 1) / stride}
	y.v = make([]float64, y.c*y.h*y.w)
	edge := (size - k) / 2
	for o := range min(out, y.c) {
		for c := range t.Shape[1] {
			from := c
			if each {
				from = o
			}
			for oy := range y.h {
				for ox := range y.w {
					sum := 0.0
					for ky := edge; ky < size-edge; ky++ {
						for kx := edge; kx < size-edge; kx++ {
							w := float64(t.Data[((o*t.Shape[1]+c)*size+ky)*size+kx])
							sum += w * in.at(from, oy*stride+ky-size/2, ox*stride+kx-size/2)
						}
					}
					y.v[(o*y.h+oy)*y.w+ox] += sum
				}
			}
		}
	}
	return y
}

// norm normalises groups of 8 channels, of the first few.
func (m masked) norm(name string, in image, channels int) image {
	scale, shift := m.of[name+".weight"].Data, m.of[name+".bias"].Data
	size := in.h * in.w
	for g := 0; g < channels; g += 8 {
		v := in.v[g*size : (g+8)*size]
		mean, square := 0.0, 0.0
		for _, x := range v {
			mean += x / float64(len(v))
		}
		for _, x := range v {
			square += (x - mean) * (x - mean) / float64(len(v))
		}
		for i, x := range v {
			c := g + i/size
			v[i] = (x-mean)/math.Sqrt(square+1e-5)*float64(scale[c]) + float64(shift[c])
		}
	}
	return in
}

func (m image) swish() image {
	for i, x := range m.v {
		m.v[i] = x * min(max(x+3, 0), 6) / 6
	}
	return m
}

// squeeze is squeeze-and-excitation with the first units.
func (m masked) squeeze(name string, in image, channels int) image {
	units := (channels/4 + 4) / 8 * 8
	if 10*units < 9*(channels/4) {
		units += 8
	}
	w1, b1 := m.of[name+".fc1.weight"], m.of[name+".fc1.bias"]
	w2, b2 := m.of[name+".fc2.weight"], m.of[name+".fc2.bias"]
	size := in.h * in.w
	hidden := make([]float64, units)
	for u := range hidden {
		sum := float64(b1.Data[u])
		for c := range channels {
			for _, x := range in.v[c*size : (c+1)*size] {
				sum += float64(w1.Data[u*w1.Shape[1]+c]) * x / float64(size)
			}
		}
		hidden[u] = max(sum, 0)
	}
	for c := range channels {
		sum := float64(b2.Data[c])
		for u, x := range hidden {
			sum += float64(w2.Data[c*w2.Shape[1]+u]) * x
		}
		for i := range in.v[c*size : (c+1)*size] {
			in.v[c*size+i] *= min(max(sum+3, 0), 6) / 6
		}
	}
	return in
}

// forward returns the logits of an image.
func (m masked) forward(x image) []float64 {
	x = m.norm("stem.norm", m.conv("stem.conv", x, 1, 16, 3, false), 16).swish()
	channels := 16
	for s, stride := range []int{2, 2, 1, 2} {
		stage := fmt.Sprintf("stage%d.", s+1)
		width, k := m.pick(stage+"width"), m.pick(stage+"kernel")
		for b := range m.pick(stage + "depth") {
			at, wide, before := fmt.Sprintf("%sblock%d.", stage, b+1), channels*m.pick(stage+"expansion"), x
			if b > 0 {
				stride = 1
			}
			x = m.norm(at+"expand_norm", m.conv(at+"expand", x, 1, wide, 1, false), wide).swish()
			x = m.norm(at+"depthwise_norm", m.conv(at+"depthwise", x, stride, wide, k, true), wide).swish()
			if s > 0 {
				x = m.squeeze(at+"squeeze", x, wide)
			}
			x = m.norm(at+"project_norm", m.conv(at+"project", x, 1, width, 1, false), width)
			if b > 0 {
				for i := range x.v {
					x.v[i] += before.v[i]
				}
			}
			channels = width
		}
	}
	w, bias := m.of["classifier.weight"], m.of["classifier.bias"]
	logits := make([]float64, w.Shape[0])
	for o := range logits {
		logits[o] = float64(bias.Data[o])
		for c := range channels {
			for i := range x.h * x.w {
				logits[o] += float64(w.Data[o*w.Shape[1]+c]) * x.v[c*x.h*x.w+i] / float64(x.h*x.w)
			}
		}
	}
	return logits
}

// TestSubNetworksAreMaskedOnes compares random sub-networks with the supernet in
// float64 in which masks leave their parameters.
func TestSubNetworksAreMaskedOnes(t *testing.T) {
	const side = 8
	m, err := models.New("mbv3-cifar", models.Options{Input: nn.Shape{H: side, W: side, C: 3}})
	if err != nil {
		t.Fatal(err)
	}
	places := m.Places()
	whole := m.NewParams()
	m.Init(whole, 9)
	r := rand.New(rand.NewPCG(3, 4))
	for i := range whole { // also those that begin at 0 and 1
		whole[i] += 0.2 * float32(r.NormFloat64())
	}
	ref := masked{of: map[string]nn.Tensor{}}
	for _, x := range m.Export(whole) {
		ref.of[x.Name] = x
	}
	picks := 200
	if testing.Short() {
		picks = 10
	}
	for range picks {
		pick, sub, w := randomPart(t, m, places, whole, r)
		ref.pick = func(name string) int { return pick[name] }
		b := &nn.Batch{N: 1, X: make([]float32, 3*side*side), Labels: []int32{3}, Outputs: make([]float32, 10)}
		x := image{c: 3, h: side, w: side, v: make([]float64, 3*side*side)}
		for i := range b.X {
			b.X[i] = float32(r.NormFloat64())
			x.v[(i%3)*side*side+i/3] = float64(b.X[i])
		}
		sub.NewWorkspace().Evaluate(w, b)
		for class, want := range ref.forward(x) {
			if got := float64(b.Outputs[class]); math.Abs(got-want) > 1e-4*(1+math.Abs(want)) {
				t.Fatalf("%v: logit %d is %v, that of the masked supernet %v", pick, class, got, want)
			}
		}
	}
}
