package nn

import "testing"

func TestScalerGain(t *testing.T) {
	conv := Conv2D{Filters: 16, Kernel: 1}
	for _, c := range []struct {
		layers []Layer
		width  float64
		want   float64
	}{
		{[]Layer{conv, ReLU{}, conv, Flatten{}, Dense{Units: 16}, Dense{Units: 2}}, 0.0625, 64},
		{[]Layer{conv, ReLU{}, conv, Flatten{}, Dense{Units: 16}, Dense{Units: 2}}, 1, 1},
		{[]Layer{conv, GroupNorm{Groups: 1}, conv, GroupNorm{Groups: 1}, Dense{Units: 2}}, 0.0625, 4},
		{[]Layer{conv, Residual{Body: []Layer{GroupNorm{Groups: 1}, conv, conv}}, Dense{Units: 2}}, 0.25, 4},
		{[]Layer{conv, Graph{Branches: []Branch{{From: []int{GraphInput}, Layers: []Layer{conv}}, {From: []int{GraphInput, 0}, Join: Concat}}}, Dense{Units: 2}}, 0.25, 4},
	} {
		m, err := NewModel("gain", Shape{H: 3, W: 3, C: 1}, 2, c.layers...)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := m.ScalerGain(c.width); err != nil || got != c.want {
			t.Errorf("%v at width %v: gain %v, error %v, want %v", c.layers, c.width, got, err, c.want)
		}
	}
}
