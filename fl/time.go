package fl

import (
	"errors"
	"fmt"

	"github.com/fedfast/fedfast/fl/fleet"
	"github.com/fedfast/fedfast/fl/internal/clock"
	"github.com/fedfast/fedfast/internal/key"
	"github.com/fedfast/fedfast/internal/nanos"
	"github.com/fedfast/fedfast/kernels"
)

// checkPlanned returns an error for how the server is to work in a round, unless that lies
// within what memory was counted for.
func (c *Config) checkPlanned(t *fleet.Time) error {
	if *t == c.Time {
		return nil
	}
	if t.Mode != c.Time.Mode || t.Working(c.Cohort) > c.Time.Working(c.Cohort) ||
		t.Versions(c.Cohort) > c.Time.Versions(c.Cohort) || t.Updates(c.Cohort) > c.Time.Updates(c.Cohort) ||
		c.steady(&c.Time) && !c.steady(t) {
		return errors.New("plan: Time has another mode than Config.Time, or more clients or updates at a time, or it loses updates")
	}
	return c.CheckTime(*t)
}

// CheckTime returns an error for a server that cannot work so on the fleet.
func (c *Config) CheckTime(t fleet.Time) error {
	clients := len(c.Data.Clients)
	bad := func(name, problem string, args ...any) error {
		return &key.Error{Key: name, Problem: fmt.Sprintf(problem, args...)}
	}
	switch t.Mode {
	case fleet.Sync, fleet.Buffered, fleet.Async, fleet.Window:
	default:
		return bad("time.mode", " = %q: must be sync, buffered, async or window", t.Mode)
	}
	if c.Fleet == nil {
		if t.Asynchronous() {
			return bad("time.mode", " = %q: needs a fleet: Config.Fleet", t.Mode)
		}
		return nil
	}
	if c.Replacement {
		return bad("sampling", ": with replacement a client of a fleet cannot work twice at a time; use \"without\"")
	}
	working, name := t.Working(c.Cohort), "time.overselect"
	if t.Asynchronous() {
		name = "time.concurrency"
	}
	if working > clients {
		return bad(name, ": %d clients at a time, %s has %d; lower it, or cohort", working, c.Data.Name, clients)
	}
	if t.Partial && t.Deadline == 0 {
		return bad("time.partial", ": clients do fewer steps before a deadline; set time.deadline, or leave it out")
	}
	if why := c.Method.Whole; t.Partial && why != "" {
		return bad("time.partial", ": clients of method %q cannot do fewer local steps: %s; leave it out, or use another method", c.Method.Name, why)
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
func (e *Engine) newClock(number int, c clock.Chooser) *clock.Schedule {
	if e.fleet == nil {
		return nil
	}
	return clock.New(e.clockConfig(number, &e.cfg.Time), e.fleet, c)
}

// clockConfig says how the server works in a trial.
func (e *Engine) clockConfig(number int, t *fleet.Time) clock.Config {
	c, trial, window := &e.cfg, uint64(number), int64(0)
	if t.Mode == fleet.Window {
		window = nanos.Of(t.Window)
	}
	return clock.Config{
		Clients: len(c.Data.Clients), Async: t.Asynchronous(), Cohort: c.Cohort, Drawn: t.Working(c.Cohort),
		Deadline: nanos.Of(t.Deadline), Partial: t.Partial, MinUpdates: t.MinUpdates, MaxFailed: t.MaxFailed,
		CohortKey:   func(round int) uint64 { return cohortKey(c.Seed, trial, round) },
		Concurrency: t.Working(c.Cohort), Buffer: t.Updates(c.Cohort), Open: t.Open, MaxStaleness: t.MaxStaleness, Hold: c.keeps() || window > 0,
		Window:      window,
		DispatchKey: kernels.Key(c.Seed, trial, purposeDispatch), Jitter: trial << 32, Server: nanos.Of(t.Server),
	}
}
