package fl

import "github.com/fedfast/fedfast/fl/fleet"

// seconds returns how long the local training lasts on a device of the default fleet,
// so that what depends on time depends on nothing of this machine: the bytes on their
// way there and back, and the operations of the local steps.
func (l *Local) seconds() float64 {
	d := fleet.DefaultDevice()
	down, up := l.bytes()
	return l.flops/d.FLOPS + float64(down+up)/d.Down
}

// bytes returns how many the client receives and sends: its parameters as float32, and what
// Config.Updates leave of them.
func (l *Local) bytes() (down, up int64) { return l.engine.bytes(l.traffic) }

// bytes returns how many a client receives and sends whose values are of a number, with the
// statistics, which are sent as they are.
func (e *Engine) bytes(values int) (down, up int64) {
	exact := e.cfg.sentBuffers()
	w := e.uplink.wire(values - exact)
	return 4 * int64(values), w.Bytes() + 4*int64(exact)
}
