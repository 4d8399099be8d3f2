package nn

import "math"

// huber is half the squared distance of each output from its target up to Delta, and
// grows linearly from there on.
var huber = LossType{
	Name: Huber, Doc: "squared error that grows linearly beyond delta, of numbers",
	Target: Numbers, Delta: 1, Targets: huberRow, TargetsAlong: huberAlong,
}

func huberRow(l *Loss, z, y, grad []float32, scale float64) (loss float64) {
	delta := l.Delta
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

func huberAlong(l *Loss, z, y, dz, to []float32, scale float64) {
	for j, d := range dz {
		bend := 1.0
		if math.Abs(float64(z[j])-float64(y[j])) > l.Delta {
			bend = 0
		}
		to[j] = float32(float64(scale*bend) * float64(d))
	}
}
