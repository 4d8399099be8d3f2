package methods

import (
	"fmt"

	"github.com/fedfast/fedfast/fl"
)

// maxPlaces bounds the parameters whose numbers a float32 holds exactly.
const maxPlaces = 1 << 24

// narrow makes a sub-network of the model. All of one width are one network, in other
// places.
func (h *heteroSetup) narrow(s slice) (*fl.Subnet, error) {
	m := h.model
	if m.Size() >= maxPlaces {
		return nil, fmt.Errorf("model %s: %d parameters; sub-networks need fewer than %d", m.Name(), m.Size(), maxPlaces)
	}
	sub := h.nets[s.width]
	if sub == nil {
		var err error
		if sub, err = m.Narrow(s.width); err != nil {
			return nil, err
		}
		h.nets[s.width] = sub
	}
	place, err := h.places.Rotated(sub, s.shift)
	if err != nil {
		return nil, err
	}
	return &fl.Subnet{Model: sub, Place: place}, nil
}
