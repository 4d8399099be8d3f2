package nn

import (
	"math"

	"github.com/fedfast/fedfast/kernels"
	"github.com/fedfast/fedfast/kernels/det"
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
	// Labels are those of all examples, Found those of them that are among an
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
	loss   *Loss
	n      int     // outputs
	scale  float32 // of the gradient, 0 for none
	logits Act
	grad   Act // of the logits, empty without
}

// rows returns the outputs of row i and the place of their gradient, empty without.
func (c *criterion) rows(i int) (z, grad []float32) {
	z = c.logits.Data[i*c.logits.Pixel:][:c.n]
	if c.scale != 0 {
		grad = c.grad.Data[i*c.grad.Pixel:][:kernels.Pad(c.n)]
	}
	return z, grad
}

// labelled measures rows with a class each by the cross-entropy with smoothing e and
// weights w of the classes, 1 without: for a row of the label y,
//
//	loss    = (1-e) w_y nll_y + e/n sum over k of w_k nll_k,  nll_k = log(sum over j of e^z_j) - z_k
//	grad_j  = scale ((1-e) w_y (p_j - (j == y)) + e/n (p_j sum over k of w_k - w_j)),  p = softmax(z)
func (c *criterion) labelled(labels []int32) (r Result) {
	share, all := c.loss.Smoothing/float64(c.n), c.loss.total(c.n)
	for i, label := range labels {
		z, grad := c.rows(i)
		if label < 0 {
			clear(grad)
			continue
		}
		w := c.loss.weight(int(label))
		var out []float32 // with room behind, as the kernel wants it
		if grad != nil {
			out = c.grad.Data[i*c.grad.Pixel:]
		}
		nll, hit := kernels.SoftmaxXent(out, c.logits.Data[i*c.logits.Pixel:], c.logits.Pixel, 1, c.n, labels[i:i+1], 1)
		loss := float64(float64((1-c.loss.Smoothing)*w) * nll)
		if share > 0 {
			lse, others := nll+float64(z[label]), 0.0
			for k, x := range z {
				others += float64(c.loss.weight(k) * (lse - float64(x)))
			}
			loss += float64(share * others)
		}
		r.Loss += loss
		r.Weight += w
		r.Count++
		r.Correct += hit
		c.smooth(grad, int(label), w, share, all)
	}
	if c.loss.Weights == nil {
		r.Weight = 0
	}
	return r
}

// smooth makes the gradient of a row of p - onehot.
func (c *criterion) smooth(grad []float32, label int, w, share, all float64) {
	if grad == nil {
		return
	}
	scale := float64(c.scale)
	own, rest := float64((1-c.loss.Smoothing)*w), float64(share*all)
	for j, g := range grad[:c.n] {
		p, hit := float64(g), 0.0
		if j == label {
			p, hit = p+1, own
		}
		to := float64((own+rest)*p) - hit
		if share > 0 {
			to -= float64(share * c.loss.weight(j))
		}
		grad[j] = float32(scale * to)
	}
}

// weight returns the weight of a class.
func (l *Loss) weight(class int) float64 {
	if l.Weights == nil {
		return 1
	}
	return l.Weights[class]
}

// total returns the sum of the weights of n classes.
func (l *Loss) total(n int) float64 {
	if l.Weights == nil {
		return float64(n)
	}
	var sum float64
	for _, w := range l.Weights {
		sum += w
	}
	return sum
}

// targeted measures n examples by what their targets say. A row's loss is the mean
// over its outputs.
func (c *criterion) targeted(targets []float32, n int) (r Result) {
	one := float64(c.scale) / float64(c.n)
	for i := range n {
		z, grad := c.rows(i)
		y := targets[i*c.n:][:c.n]
		var loss float64
		for j, x := range z {
			l, slope := c.one(j, float64(x), float64(y[j]))
			loss += l
			if grad != nil {
				grad[j] = float32(one * slope)
			}
		}
		if grad != nil {
			clear(grad[c.n:])
		}
		r.Loss += loss / float64(c.n)
		r.Count++
		if c.loss.Numbers() {
			r.Fit.add(fitOf(z, y))
			continue
		}
		r.Recall.add(recallOf(z, y, c.loss.Top))
	}
	return r
}

// one returns the loss of output j and its derivative.
func (c *criterion) one(j int, z, y float64) (loss, slope float64) {
	switch c.loss.Kind {
	case Squared:
		d := z - y
		return float64(d * d), 2 * d
	case Huber:
		d, delta := z-y, c.loss.Delta
		switch {
		case d > delta:
			return float64(delta * (d - float64(0.5*delta))), delta
		case d < -delta:
			return float64(delta * (-d - float64(0.5*delta))), -delta
		}
		return float64(float64(0.5*d) * d), d
	default: // the larger of e^z and e^-z is never computed
		w := c.loss.weight(j)
		e := det.Exp(-math.Abs(z))
		low := det.Log(1 + e) // log(1 + e^-|z|)
		p := 1 / (1 + e)
		if z < 0 {
			p = e / (1 + e)
		}
		plus := float64(w*y)*(max(-z, 0)+low) + float64((1-y)*(max(z, 0)+low))
		return plus, float64(p*(float64(w*y)+(1-y))) - float64(w*y)
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
