package host

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/fedfast/fedfast/tuners"
)

// ErrBadAnswer is wrapped by the errors about decisions and plans that no study can follow: an unknown trial, params outside of the
// space or not finite, a probe that does not exist.
var ErrBadAnswer = errors.New("bad answer")

// Local makes a tuner of this process behave like a launched one: its answers are checked. It is for tests and for tools.
func Local(t tuners.Tuner) tuners.Tuner { return local{t} }

type local struct{ tuners.Tuner }

// Open opens a checked session.
func (l local) Open(ctx context.Context, req tuners.OpenRequest) (tuners.Session, error) {
	d, err := l.Describe(ctx)
	if err != nil {
		return nil, err
	}
	s, err := l.Tuner.Open(ctx, req)
	if err != nil {
		return nil, err
	}
	return Checked(d, req, s)
}

// Checked returns a session whose answers are checked before anyone acts on them. Its errors name the tuner and wrap ErrBadAnswer.
func Checked(d tuners.Description, req tuners.OpenRequest, s tuners.Session) (tuners.Session, error) {
	c := &checked{Session: s, about: d, req: req, resumed: req.State != nil, probes: d.Probes, trials: map[int]*trial{}, ledger: tuners.Ledger{Budget: req.Budget}}
	if p, ok := s.(tuners.Prober); ok {
		c.probes = p.Probes()
	}
	if len(c.probes) > maxNames {
		return nil, c.bad("Open", "%d probes; there may be %d", len(c.probes), maxNames)
	}
	for _, p := range c.probes {
		if err := (text{"probe", p, maxName}).check(); err != nil {
			return nil, c.bad("Open", "%v", err)
		}
		name, _, _ := strings.Cut(p, "{") // a probe's options follow its name
		if !slices.Contains(d.Probes, name) {
			return nil, c.bad("Open", "the probe %q is not among those of its description", p)
		}
	}
	return c, nil
}

// checked is a session with checked answers.
type checked struct {
	tuners.Session
	about   tuners.Description
	req     tuners.OpenRequest
	resumed bool // the session went on from a state: trials that are not known here may exist
	probes  []string
	trials  map[int]*trial
	next    int
	ledger  tuners.Ledger
}

var (
	_ tuners.Prober   = (*checked)(nil)
	_ tuners.Recaller = (*checked)(nil)
)

// trial is what the decisions so far made of a trial.
type trial struct {
	to               int // round that it was sent to
	running, stopped bool
	released         bool
	lost             bool // it is from before the state: how far it has run is not known
}

// Probes returns the probes that the session uses.
func (c *checked) Probes() []string { return c.probes }

// bad builds the error of an answer.
func (c *checked) bad(call, format string, args ...any) error {
	return fmt.Errorf("tuner %q: %w to %s: %s", c.about.Name, ErrBadAnswer, call, tuners.Plain(fmt.Sprintf(format, args...), maxWords))
}

// Suggest checks every decision against the trials that there are.
func (c *checked) Suggest(ctx context.Context, n int) ([]tuners.Decision, error) {
	decisions, err := c.Session.Suggest(ctx, n)
	if err != nil {
		return nil, err
	}
	if err := c.ledger.Answer(len(decisions)); err != nil {
		return nil, c.bad("Suggest", "%v", err)
	}
	goesOn := false
	for i, d := range decisions {
		if err := c.decision(d); err != nil {
			return nil, c.bad("Suggest", "decision %d, %s: %v", i, d.Kind, err)
		}
		switch d.Kind {
		case tuners.Start, tuners.Resume, tuners.Fork, tuners.Done:
			goesOn = true
		case tuners.Wait:
			goesOn = goesOn || c.resumed || c.running()
		case tuners.Stop, tuners.Release:
		}
	}
	if !goesOn {
		return nil, c.bad("Suggest", "its %d decisions start nothing, nothing runs, and the study is not done", len(decisions))
	}
	return decisions, nil
}

