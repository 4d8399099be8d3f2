package fl

import (
	"fmt"
	"math"

	"github.com/fedfast/fedfast/fl/internal/clock"
	"github.com/fedfast/fedfast/internal/key"
	"github.com/fedfast/fedfast/kernels"
	"github.com/fedfast/fedfast/kernels/det"
)

// The values of Time.Mode.
const (
	TimeSync     = "sync"
	TimeBuffered = "buffered"
	TimeAsync    = "async"
)

// The values of Time.Staleness.
const (
	StalenessConstant   = "constant"
	StalenessPolynomial = "polynomial"
	StalenessHinge      = "hinge"
)

// Time says how the server works on a fleet, in simulated time: the keys time.*.
type Time struct {
	Mode         string  `toml:"mode" of:"sync buffered async" doc:"when the server steps: sync, after a round's cohort; buffered, after every time.buffer updates (FedBuff); async, after every update (FedAsync)" also:"schedule"`
	Concurrency  int     `toml:"concurrency" in:"[0, inf)" with:"buffered async" doc:"number of clients that work at a time; 0: as many as cohort"`
	Buffer       int     `toml:"buffer" in:"[1, inf)" with:"buffered" doc:"number of updates that a step takes" also:"buffer_size K"`
	Open         int     `toml:"open" in:"[1, inf)" with:"buffered async" doc:"number of clients that must have ended before others begin"`
	Deadline     float64 `toml:"deadline" in:"[0, 1e9]" with:"sync" doc:"simulated seconds after which a round takes no more updates; 0: none" also:"timeout"`
	Overselect   float64 `toml:"overselect" in:"[1, 100]" with:"sync" doc:"factor by which more clients than cohort begin a round, of which the first cohort are taken" also:"over_selection overcommit"`
	MinUpdates   int     `toml:"min_updates" in:"[1, inf)" with:"sync" doc:"number of updates without which a round fails: it is repeated with other clients, and its time is lost"`
	MaxFailed    int     `toml:"max_failed" in:"[0, inf)" with:"sync" doc:"number of rounds in a row that may fail; one more ends the trial"`
	MaxStaleness int     `toml:"max_staleness" in:"[0, inf)" with:"buffered async" doc:"largest staleness of an update: the number of steps since its client began; staler ones are discarded"`
	Staleness    string  `toml:"staleness" of:"constant polynomial hinge" with:"buffered async" doc:"weight s of an update with staleness t: constant is 1, polynomial 1/(1+t)^exponent, hinge 1 up to t = hinge_after and 1/(1 + hinge_slope (t - hinge_after)) beyond"`
	Exponent     float64 `toml:"exponent" in:"[0, 100]" with:"buffered async" doc:"exponent of time.staleness = \"polynomial\""`
	HingeSlope   float64 `toml:"hinge_slope" in:"[0, 1e6]" with:"buffered async" doc:"slope of time.staleness = \"hinge\""`
	HingeAfter   float64 `toml:"hinge_after" in:"[0, 1e6]" with:"buffered async" doc:"staleness from which time.staleness = \"hinge\" weights less"`
	Mixing       float64 `toml:"mixing" in:"(0, 1]" with:"async" doc:"weight of a client's model in the mean with the server's, times s(t)" also:"alpha"`
	Weighted     bool    `toml:"weighted" with:"buffered" doc:"weight the updates of a step by the clients' weights in the method, not equally"`
	Seconds      float64 `toml:"seconds" in:"[0, inf)" doc:"simulated seconds after which fedfast run, or the single trial of a client tuner without a tuner, stops; 0: none" also:"time_budget max_seconds"`
	Server       float64 `toml:"server" in:"[0, 1e9]" doc:"simulated seconds that a step of the server takes"`
}

// DefaultTime returns the defaults of the keys time.*: rounds that wait for all clients.
func DefaultTime() Time {
	return Time{
		Mode: TimeSync, Buffer: 10, Open: 1, Overselect: 1, MinUpdates: 1, MaxFailed: 10, MaxStaleness: 100,
		Staleness: StalenessPolynomial, Exponent: 0.5, HingeSlope: 10, HingeAfter: 4, Mixing: 0.6,
	}
}

// Async reports whether the server steps without waiting for rounds.
func (t *Time) Async() bool { return t.Mode == TimeBuffered || t.Mode == TimeAsync }

// Updates returns how many updates a step takes at most.
func (t *Time) Updates(cohort int) int {
	switch t.Mode {
	case TimeBuffered:
		return t.Buffer
	case TimeAsync:
		return 1
	}
	return cohort
}

