package nn

import "math"

// ScalerGain returns how many times larger than the whole network's the activations of
// its sub-network of that width are when training begins, at the most: with
// independent weights a layer that has a share of its inputs and is divided by the
// width gives values 1/sqrt(width) times as large. Each such layer multiplies by that
// until a normalisation behind it undoes the scale (HeteroFL, Diao et al. 2021). The
// error is Narrow's.
func (m *Model) ScalerGain(width float64) (float64, error) {
	narrow, err := m.Narrow(width)
	if err != nil {
		return 0, err
	}
	most := 0
	scalers(narrow.layers, 0, &most)
	return math.Pow(width, -float64(most)/2), nil
}

// scalers returns how many scalers are behind the last normalisation after these
// layers, if so many were before; most is the largest number on the way.
func scalers(layers []Layer, n int, most *int) int {
	for _, l := range layers {
		switch now := unnamed(l).(type) {
		case Scale:
			n++
		case GroupNorm, LayerNorm, RMSNorm:
			n = 0
		case Residual:
			n = max(scalers(now.Body, n, most), scalers(now.Shortcut, n, most))
		case Graph:
			given := map[int]int{GraphInput: n}
			for k, br := range now.Branches {
				n = 0
				for _, from := range br.From {
					n = max(n, given[from])
				}
				n = scalers(br.Layers, n, most)
				given[k] = n
			}
		}
		*most = max(*most, n)
	}
	return n
}
