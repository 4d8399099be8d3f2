package nn

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