// working returns how many clients work at a time.
func (t *Time) working(cohort int) int {
	if !t.Async() {
		return int(min(math.Ceil(float64(cohort)*t.Overselect), math.MaxInt32))
	}
	if t.Concurrency == 0 {
		return cohort
	}
	return t.Concurrency
}

// versions returns of how many earlier models clients may be at work at a time.
func (t *Time) versions(cohort int) int {
	if !t.Async() {
		return 0
	}
	return min(t.working(cohort), t.MaxStaleness)
}

// weight returns the weight of an update's staleness.
func (t *Time) weight(staleness int) float64 {
	s, mixing := float64(staleness), 1.0
	if t.Mode == TimeAsync {
		mixing = t.Mixing
	}
	switch {
	case t.Staleness == StalenessHinge && s > t.HingeAfter:
		return mixing / (1 + float64(t.HingeSlope*(s-t.HingeAfter)))
	case t.Staleness == StalenessPolynomial && t.Exponent == 0.5:
		return mixing / math.Sqrt(1+s)
	case t.Staleness == StalenessPolynomial:
		return mixing * max(det.Exp(-float64(t.Exponent*det.Log(1+s))), math.SmallestNonzeroFloat32)
	}
	return mixing
}

// checkTime returns an error for a server that cannot work as it is to.
func (c *Config) checkTime() error {
	t, clients := &c.Time, len(c.Data.Clients)
	bad := func(name, problem string, args ...any) error {
		return &key.Error{Key: name, Problem: fmt.Sprintf(problem, args...)}
	}
	switch t.Mode {
	case TimeSync, TimeBuffered, TimeAsync:
	default:
		return bad("time.mode", " = %q: must be sync, buffered or async", t.Mode)
	}
	if c.Fleet == nil {
		if t.Async() {
			return bad("time.mode", " = %q: needs a fleet: Config.Fleet", t.Mode)
		}
		return nil
	}
	if c.Replacement {
		return bad("sampling", " = \"with\" (replacement): a client of a fleet cannot work twice at a time; use \"without\"")
	}
	working, name := t.working(c.Cohort), "time.overselect"
	if t.Async() {
		name = "time.concurrency"
	}
	if working > clients {
		return bad(name, ": %d clients at a time, %s has %d; lower it, or cohort", working, c.Data.Name, clients)
	}
	if !t.Async() {
		if t.MinUpdates > c.Cohort {
			return bad("time.min_updates", " = %d: a round has %d updates at most (cohort)", t.MinUpdates, c.Cohort)
		}
		return nil
	}
	if why := c.Method.asynchronous(); why != "" {
		return bad("time.mode", " = %q: method %q cannot be asynchronous: %s; use mode \"sync\", or another method", t.Mode, c.Method.Name, why)
	}
	if t.Open > working {
		return bad("time.open", " = %d: %d clients work at a time (time.concurrency)", t.Open, working)
	}
	if k := t.Updates(c.Cohort); c.keeps() && k > clients {
		return bad("time.buffer", " = %d: %s a state for each client, so that each is at most once in a step; %s has %d clients", k, c.keeper(), c.Data.Name, clients)
	}
	return nil
}

// asynchronous returns why the method cannot be asynchronous, empty if it can.
func (m *Method) asynchronous() string {
	switch {
	case m.Synchronous != "":
		return m.Synchronous
	case m.Gather != nil:
		return "it adds up more than the clients' changes"
	case m.NewSender != nil:
		return "it makes each client's weights of what the server keeps"
	}
	return ""
}

// newClock returns the schedule of a trial at its beginning, nil without a fleet.
func (e *Engine) newClock(number int) *clock.Schedule {
	if e.fleet == nil {
		return nil
	}
	c, t, trial := &e.cfg, &e.cfg.Time, uint64(number)
	return clock.New(clock.Config{
		Clients: len(c.Data.Clients), Async: t.Async(), Cohort: c.Cohort, Drawn: t.working(c.Cohort),
		Deadline: nanoseconds(t.Deadline), MinUpdates: t.MinUpdates, MaxFailed: t.MaxFailed,
		CohortKey:   func(round int) uint64 { return cohortKey(c.Seed, trial, round) },
		Concurrency: t.working(c.Cohort), Buffer: t.Updates(c.Cohort), Open: t.Open, MaxStaleness: t.MaxStaleness, Hold: c.keeps(),
		DispatchKey: kernels.Key(c.Seed, trial, purposeDispatch), Jitter: trial << 32, Server: nanoseconds(t.Server),
	}, e.fleet)
}

// nanoseconds returns a time of at most 1e9 seconds.
func nanoseconds(seconds float64) int64 { return int64(math.RoundToEven(float64(seconds * 1e9))) }
