package nn

import "errors"

// Flatten marks where an image becomes a vector. It computes nothing: a dense
// layer reads the image as it lies, and its exported weight has the inputs in
// the order of PyTorch's flatten, channel, row, column.
type Flatten struct{}

// Kind returns "flatten".
func (Flatten) Kind() string { return "flatten" }

// Abilities returns what the layer can do.
func (Flatten) Abilities() Abilities {
	return Abilities{
		Narrow: Follow, Scaling: ScaleBehind,
		Torch: func(t *Torch) {
			if !t.Flat {
				t.Set("%s.flatten(1)", t.X)
				t.Flat = true
			}
		},
	}
}

// Bind returns no Bound: the layer needs no place in a model.
func (Flatten) Bind(in Flow) (Bound, error) {
	if in.Seq > 0 {
		return nil, errors.New("a flatten needs an image as its input")
	}
	return nil, nil
}
