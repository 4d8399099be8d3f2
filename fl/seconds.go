package fl

// The device on which seconds_simulated are counted, a phone of 2020: a stated
// model, so that what depends on time depends on nothing of this machine.
const (
	// deviceFLOPS are the operations that it does in a second.
	deviceFLOPS = 10e9
	// deviceBandwidth are the bytes that it receives, or sends, in a second.
	deviceBandwidth = 1.25e6
)

// seconds returns how long the local training lasts on the simulated device: the
// weights on their way there and back as float32, and the operations of the local
// steps.
func (l *Local) seconds() float64 {
	return l.flops/deviceFLOPS + 2*4*float64(l.traffic)/deviceBandwidth
}