// running says whether a trial is under way.
func (c *checked) running() bool {
	for _, t := range c.trials {
		if t.running {
			return true
		}
	}
	return false
}

// known returns a trial that exists.
func (c *checked) known(number int) (*trial, error) {
	if t := c.trials[number]; t != nil {
		return t, nil
	}
	if !c.resumed || number < 0 {
		return nil, fmt.Errorf("trial %d does not exist", number)
	}
	t := &trial{lost: true}
	c.trials[number] = t
	c.next = max(c.next, number+1)
	return t, nil
}

// decision checks one decision and records it.
func (c *checked) decision(d tuners.Decision) error {
	switch d.Kind {
	case tuners.Start, tuners.Fork:
		return c.newTrial(d)
	case tuners.Resume:
		t, err := c.known(d.Trial)
		switch {
		case err != nil:
			return err
		case t.running || t.stopped || t.released:
			return fmt.Errorf("trial %d is not paused (running: %t, stopped: %t, released: %t)", d.Trial, t.running, t.stopped, t.released)
		}
		return c.send(t, t.to, d)
	case tuners.Stop:
		t, err := c.known(d.Trial)
		if err != nil {
			return err
		}
		t.running, t.stopped = false, true
	case tuners.Release:
		t, err := c.known(d.Trial)
		if err != nil {
			return err
		}
		t.released = true
	case tuners.Wait:
	case tuners.Done:
		if d.Best != -1 {
			_, err := c.known(d.Best)
			return err
		}
	default:
		return errors.New("there is no such kind")
	}
	return nil
}

// newTrial checks a Start or a Fork.
func (c *checked) newTrial(d tuners.Decision) error {
	if c.resumed && d.Trial > c.next {
		c.next = d.Trial
	}
	if d.Trial != c.next {
		return fmt.Errorf("the new trial is numbered %d, the next number is %d", d.Trial, c.next)
	}
	if err := c.point(d); err != nil {
		return fmt.Errorf("trial %d: %w", d.Trial, err)
	}
	t, from := &trial{}, 0
	if d.Kind == tuners.Fork {
		if !c.about.Fork {
			return errors.New("its description does not say that it forks")
		}
		source, err := c.known(d.Source)
		if err != nil {
			return err
		}
		if source.released || source.running {
			return fmt.Errorf("trial %d has no snapshot to fork (running: %t, released: %t)", d.Source, source.running, source.released)
		}
		from, t.lost = source.to, source.lost
	}
	c.trials[d.Trial] = t
	c.next++
	return c.send(t, from, d)
}

// point checks the params of a new trial, and where it runs.
func (c *checked) point(d tuners.Decision) error {
	e := d.Environment
	switch {
	case e == nil:
		return c.req.Space.Contains(d.Params)
	case c.req.Trial != tuners.PrepareSession || d.Kind != tuners.Start:
		return errors.New("only a start of a session that prepares may have an environment")
	case e.Kind != tuners.Proxy:
		return fmt.Errorf("there is no environment %q, only %q", e.Kind, tuners.Proxy)
	case !(e.HI >= 0 && e.HI <= 1) || e.Samples < 1 || e.Clients < 1 || e.Cohort < 1 || e.Cohort > e.Clients:
		return fmt.Errorf("its environment needs hi from 0 to 1, at least 1 sample and client, and a cohort from 1 to its clients, not hi %v, %d samples, %d clients, cohort %d",
			e.HI, e.Samples, e.Clients, e.Cohort)
	}
	return c.params(d.Params)
}

// send enters that a trial runs on from a round.
func (c *checked) send(t *trial, from int, d tuners.Decision) error {
	if t.lost { // it costs one round at least
		from = max(from, d.ToRound-1)
	}
	var err error
	if d.Environment != nil {
		err = c.ledger.Side(d)
	} else {
		err = c.ledger.Send(d.Trial, from, d.ToRound)
	}
	t.to, t.running, t.lost = d.ToRound, true, false
	return err
}

