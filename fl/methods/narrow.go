package methods

import (
	"fmt"

	"github.com/fedfast/fedfast/fl"
	"github.com/fedfast/fedfast/nn"
)

// maxPlaces bounds the parameters whose numbers a float32 holds exactly.
const maxPlaces = 1 << 24

// cut cuts a model, whose places are given, to a width.
func cut(m *nn.Model, places *nn.Places, width float64) (*fl.Subnet, error) {
	if m.Size() >= maxPlaces {
		return nil, fmt.Errorf("model %s: %d parameters; sub-networks can be cut from fewer than %d", m.Name(), m.Size(), maxPlaces)
	}
	sub, err := m.Narrow(width)
	if err != nil {
		return nil, err
	}
	place, err := places.Of(sub)
	if err != nil {
		return nil, err
	}
	return fl.NewSubnet(sub, place), nil
}
