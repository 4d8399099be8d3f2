package fleet

import (
	"math"
)

// Client is what a fleet is told of a client of the federation.
type Client struct {
	// ID is the client's name in the federation, unique.
	ID string
	// Samples is its number of training samples.
	Samples int
}

// Device is a device's mean speed.
type Device struct {
	// FLOPS are the operations that it does in a second.
	FLOPS float64
	// Down and Up are the bytes that it receives and sends in a second.
	Down, Up float64
}

// DefaultDevice returns the device of a fleet of equal phones: a phone of 2020, a
// stated model.
func DefaultDevice() Device { return Device{FLOPS: 10e9, Down: 1.25e6, Up: 1.25e6} }

// Job is the work of one client for one update.
type Job struct {
	// Client is the number of the client in the federation.
	Client int
	// Sequence is the number of the job in its trial; it keys the draws of the job.
	Sequence uint64
	// Start is when the client begins to receive, >= 0.
	Start int64
	// FLOPs are the operations of the local training, >= 0.
	FLOPs float64
	// Down and Up are the bytes to receive before it and to send after it, >= 0.
	Down, Up int64
}

// Outcome is when the parts of a job end. Those that a failed job did not reach end with
// the failure.
type Outcome struct {
	// Received, Computed and End are the ends of the download, of the local
	// training, and of the upload.
	Received, Computed, End int64
	// Failed reports that the update does not arrive: End is when the client failed.
	Failed bool
}

// Fleet answers for the devices of a federation's clients. Its methods may be called
// from several goroutines, allocate nothing, and panic on a client's number out of range.
type Fleet struct {
	cfg     Config
	seed    uint64
	clients int
}

// New returns the fleet of a federation's clients. An error names the key of cfg, or the
// line of a file, that is wrong.
func New(cfg Config, seed uint64, clients []Client) (*Fleet, error) {
	return &Fleet{cfg: cfg, seed: seed, clients: len(clients)}, nil
}

// Device returns the mean speed of a client's device.
func (f *Fleet) Device(client int) Device { return DefaultDevice() }

// Available reports whether a client is available at a time t >= 0, and until when that
// certainly stays so; math.MaxInt64 is for ever.
func (f *Fleet) Available(client int, t int64) (on bool, until int64) { return true, math.MaxInt64 }

// Run returns when the parts of a job end.
func (f *Fleet) Run(j Job) Outcome {
	d := f.Device(j.Client)
	received := later(j.Start, float64(j.Down)/d.Down)
	computed := later(received, j.FLOPs/d.FLOPS)
	return Outcome{Received: received, Computed: computed, End: later(computed, float64(j.Up)/d.Up)}
}

// later returns the time some seconds after t.
func later(t int64, seconds float64) int64 {
	ns := math.RoundToEven(float64(seconds * 1e9))
	if !(ns < float64(math.MaxInt64-t)) {
		return math.MaxInt64
	}
	return t + int64(ns)
}
