package main

import (
	"github.com/fedfast/fedfast/kernels/det"
	"github.com/fedfast/fedfast/nn"
)

func init() {
	must(nn.RegisterLoss(nn.LossType{
		Name: "focal", Doc: "cross-entropy times (1-p)^gamma, p the share of the label (Lin et al. 2017)",
		Weighs: true, Options: focal{Gamma: 2}, Label: focalRow,
	}))
}

// focal holds the options of the loss.
type focal struct {
	Gamma float64 `toml:"gamma" in:"[1, 10]" doc:"how little samples count whose label has a large share"`
}

// focalRow: with n = -log p the loss is f(n) = (1-p)^gamma n, and its derivative by an
// output is f'(n) times that of n, which Softmax gives.
func focalRow(l *nn.Loss, z []float32, label int, grad []float32, scale float64) (loss, weight float64) {
	gamma := l.Options.(focal).Gamma
	n, w := nn.Softmax(z, label, grad), l.Weight(label)
	p := det.Exp(-n)
	less := power(1-p, gamma-1) // (1-p)^(gamma-1)
	share := float64(less * (1 - p))
	slope := scale * w * (share + float64(float64(gamma*n)*float64(less*p)))
	for j, g := range grad {
		grad[j] = float32(slope * float64(g))
	}
	return float64(w*share) * n, w
}

// power returns x^y, of x in [0, 1] and y of 0 or above, with the same bits everywhere.
func power(x, y float64) float64 {
	switch {
	case y == 0:
		return 1
	case x <= 0:
		return 0
	}
	return det.Exp(y * det.Log(x))
}
