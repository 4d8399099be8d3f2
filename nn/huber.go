package nn

import (
	"fmt"
	"math"
)

// HuberOptions are the options of Huber.
type HuberOptions struct {
	// Delta, above 0, is the distance from which on the loss grows linearly.
	Delta float64 `toml:"delta" in:"(0, inf)" doc:"distance from the target at which the loss becomes linear"`
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
