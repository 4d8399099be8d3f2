package fleet

import (
	"cmp"
	"math"

	"github.com/fedfast/fedfast/kernels/det"
)

// The values of Time.Mode.
const (
	Sync     = "sync"
	Buffered = "buffered"
	Window   = "window"
	Async    = "async"
)

// The values of Time.Staleness.
const (
	Constant   = "constant"
	Polynomial = "polynomial"
	Hinge      = "hinge"
)

// Time says how the server works on a fleet, in simulated time: the keys time.*.
type Time struct {
	// when the server steps: sync, after a round's cohort; buffered, after every time.buffer updates
	// (FedBuff); async, after every update (FedAsync); window, every time.window seconds, with the updates
	// that have arrived (semi-synchronous)
	Mode string `toml:"mode" of:"sync buffered async window" also:"schedule"`
	// number of clients that work at a time; 0: as many as cohort
	Concurrency int `toml:"concurrency" tune:"yes" in:"[0, inf)" with:"buffered async window"`
	// number of updates that a step takes
	Buffer int `toml:"buffer" tune:"yes" in:"[1, inf)" with:"buffered" also:"buffer_size K"`
	// simulated seconds of a window, at whose end the server takes the updates that have arrived and their
	// clients begin again
	Window float64 `toml:"window" tune:"yes" in:"(0, 1e9]" with:"window" also:"interval period"`
	// number of clients that must have ended before others begin
	Open int `toml:"open" in:"[1, inf)" with:"buffered async window"`
	// simulated seconds after which a round takes no more updates; 0: none
	Deadline float64 `toml:"deadline" tune:"yes" in:"[0, 1e9]" with:"sync" also:"timeout"`
	// a client that would miss the deadline does as many local steps as fit, at least one, and keeps its
	// weight: only fednova divides by the steps
	Partial bool `toml:"partial" tune:"yes" with:"sync" also:"partial_work"`
	// factor by which more clients than cohort begin a round, of which the first cohort are taken
	Overselect float64 `toml:"overselect" tune:"yes" in:"[1, 100]" with:"sync" also:"over_selection overcommit"`
	// number of updates without which a round fails and is repeated with other clients
	MinUpdates int `toml:"min_updates" in:"[1, inf)" with:"sync"`
	// number of rounds in a row that may fail; one more ends the trial
	MaxFailed int `toml:"max_failed" in:"[0, inf)" with:"sync"`
	// largest staleness of an update, the number of steps since its client began
	MaxStaleness int `toml:"max_staleness" in:"[0, inf)" with:"buffered async window"`
	// weight s of an update with staleness t: constant is 1, polynomial 1/(1+t)^exponent, hinge 1 up to t
	// = hinge_after and 1/(1 + hinge_slope (t - hinge_after)) beyond
	Staleness string `toml:"staleness" of:"constant polynomial hinge" with:"buffered async window"`
	// exponent of time.staleness = "polynomial"
	Exponent float64 `toml:"exponent" tune:"yes" in:"[0, 100]" with:"buffered async window"`
	// slope of time.staleness = "hinge"
	HingeSlope float64 `toml:"hinge_slope" in:"[0, 1e6]" with:"buffered async window"`
	// staleness from which time.staleness = "hinge" weights less
	HingeAfter float64 `toml:"hinge_after" in:"[0, 1e6]" with:"buffered async window"`
	// weight of a client's model in the mean with the server's, times s(t)
	Mixing float64 `toml:"mixing" in:"(0, 1]" with:"async" also:"alpha"`
	// weight the updates of a step by the clients' weights in the method, not equally
	Weighted bool `toml:"weighted" with:"buffered window"`
	// simulated seconds after which fedfast run, or a client tuner's single trial, stops; 0: none
	Seconds float64 `toml:"seconds" in:"[0, inf)" also:"time_budget max_seconds"`
	// simulated seconds that a step of the server takes
	Server float64 `toml:"server" in:"[0, 1e9]"`
}

// DefaultTime returns the defaults of the keys time.*: rounds that wait for all clients.
func DefaultTime() Time {
	return Time{
		Mode: Sync, Buffer: 10, Window: 60, Open: 1, Overselect: 1, MinUpdates: 1, MaxFailed: 10, MaxStaleness: 100,
		Staleness: Polynomial, Exponent: 0.5, HingeSlope: 10, HingeAfter: 4, Mixing: 0.6,
	}
}

// Asynchronous reports whether the server steps without waiting for rounds.
func (t *Time) Asynchronous() bool { return t.Mode != Sync }

// Updates returns how many updates a step takes at most.
func (t *Time) Updates(cohort int) int {
	switch t.Mode {
	case Buffered:
		return t.Buffer
	case Async:
		return 1
	case Window:
		return t.Working(cohort)
	}
	return cohort
}

// Working returns how many clients work at a time.
func (t *Time) Working(cohort int) int {
	if !t.Asynchronous() {
		return int(min(math.Ceil(float64(cohort)*t.Overselect), math.MaxInt32))
	}
	return cmp.Or(t.Concurrency, cohort)
}

// Slots returns how many clients begin before the next step, if none of their work is lost,
// when a number are at work.
func (t *Time) Slots(cohort, working int) int {
	n := t.Working(cohort) - working
	if t.Asynchronous() && t.Mode != Window { // others begin as updates arrive, but for the last one
		n += t.Updates(cohort) - 1
	}
	return max(n, 1)
}

// Versions returns of how many earlier models clients may be at work at a time.
func (t *Time) Versions(cohort int) int {
	if !t.Asynchronous() {
		return 0
	}
	return min(t.Working(cohort), t.MaxStaleness)
}

// Weight returns the weight of an update's staleness.
func (t *Time) Weight(staleness int) float64 {
	s, mixing := float64(staleness), 1.0
	if t.Mode == Async {
		mixing = t.Mixing
	}
	switch {
	case t.Staleness == Hinge && s > t.HingeAfter:
		return mixing / (1 + float64(t.HingeSlope*(s-t.HingeAfter)))
	case t.Staleness == Polynomial && t.Exponent == 0.5:
		return mixing / math.Sqrt(1+s)
	case t.Staleness == Polynomial:
		return mixing * max(det.Exp(-float64(t.Exponent*det.Log(1+s))), math.SmallestNonzeroFloat32)
	}
	return mixing
}
