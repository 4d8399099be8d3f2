package fleet

import (
	"math"
	"slices"

	"github.com/fedfast/fedfast/internal/key"
)

// Client is what a fleet needs to know of a client of the federation.
type Client struct {
	// ID is the client's name in the federation, unique.
	ID string
	// Samples is its number of training samples.
	Samples int
	// Memory are the bytes that its local training takes. It never takes part with a
	// device that has less.
	Memory int64
}

// Device is a device's mean speed.
type Device struct {
	// FLOPS are the operations that it does in a second.
	FLOPS float64
	// Down and Up are the bytes that it receives and sends in a second.
	Down, Up float64
	// Memory are the bytes that it has for a local training; +Inf without a limit.
	Memory float64
}

// DefaultDevice returns the device of a fleet of equal phones: a phone of 2020, a
// stated model.
func DefaultDevice() Device {
	return Device{FLOPS: 10e9, Down: 1.25e6, Up: 1.25e6, Memory: math.Inf(1)}
}

// Fleet answers for the devices of a federation's clients. Its methods may be called
// from several goroutines, allocate nothing, and may panic on a client's number out of
// range.
type Fleet struct {
	cfg     Config
	base    uint64 // key of the draws
	clients int

	rows  []row
	upto  []float64               // share of the clients with one of the rows up to a number; nil where all rows are equally likely
	of    []int32                 // the clients' rows; nil where they are drawn
	apart bool                    // rows are drawn whatever the speed
	speed func(u float64) float64 // of the device at a quantile; nil where the row has it
	rank  []int32                 // of the clients' speeds; nil where they are independent

	when  pattern // nil for always
	small []bool  // which clients' devices have too little memory; nil for none
	able  int     // the others
}

// row is a device with the deviations of the logarithms of its transfers' speeds.
type row struct {
	Device
	down, up float64
}

// Steady returns the fleet with the same devices whose clients are always available and
// whose jobs never fail.
func (f *Fleet) Steady() *Fleet {
	s := *f
	s.when, s.cfg.Dropout, s.cfg.Hazard = nil, 0, 0
	return &s
}

// New returns the fleet of a federation's clients. An error names the key of cfg, or the
// file and line, that is wrong.
func New(cfg Config, seed uint64, clients []Client) (*Fleet, error) {
	if err := cfg.Check(); err != nil {
		return nil, err
	}
	if len(cfg.SecondsPerSample) > 0 && !(cfg.SampleFLOPs > 0) {
		return nil, &key.Error{Key: "fleet.seconds_per_sample", Problem: ": the operations of the model for a sample are not known; use fleet.flops"}
	}
	f := &Fleet{cfg: cfg, base: base(seed), clients: len(clients)}
	if err := f.setDevices(clients); err != nil {
		return nil, err
	}
	if cfg.Correlation != 0 {
		f.rank = f.ranks(clients)
	}
	if err := f.setPattern(clients); err != nil {
		return nil, err
	}
	f.setMemory(clients)
	return f, nil
}

// setMemory finds the clients whose devices have too little memory.
func (f *Fleet) setMemory(clients []Client) {
	f.able = len(clients)
	if !slices.ContainsFunc(f.rows, func(r row) bool { return !math.IsInf(r.Memory, 1) }) {
		return // a device of a million clients is not looked at for nothing
	}
	for i, c := range clients {
		if f.Device(i).Memory >= float64(c.Memory) {
			continue
		}
		if f.small == nil {
			f.small = make([]bool, len(clients))
		}
		f.small[i] = true
		f.able--
	}
}

// Fits reports whether a client's device has the memory that its local training takes.
func (f *Fleet) Fits(client int) bool { return f.small == nil || !f.small[client] }

// Able returns the number of clients whose devices have the memory that their local
// training takes.
func (f *Fleet) Able() int { return f.able }
