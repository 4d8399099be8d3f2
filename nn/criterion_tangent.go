package nn

import (
	"math"

	"github.com/fedfast/fedfast/kernels/det"
)

// bend returns the second derivative of the loss of output j.
func (c *criterion) bend(j int, z, y float64) float64 {
	switch c.loss.Kind {
	case Squared:
		return 2
	case Huber:
		if math.Abs(z-y) > c.loss.Delta {
			return 0
		}
		return 1
	default:
		e := det.Exp(-math.Abs(z))
		return e / float64((1+e)*(1+e)) * (float64(c.loss.weight(j)*y) + (1 - y))
	}
}

// targetTangents computes the tangents of the gradient of n examples from those of
// the outputs.
func (c *criterion) targetTangents(targets []float32, n int) {
	one := float64(c.scale) / float64(c.n)
	for i := range n {
		z, y := c.logits.At(i, 0, 0)[:c.n], targets[i*c.n:][:c.n]
		to, dz := c.grad.Tangent().At(i, 0, 0)[:c.n], c.logits.Tangent().At(i, 0, 0)[:c.n]
		for j, d := range dz {
			to[j] = float32(float64(one*c.bend(j, float64(z[j]), float64(y[j]))) * float64(d))
		}
	}
}

// labelTangents does the same for rows with a class each.
func (c *criterion) labelTangents(labels []int32) {
	share, scale := c.loss.Smoothing/float64(c.n), float64(c.scale)
	for i, label := range labels {
		g := c.grad.At(i, 0, 0)[:c.n]
		to, dz := c.grad.Tangent().At(i, 0, 0)[:c.n], c.logits.Tangent().At(i, 0, 0)[:c.n]
		if label < 0 {
			clear(to)
			continue
		}
		own := float64((1 - c.loss.Smoothing) * c.loss.weight(int(label)))
		all := own + float64(share*c.loss.total(c.n))
		if all == 0 { // of a class that weighs nothing
			clear(to)
			continue
		}
		var mean float64
		for j, d := range dz {
			p := float64(g[j])/scale + float64(share*c.loss.weight(j))
			if j == int(label) {
				p += own
			}
			p /= all
			to[j] = float32(p)
			mean += float64(p * float64(d))
		}
		for j, d := range dz {
			to[j] = float32(float64(float64(all*scale)*float64(to[j])) * (float64(d) - mean))
		}
	}
}
