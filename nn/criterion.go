package nn

import (
	"math"

	"github.com/fedfast/fedfast/kernels"
)

// Fit are the sums over the targets of a regression.
type Fit struct {
	// Squares and Distances are the sums of (output - target)^2 and |output -
	// target|, Sum and SquareSum those of the targets and of their squares.
	Squares, Distances float64
	Sum, SquareSum     float64
	// Count is the number of targets.
	Count int
}

// Recall counts the labels of examples that may have several.
type Recall struct {
	// Labels are the labels of all examples, Found those of them that are among an
	// example's Loss.Top largest outputs.
	Labels, Found int
	Examples      int
}

// add adds the labels of other examples.
func (r *Recall) add(s Recall) {
	r.Labels += s.Labels
	r.Found += s.Found
	r.Examples += s.Examples
}

// add adds the sums of other targets.
func (f *Fit) add(g Fit) {
	f.Squares += g.Squares
	f.Distances += g.Distances
	f.Sum += g.Sum
	f.SquareSum += g.SquareSum
	f.Count += g.Count
}

// Add adds what another pass measured.
func (r *Result) Add(s Result) {
	r.Loss += s.Loss
	r.Weight += s.Weight
	r.Correct += s.Correct
	r.Count += s.Count
	r.Recall.add(s.Recall)
	r.Fit.add(s.Fit)
}

// Mean returns the mean loss: over the labels, weighted by those of their classes
// if the loss has weights. It is NaN without any.
func (r Result) Mean() float64 {
	if r.Weight > 0 {
		return r.Loss / r.Weight
	}
	return r.Loss / float64(r.Count)
}

// criterion is a chunk's part of a loss.
type criterion struct {
	kind   *LossType
	loss   *Loss
	n      int     // outputs
	scale  float32 // of the gradient, 0 for none
	logits Act
	grad   Act // of the logits, empty without
}

// rows returns the outputs of row i and the place of their gradient, with room after,
// empty without.
func (c *criterion) rows(i int) (z, grad []float32) {
	z = c.logits.Data[i*c.logits.Pixel:][:c.n]
	if c.scale != 0 {
		grad = c.grad.Data[i*c.grad.Pixel:][:c.n:kernels.Pad(c.n)]
	}
	return z, grad
}

// labelled measures rows with a class each, of which one below 0 counts for nothing.
func (c *criterion) labelled(labels []int32) (r Result) {
	for i, label := range labels {
		z, grad := c.rows(i)
		clear(grad[len(grad):cap(grad)])
		if label < 0 {
			clear(grad)
			continue
		}
		loss, w := c.kind.Label(c.loss, z, int(label), grad, float64(c.scale))
		r.Loss += loss
		r.Weight += w
		r.Count++
		if isBest(z, int(label)) {
			r.Correct++
		}
	}
	if c.loss.Weights == nil {
		r.Weight = 0
	}
	return r
}

// labelTangents computes the tangents of the gradient of such rows from those of the
// outputs.
func (c *criterion) labelTangents(labels []int32) {
	for i, label := range labels {
		to := c.grad.Tangent().At(i, 0, 0)[:c.n]
		if label < 0 {
			clear(to)
			continue
		}
		c.kind.LabelAlong(c.loss, c.logits.At(i, 0, 0)[:c.n], int(label), c.grad.At(i, 0, 0)[:c.n], c.logits.Tangent().At(i, 0, 0)[:c.n], to, float64(c.scale))
	}
}

// targeted measures n examples by what their targets say. A row's loss is the mean
// over its outputs.
func (c *criterion) targeted(targets []float32, n int) (r Result) {
	one := float64(c.scale) / float64(c.n)
	for i := range n {
		z, grad := c.rows(i)
		y := targets[i*c.n:][:c.n]
		r.Loss += c.kind.Targets(c.loss, z, y, grad, one) / float64(c.n)
		clear(grad[len(grad):cap(grad)])
		r.Count++
		if c.kind.Target == Numbers {
			r.Fit.add(fitOf(z, y))
			continue
		}
		r.Recall.add(recallOf(z, y, c.loss.Top))
	}
	return r
}

// targetTangents does for them what labelTangents does for rows with a class.
func (c *criterion) targetTangents(targets []float32, n int) {
	one := float64(c.scale) / float64(c.n)
	for i := range n {
		c.kind.TargetsAlong(c.loss, c.logits.At(i, 0, 0)[:c.n], targets[i*c.n:][:c.n], c.logits.Tangent().At(i, 0, 0)[:c.n], c.grad.Tangent().At(i, 0, 0)[:c.n], one)
	}
}

// fitOf measures one example of a regression.
func fitOf(z, y []float32) (f Fit) {
	for j, x := range z {
		d, t := float64(x)-float64(y[j]), float64(y[j])
		f.Squares += float64(d * d)
		f.Distances += math.Abs(d)
		f.Sum += t
		f.SquareSum += float64(t * t)
		f.Count++
	}
	return f
}

// recallOf counts an example's labels and those of them that are among the top
// largest outputs, of equal ones those of the lower index; NaN is never among them.
func recallOf(z, y []float32, top int) Recall {
	r := Recall{Examples: 1}
	for j, t := range y {
		if t == 0 {
			continue
		}
		r.Labels++
		before := 0
		for k, x := range z {
			if x > z[j] || x == z[j] && k < j {
				before++
			}
		}
		if before < top && z[j] == z[j] {
			r.Found++
		}
	}
	return r
}
