package nn

import (
	"math"
	"slices"

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

// recall counts the labels of examples that may have several.
type recall struct {
	// Labels are the labels of all examples, Found those of them that are among an
	// example's Loss.Top largest outputs.
	Labels, Found int
	Examples      int
}

// add adds the labels of other examples.
func (r *recall) add(s recall) {
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

// criterion is the loss of a model in one workspace: what follows its last layer.
type criterion struct {
	m      *Model
	logits Act
	grad   Act     // of the logits
	scale  float32 // of the gradient, 0 in evaluation
	labels []int32 // memory for those of a chunk in the order of rows, if samples have several

	// In training, see TrainOpts:
	absent []int32
	bias   []float32
	aside  Aside
}

// measure measures the samples of a chunk by their logits, and computes the gradient of
// these in training.
func (c *criterion) measure(r *Run, b *Batch, logits Act, scale float32) (sum Result) {
	c.logits, c.scale = logits, scale
	if !r.Train && (b.Right != nil || b.Best != nil || b.Outputs != nil) {
		c.tell(r, b)
	}
	if n := c.m.classes; c.m.lossType.Targets != nil {
		return c.targeted(r, b.Targets[r.Base*n:][:r.N*n])
	}
	steps := c.m.LabelsPerExample()
	labels := b.Labels[r.Base*steps:][:r.N*steps]
	if steps > 1 { // rows are time-major
		for i, label := range labels {
			c.labels[i%steps*r.N+i/steps] = label
		}
		labels = c.labels[:len(labels)]
	}
	sum = c.labelled(r, labels)
	if c.aside != nil {
		for i, label := range labels {
			if z, grad := c.row(i); label >= 0 {
				sum.Loss += c.aside.Add(r.Base+i, label, z, grad, scale)
			}
		}
		c.hold(c.grad, len(labels))
	}
	return sum
}

// row returns the outputs of row i and the place of their gradient, with room after it,
// empty in evaluation.
func (c *criterion) row(i int) (z, grad []float32) {
	n := c.m.classes
	z = c.logits.Data[i*c.logits.Pixel:][:n]
	if c.scale != 0 {
		grad = c.grad.Data[i*c.grad.Pixel:][:n:kernels.Pad(n)]
	}
	return z, grad
}

// labelled measures rows with a class each, of which one below 0 counts for nothing.
func (c *criterion) labelled(r *Run, labels []int32) (sum Result) {
	for i := range labels {
		row := c.logits.At(i, 0, 0)
		for class, b := range c.bias {
			row[class] += b
		}
	}
	c.hold(c.logits, len(labels))
	kind, loss := c.m.lossType, &c.m.loss
	whole := c.m.plain()
	if whole {
		var grad []float32
		if r.Train {
			grad = c.grad.Data
		}
		z := &c.logits
		sum.Loss, sum.Correct = kernels.SoftmaxXent(grad, z.Data, z.Pixel, len(labels), c.m.classes, labels, c.scale)
	}
	for i, label := range labels {
		z, grad := c.row(i)
		switch {
		case label < 0:
			clear(grad[:cap(grad)])
			continue
		case !whole:
			clear(grad[len(grad):cap(grad)])
			nll, w := kind.Label(loss, z, int(label), grad, float64(c.scale))
			sum.Loss += nll
			if loss.Weights != nil {
				sum.Weight += w
			}
			if isBest(z, int(label)) {
				sum.Correct++
			}
		}
		sum.Count++
	}
	if r.Train {
		c.hold(c.grad, len(labels))
	}
	return sum
}

// targeted measures examples by what their targets say. A row's loss is the mean over
// its outputs.
func (c *criterion) targeted(r *Run, targets []float32) (sum Result) {
	c.hold(c.logits, r.N)
	kind, loss, n := c.m.lossType, &c.m.loss, c.m.classes
	one := float64(c.scale) / float64(n)
	for i := range r.N {
		z, grad := c.row(i)
		y := targets[i*n:][:n]
		sum.Loss += kind.Targets(loss, z, y, grad, one) / float64(n)
		clear(grad[len(grad):cap(grad)])
		sum.Count++
		if kind.Target == Numbers {
			sum.Fit.add(fitOf(z, y))
		} else {
			sum.Recall.add(recallOf(z, y, loss.Top))
		}
	}
	if r.Train {
		c.hold(c.grad, r.N)
	}
	return sum
}

// hold sets the absent classes' logits, or their gradients, to 0.
func (c *criterion) hold(rows Act, n int) {
	for i := 0; i < n && len(c.absent) > 0; i++ {
		row := rows.At(i, 0, 0)
		for _, class := range c.absent {
			row[class] = 0
		}
	}
}

// tell writes what a batch asks for of each row, label by label.
func (c *criterion) tell(r *Run, b *Batch) {
	n, steps := c.m.classes, c.m.LabelsPerExample()
	labels := c.m.lossType.Targets == nil
	for i := range r.N * steps {
		z, _ := c.row(i)
		to := (r.Base+i%r.N)*steps + i/r.N
		if b.Outputs != nil {
			copy(b.Outputs[to*n:][:n], z)
		}
		if b.Right != nil && labels {
			b.Right[to] = b.Labels[to] >= 0 && isBest(z, int(b.Labels[to]))
		}
		if b.Best != nil && labels {
			b.Best[to] = predict(z, c.logits.Pixel)
		}
	}
}

// predict returns what logits, in a row of ld floats, predict. Where none of them
// is a number the class is 0 and the probability NaN.
func predict(z []float32, ld int) Prediction {
	best := int32(0)
	for j, x := range z {
		if x > z[best] || z[best] != z[best] {
			best = int32(j)
		}
	}
	loss, _ := kernels.SoftmaxXent(nil, slices.Clip(z), ld, 1, len(z), []int32{best}, 0)
	return Prediction{Class: best, Probability: float32(math.Exp(-loss))}
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
func recallOf(z, y []float32, top int) recall {
	r := recall{Examples: 1}
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
