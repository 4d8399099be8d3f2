package nn

import "fmt"

// ReLU6 is min(max(x, 0), 6).
type ReLU6 struct{}

// LeakyReLU is x above zero, and Slope times x below.
type LeakyReLU struct {
	Slope float32 // in [0, 1]
}

// Kind returns "relu6".
func (ReLU6) Kind() string { return "relu6" }

// Kind returns "leakyrelu".
func (LeakyReLU) Kind() string { return "leakyrelu" }

// Abilities returns what the layer can do.
func (ReLU6) Abilities() Abilities { return Abilities{Narrow: Follow, Torch: TorchFunction("F.relu6")} }

// Abilities returns what the layer can do.
func (l LeakyReLU) Abilities() Abilities {
	return Abilities{Narrow: Follow, Torch: func(t *Torch) { t.Set("F.leaky_relu(%s, %v)", t.X, l.Slope) }}
}

// Bind fixes the layer for its input.
func (l ReLU6) Bind(in Flow) (Bound, error) {
	return bindBent(func(x float32) (y, slope float32) {
		switch {
		case x <= 0:
			return 0, 0
		case x >= 6:
			return 6, 0
		}
		return x, 1
	}, in, l)
}

// Bind fixes the layer for its input.
func (l LeakyReLU) Bind(in Flow) (Bound, error) {
	if !(l.Slope >= 0 && l.Slope <= 1) {
		return nil, fmt.Errorf("slope %v; it must be in [0, 1]", l.Slope)
	}
	return bindBent(func(x float32) (y, slope float32) {
		if x <= 0 {
			return l.Slope * x, l.Slope
		}
		return x, 1
	}, in, l)
}

// bindBent binds an activation that is made of straight lines.
func bindBent(f func(x float32) (y, slope float32), in Flow, l Layer) (Bound, error) {
	b, err := bindCurve(0, in, l)
	if err == nil {
		b.(*boundCurve).bent = f
	}
	return b, err
}
