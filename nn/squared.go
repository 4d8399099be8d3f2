package nn

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
