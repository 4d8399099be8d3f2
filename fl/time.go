package fl

import (
	"fmt"

	"github.com/fedfast/fedfast/fl/fleet"
	"github.com/fedfast/fedfast/fl/internal/clock"
	"github.com/fedfast/fedfast/internal/key"
	"github.com/fedfast/fedfast/internal/nanos"
	"github.com/fedfast/fedfast/kernels"
)

// checkTime returns an error for a server that cannot work as it is to.
func (c *Config) checkTime() error {
	t, clients := &c.Time, len(c.Data.Clients)
	bad := func(name, problem string, args ...any) error {
		return &key.Error{Key: name, Problem: fmt.Sprintf(problem, args...)}
	}
	switch t.Mode {
	case fleet.Sync, fleet.Buffered, fleet.Async:
	default:
		return bad("time.mode", " = %q: must be sync, buffered or async", t.Mode)
	}
	if c.Fleet == nil {
		if t.Asynchronous() {
			return bad("time.mode", " = %q: needs a fleet: Config.Fleet", t.Mode)
		}
		return nil
	}
	if c.Replacement {
		return bad("sampling", " = \"with\" (replacement): a client of a fleet cannot work twice at a time; use \"without\"")
	}
	working, name := t.Working(c.Cohort), "time.overselect"
	if t.Asynchronous() {
		name = "time.concurrency"
	}
	if working > clients {
		return bad(name, ": %d clients at a time, %s has %d; lower it, or cohort", working, c.Data.Name, clients)
	}
	if !t.Asynchronous() {
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
		Clients: len(c.Data.Clients), Async: t.Asynchronous(), Cohort: c.Cohort, Drawn: t.Working(c.Cohort),
		Deadline: nanos.Of(t.Deadline), MinUpdates: t.MinUpdates, MaxFailed: t.MaxFailed,
		CohortKey:   func(round int) uint64 { return cohortKey(c.Seed, trial, round) },
		Concurrency: t.Working(c.Cohort), Buffer: t.Updates(c.Cohort), Open: t.Open, MaxStaleness: t.MaxStaleness, Hold: c.keeps(),
		DispatchKey: kernels.Key(c.Seed, trial, purposeDispatch), Jitter: trial << 32, Server: nanos.Of(t.Server),
	}, e.fleet)
}
