package fl

import "github.com/fedfast/fedfast/fl/fleet"

// seconds returns how long the local training lasts on a device of the default fleet,
// so that what depends on time depends on nothing of this machine: the weights on their
// way there and back as float32, and the operations of the local steps.
func (l *Local) seconds() float64 {
	d := fleet.DefaultDevice()
	return l.flops/d.FLOPS + 2*4*float64(l.traffic)/d.Down
}
