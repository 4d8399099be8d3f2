package nn

import "cmp"

// placed is a layer with its number, from 1, in the description of the model.
type placed struct {
	Layer
	number int
	name   string // of its parameters, "" to go by its kind
	files  map[string]Tensor
	swish  bool // a hard swish is in it, which counts as a layer where draws are keyed
}

// fuse folds layers into the ones before them where one kernel does both: a ReLU
// into a dense or convolutional layer. A max-pool after such a convolution takes
// over the ReLU's backward pass, on its smaller image, and may leave its own to the
// convolution. A hard swish goes into a group normalisation. A dropout after that takes over the ReLU's backward pass
// in turn.
// Layers with products get the precision of these.
func fuse(layers []Layer, to binding) []placed {
	var out []placed
	for i, l := range layers {
		now := placed{number: i + 1}
		if n, ok := l.(Named); ok {
			l, now = n.Layer, placed{number: cmp.Or(n.Number, i+1), name: n.Name, files: n.Files}
		}
		if a := l.Abilities(); a.within != nil {
			l = a.within(to)
		}
		if a := l.Abilities(); a.Rounded != nil && to.precision != FP32 {
			l = a.Rounded(to.precision)
		}
		if len(out) > 0 {
			last := &out[len(out)-1]
			switch now := l.(type) {
			case ReLU:
				if a := last.Abilities(); a.ReLU != nil {
					last.Layer = a.ReLU()
					continue
				}
			case Activation:
				if n, ok := last.Layer.(GroupNorm); ok && now == hardSwish {
					last.Layer, last.swish = groupNormSwish{n}, true
					continue
				}
			case MaxPool:
				if c, ok := last.Layer.(fusedConv); ok {
					c.maskLater, c.halved = true, now.halves()
					last.Layer = c
					l = maskedPool{now}
				}
			case Dropout:
				if p, ok := last.Layer.(maskedPool); ok {
					last.Layer = p.MaxPool
					l = maskedDropout{now}
				}
			}
		}
		now.Layer = l
		out = append(out, now)
	}
	return out
}
