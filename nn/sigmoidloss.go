package nn

import (
	"math"

	"github.com/fedfast/fedfast/kernels/det"
)

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