// RecallSuggest takes decisions into account that an earlier session made. They were checked then.
func (c *checked) RecallSuggest(decisions []tuners.Decision) {
	for _, d := range decisions {
		_ = c.decision(d)
	}
	c.resumed = false // from here on every trial is known
}

// RecallReport takes a report into account that an earlier session got.
func (c *checked) RecallReport(r tuners.TrialReport) { c.reported(r) }

// Report passes a score on and pauses the trial.
func (c *checked) Report(ctx context.Context, r tuners.TrialReport) error {
	if err := c.Session.Report(ctx, r); err != nil {
		return err
	}
	c.reported(r)
	return nil
}

// reported pauses a trial.
func (c *checked) reported(r tuners.TrialReport) {
	if t := c.trials[r.Trial]; t != nil {
		if t.running && r.Round < t.to && c.req.Trial != tuners.PrepareSession {
			c.ledger.Return(t.to - max(r.Round, 0))
			t.to = r.Round
		}
		t.running = false
		if r.Failed {
			t.stopped = true
		}
	}
}

// PlanRound checks the params of every slot.
func (c *checked) PlanRound(ctx context.Context, r tuners.PlanRequest) (tuners.Plan, error) {
	plan, err := c.Session.PlanRound(ctx, r)
	if err != nil {
		return tuners.Plan{}, err
	}
	where := fmt.Sprintf("PlanRound (trial %d, round %d)", r.Trial, r.Round)
	if err := c.table(plan); err != nil {
		return tuners.Plan{}, c.bad(where, "%v", err)
	}
	if n := len(plan.Clients); n != 1 && n != r.Slots && len(plan.Table) == 0 {
		return tuners.Plan{}, c.bad(where, "params for %d slots, want 1 for all or %d", n, r.Slots)
	}
	if err := c.params(plan.Server); err != nil {
		return tuners.Plan{}, c.bad(where, "server: %v", err)
	}
	for i, p := range plan.Clients {
		if err := c.params(p); err != nil {
			return tuners.Plan{}, c.bad(where, "slot %d: %v", i, err)
		}
	}
	return plan, nil
}

// table checks the cells of a plan.
func (c *checked) table(plan tuners.Plan) error {
	switch {
	case len(plan.Table) == 0:
		return nil
	case !c.about.Tables:
		return errors.New("it holds a table, but its description does not say that there are any")
	case len(plan.Clients) > 0:
		return errors.New("it holds a table and params for slots; only one of them can be")
	}
	for i, cell := range plan.Table {
		for _, key := range slices.Sorted(maps.Keys(cell.Keys)) {
			if x := cell.Keys[key]; key != tuners.KeyHI && key != tuners.KeySamples || math.IsNaN(x) || math.IsInf(x, 0) {
				return fmt.Errorf("cell %d: its key %s = %v is not a finite %s or %s", i, key, x, tuners.KeyHI, tuners.KeySamples)
			}
		}
		if err := c.params(cell.Params); err != nil {
			return fmt.Errorf("cell %d: %w", i, err)
		}
	}
	return nil
}

// params checks values that a client tuner sets: controlled names only, inside of the space where it has the name and the tuner is not
// free to leave it, finite elsewhere.
func (c *checked) params(p tuners.Params) error {
	for _, name := range p.Keys() {
		value, _ := p[name].Text()
		for _, t := range []text{{"param", name, maxName}, {name, value, maxDoc}} {
			if err := t.check(); err != nil {
				return err
			}
		}
		if !tuners.Matches(name, c.about.Controls...) {
			return fmt.Errorf("%s is not among the params that it controls", name)
		}
		if d, ok := c.req.Space.Dim(name); ok && !c.about.Free {
			if err := d.Contains(p[name]); err != nil {
				return err
			}
			continue
		}
		if x, ok := p[name].Float(); ok && (math.IsNaN(x) || math.IsInf(x, 0)) || p[name].Kind() == tuners.NoneValue {
			return fmt.Errorf("%s = %s is not a finite value", name, p[name])
		}
	}
	return nil
}
