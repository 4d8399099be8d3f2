package fl

import "github.com/fedfast/fedfast/fl/fleet"

// seconds returns how long the local training lasts on a device of the default fleet,
// so that what depends on time depends on nothing of this machine: the bytes on their
// way there and back, and the operations of the local steps.
func (l *Local) seconds(down, up int64) float64 {
	d := fleet.DefaultDevice()
	return l.flops/d.FLOPS + float64(down+up)/d.Down
}

// bytes returns how many a client receives and sends whose values are of a number: as float32,
// and what the keys update.* leave of them, with the statistics, which are sent as they are.
func (e *Engine) bytes(values int, p *Updates) (down, up int64) {
	exact := e.cfg.sentBuffers()
	w := e.uplink.wire(values-exact, p)
	return 4 * int64(values), w.Bytes() + 4*int64(exact)
}
