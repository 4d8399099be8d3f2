package nn

import (
	"fmt"
	"math"

	"github.com/fedfast/fedfast/kernels/det"
)

// crossEntropy is the softmax cross-entropy with smoothing e and weights w of the
// classes, 1 without: for a row of the label y,
//
//	loss    = (1-e) w_y nll_y + e/n sum over k of w_k nll_k,  nll_k = log(sum over j of e^z_j) - z_k
//	grad_j  = scale ((1-e) w_y (p_j - (j == y)) + e/n (p_j sum over k of w_k - w_j)),  p = softmax(z)
var crossEntropy = LossType{
	Name: CrossEntropy, Doc: "softmax cross-entropy, of one class each",
	Smooths: true, Weighs: true, Label: crossEntropyRow,
}

// logistic is crossEntropy of the outputs 0 and z.
var logistic = LossType{
	Name: Logistic, Doc: "logistic loss of one output, of two classes",
	Smooths: true, Weighs: true, Label: crossEntropyRow,
}

func crossEntropyRow(l *Loss, z []float32, label int, grad []float32, scale float64) (loss, weight float64) {
	share, w := l.Smoothing/float64(len(z)), l.Weight(label)
	nll := Softmax(z, label, grad)
	loss = float64(float64((1-l.Smoothing)*w) * nll)
	rest := 0.0
	if share > 0 {
		rest = float64(share * l.total(len(z)))
		lse, others := nll+float64(z[label]), 0.0
		for k, x := range z {
			others += float64(l.Weight(k) * (lse - float64(x)))
		}
		loss += float64(share * others)
	}
	if grad == nil {
		return loss, w
	}
	own := float64((1 - l.Smoothing) * w)
	for j, g := range grad {
		p, hit := float64(g), 0.0
		if j == label {
			p, hit = p+1, own
		}
		to := float64((own+rest)*p) - hit
		if share > 0 {
			to -= float64(share * l.Weight(j))
		}
		grad[j] = float32(scale * to)
	}
	return loss, w
}

// Weight returns the weight of a class, 1 without weights.
func (l *Loss) Weight(class int) float64 {
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

// HuberOptions are the options of Huber.
type HuberOptions struct {
	// Delta, above 0, is the distance from which on the loss grows linearly.
	//
	// distance from the target at which the loss becomes linear
	Delta float64 `toml:"delta" in:"(0, inf)"`
}

// huber is half the squared distance of each output from its target up to Delta, and
// grows linearly from there on.
var huber = LossType{
	Name: Huber, Doc: "squared error that grows linearly beyond delta, of numbers",
	Target: Numbers, Options: HuberOptions{Delta: 1}, Check: checkHuber, Targets: huberRow,
}

func checkHuber(l *Loss) error {
	if delta := l.Options.(HuberOptions).Delta; !(delta > 0 && delta <= math.MaxFloat32) {
		return fmt.Errorf("delta %v: must be above 0", delta)
	}
	return nil
}

func huberRow(l *Loss, z, y, grad []float32, scale float64) (loss float64) {
	delta := l.Options.(HuberOptions).Delta
	for j, x := range z {
		d := float64(x) - float64(y[j])
		slope := d
		switch {
		case d > delta:
			loss += float64(delta * (d - float64(0.5*delta)))
			slope = delta
		case d < -delta:
			loss += float64(delta * (-d - float64(0.5*delta)))
			slope = -delta
		default:
			loss += float64(float64(0.5*d) * d)
		}
		if grad != nil {
			grad[j] = float32(scale * slope)
		}
	}
	return loss
}

// sigmoid compares each output by itself with whether it is one of an example's labels.
var sigmoid = LossType{
	Name: Sigmoid, Doc: "cross-entropy of the sigmoid of each output, of several labels each",
	Target: ManyLabels, Weighs: true, Targets: sigmoidRow,
}

// sigmoidRow never computes the larger of e^z and e^-z.
func sigmoidRow(l *Loss, z, y, grad []float32, scale float64) (loss float64) {
	for j, x := range z {
		z, y, w := float64(x), float64(y[j]), l.Weight(j)
		e := det.Exp(-math.Abs(z))
		low := det.Log(1 + e) // log(1 + e^-|z|)
		loss += float64(float64(w*y)*(max(-z, 0)+low)) + float64((1-y)*(max(z, 0)+low))
		if grad == nil {
			continue
		}
		p := 1 / (1 + e)
		if z < 0 {
			p = e / (1 + e)
		}
		grad[j] = float32(scale * (float64(p*(float64(w*y)+(1-y))) - float64(w*y)))
	}
	return loss
}

// squared is the squared distance of each output from its target.
var squared = LossType{
	Name: Squared, Doc: "squared error, of numbers",
	Target: Numbers, Targets: squaredRow,
}

func squaredRow(_ *Loss, z, y, grad []float32, scale float64) (loss float64) {
	for j, x := range z {
		d := float64(x) - float64(y[j])
		loss += float64(d * d)
		if grad != nil {
			grad[j] = float32(scale * (2 * d))
		}
	}
	return loss
}
