package rules

import (
	"errors"
	"fmt"
	"math"
	"strings"

	"github.com/fedfast/fedfast/tuners"
)

// Book holds what the decisions and reports of a session so far made of its trials,
// and checks every further decision against that. One goroutine at a time may use
// it.
type Book struct {
	about  tuners.Description
	req    tuners.OpenRequest
	blind  bool // the session resumes from a state: trials that are not known here may exist
	trials map[int]*trial
	next   int
	runs   int // trials that are running
	ledger ledger
}

// trial is what the decisions so far made of a trial.
type trial struct {
	from, to         int // rounds that it had run when it was sent on, and that it was sent to
	running, stopped bool
	released, failed bool
	measured         bool // it runs so that its model is measured
	lost             bool // it is from before the state: how far it has run is not known
}

// NewBook returns the book of a session that is opened with a request. With a state
// in it the book does not know the trials before, and takes every number for one of
// those, until it receives what was before, see Session.
func NewBook(about tuners.Description, req tuners.OpenRequest) *Book {
	return &Book{about: about, req: req, blind: req.State != nil, trials: map[int]*trial{}, ledger: ledger{budget: req.Budget}}
}

// Decide checks the answer to a Suggest and enters its decisions. The error names
// the tuner and the decision, and wraps ErrBadAnswer; what came before the wrong
// decision stays entered, since nothing can follow.
func (b *Book) Decide(decisions []tuners.Decision) error {
	if n := len(decisions); n > tuners.MaxDecisions {
		return bad(b.about.Name, "Suggest", "answer with %d decisions: at most %d are allowed; return the others in later answers", n, tuners.MaxDecisions)
	}
	proceeds := false
	for i, d := range decisions {
		if err := b.enter(d); err != nil {
			return bad(b.about.Name, "Suggest", "decision %d, %s: %s", i, d.Kind, Unit(b.req.Budget, err.Error()))
		}
		switch d.Kind {
		case tuners.Start, tuners.Resume, tuners.Fork, tuners.Score, tuners.Local:
			proceeds = true
		case tuners.Done:
			if i < len(decisions)-1 {
				return bad(b.about.Name, "Suggest", "decision %d, %s: others follow it", i, d.Kind)
			}
			proceeds = true
		case tuners.Wait, tuners.Stop, tuners.Release:
		}
	}
	if !proceeds && b.runs == 0 && !b.blind {
		return bad(b.about.Name, "Suggest", "none of its %d decisions starts a trial, no trial is running, and the study is not done", len(decisions))
	}
	return nil
}

// Report enters that a trial ended where it was sent to, or on the way there: the
// rounds that it did not run are given back to the budget.
func (b *Book) Report(r tuners.TrialReport) {
	t := b.trials[r.Trial]
	if t == nil {
		return
	}
	if t.running && r.Round < t.to && !t.measured && !b.prepares() {
		b.ledger.giveBack(t.to - max(r.Round, 0))
		t.to = r.Round
	}
	b.pause(t)
	t.measured = false
	if r.Failed {
		t.stopped, t.failed = true, true
	}
}

// Sent returns the rounds that a trial had run when it was last sent on, and those
// that it was sent to.
func (b *Book) Sent(number int) (from, to int) {
	t := b.trials[number]
	return t.from, t.to
}

func (b *Book) prepares() bool { return b.req.Trial == tuners.PrepareSession }

func (b *Book) pause(t *trial) {
	if t.running {
		t.running = false
		b.runs--
	}
}

// known returns a trial that exists.
func (b *Book) known(number int) (*trial, error) {
	if t := b.trials[number]; t != nil && number >= 0 {
		return t, nil
	}
	if !b.blind || number < 0 {
		return nil, fmt.Errorf("trial %d does not exist", number)
	}
	t := &trial{lost: true}
	b.trials[number] = t
	b.next = max(b.next, number+1)
	return t, nil
}

// enter checks one decision and enters it.
func (b *Book) enter(d tuners.Decision) error {
	if b.prepares() && d.Kind != tuners.Start && d.Kind != tuners.Wait && d.Kind != tuners.Done {
		return errors.New("a preparing session can only start trials")
	}
	switch d.Kind {
	case tuners.Start, tuners.Fork:
		return b.open(d)
	case tuners.Resume:
		t, err := b.paused(d.Trial)
		if err != nil {
			return err
		}
		return b.send(t, t.to, d)
	case tuners.Score:
		return b.measure(d)
	case tuners.Local:
		return b.local(d)
	case tuners.Stop:
		t, err := b.known(d.Trial)
		switch {
		case err != nil:
			return err
		case t.running:
			return fmt.Errorf("trial %d is running to round %d; it can be stopped when it has reported", d.Trial, t.to)
		}
		t.stopped = true
	case tuners.Release:
		t, err := b.known(d.Trial)
		if err != nil {
			return err
		}
		t.released = true
	case tuners.Wait:
	case tuners.Done:
		return b.done(d)
	default:
		return errors.New("unknown kind")
	}
	return nil
}

// paused returns a trial that can be sent on.
func (b *Book) paused(number int) (*trial, error) {
	t, err := b.known(number)
	switch {
	case err != nil:
		return nil, err
	case t.running || t.stopped || t.released:
		return nil, fmt.Errorf("trial %d is not paused (running: %t, stopped or failed: %t, released: %t)", number, t.running, t.stopped, t.released)
	}
	return t, nil
}

// measure checks what sub-networks are to be measured, and enters that their trial
// reports of them. It costs no rounds.
func (b *Book) measure(d tuners.Decision) error {
	if n := len(d.Points); n < 1 || n > tuners.MaxPoints {
		return fmt.Errorf("%d sub-networks, want 1 to %d", n, tuners.MaxPoints)
	}
	t, err := b.paused(d.Trial)
	if err != nil {
		return err
	}
	for i, p := range d.Points {
		for _, name := range p.Keys() {
			dim, ok := b.req.Space.Dim(name)
			if !ok || !strings.HasPrefix(name, tuners.ArchPrefix) {
				return fmt.Errorf("sub-network %d: %s is not a choice of the model in the space", i, name)
			}
			if err := dim.Contains(p[name]); err != nil {
				return fmt.Errorf("sub-network %d: %w", i, err)
			}
		}
	}
	t.from, t.running, t.measured = t.to, true, true
	b.runs++
	return nil
}

// local checks what clients are to train with by themselves, and enters that its report is
// to come. It costs no rounds.
func (b *Book) local(d tuners.Decision) error {
	l := d.LocalSearch
	switch t := b.trials[tuners.NoTrial]; {
	case !b.about.Local:
		return errors.New("its description does not declare local trainings")
	case d.Trial != tuners.NoTrial:
		return fmt.Errorf("it is about trial %d, want %d", d.Trial, tuners.NoTrial)
	case t != nil && t.running:
		return errors.New("clients train by themselves already")
	case l == nil || !(l.Epochs >= 0 && l.Epochs <= maxEpochs) || l.Clients < 0 || l.Votes < 0:
		return fmt.Errorf("it needs to say how clients train: epochs from 0 to %v, clients and votes of 0 or more", float64(maxEpochs))
	case len(d.Points) < 1 || len(d.Points) > tuners.MaxPoints:
		return fmt.Errorf("%d points, want 1 to %d", len(d.Points), tuners.MaxPoints)
	}
	for i, p := range d.Points {
		if err := b.req.Space.Contains(p); err != nil {
			return fmt.Errorf("point %d: %w", i, err)
		}
	}
	b.trials[tuners.NoTrial] = &trial{running: true, measured: true}
	b.runs++
	return nil
}

// maxEpochs bounds the local epochs of a Local.
const maxEpochs = 1e6

// done checks how the study ends.
func (b *Book) done(d tuners.Decision) error {
	if b.runs > 0 {
		return errors.New("the study cannot be over while a trial runs")
	}
	if d.Best == -1 {
		return nil
	}
	t, err := b.known(d.Best)
	if err == nil && t.stopped {
		return fmt.Errorf("its choice is trial %d, which was stopped or has failed", d.Best)
	}
	return err
}

// open checks a Start or a Fork.
func (b *Book) open(d tuners.Decision) error {
	if b.blind && d.Trial > b.next {
		b.next = d.Trial
	}
	if d.Trial != b.next {
		return fmt.Errorf("new trial has number %d, want %d", d.Trial, b.next)
	}
	if err := b.point(d); err != nil {
		return fmt.Errorf("trial %d: %w", d.Trial, err)
	}
	t, from := &trial{}, 0
	if d.Kind == tuners.Fork {
		if !b.about.Fork {
			return errors.New("its description does not declare forks")
		}
		source, err := b.known(d.Source)
		switch {
		case err != nil:
			return err
		case source.released || source.running || source.failed:
			return fmt.Errorf("trial %d has no snapshot to fork (running: %t, failed: %t, released: %t)", d.Source, source.running, source.failed, source.released)
		}
		from, t.lost = source.to, source.lost
	}
	b.trials[d.Trial] = t
	b.next++
	return b.send(t, from, d)
}

// point checks the params of a new trial, and where it runs.
func (b *Book) point(d tuners.Decision) error {
	e := d.Environment
	switch {
	case b.prepares() && e == nil:
		return errors.New("a preparing session needs an environment for each trial")
	case e == nil && len(d.Table) > 0:
		return errors.New("a table of clients needs an environment")
	case e == nil:
		return b.req.Space.Contains(d.Params)
	case !b.prepares() || d.Kind != tuners.Start:
		return errors.New("only a start in a preparing session may have an environment")
	case e.Kind != tuners.Proxy:
		return fmt.Errorf("unknown environment %q; available: %q", e.Kind, tuners.Proxy)
	case len(d.Table) > 0:
		return b.mixed(d)
	case !(e.HI >= 0 && e.HI <= 1) || e.Samples < 1 || e.Clients < 1 || e.Cohort < 1 || e.Cohort > e.Clients:
		return fmt.Errorf("its environment needs hi from 0 to 1, at least 1 sample and client, and a cohort from 1 to its clients, not hi %v, %d samples, %d clients, cohort %d",
			e.HI, e.Samples, e.Clients, e.Cohort)
	}
	return controlled(b.about, b.req.Space, d.Params)
}

// mixed checks a trial on a proxy federation of different clients.
func (b *Book) mixed(d tuners.Decision) error {
	e := d.Environment
	switch {
	case e.HI != 0 || e.Samples != 0 || e.Clients != len(d.Table) || e.Cohort < 1 || e.Cohort > e.Clients:
		return fmt.Errorf("its environment has a table of %d cells, and needs as many clients, a cohort from 1 to these, hi 0 and 0 samples, not %d clients, cohort %d, hi %v, %d samples",
			len(d.Table), e.Clients, e.Cohort, e.HI, e.Samples)
	case len(d.Params) > 0:
		return errors.New("it has both a table and params")
	}
	for i, c := range d.Table {
		hi, samples := c.Keys[tuners.KeyHI], c.Keys[tuners.KeySamples]
		if !(hi >= 0 && hi <= 1) || !(samples >= 1 && samples <= tuners.MaxSideSamples) || samples != math.Trunc(samples) {
			return fmt.Errorf("cell %d: a client needs hi from 0 to 1, and samples from 1 to %d, not hi %v, samples %v", i, tuners.MaxSideSamples, hi, samples)
		}
	}
	return cells(b.about, b.req.Space, d.Table)
}

// send enters that a trial runs on from a round.
func (b *Book) send(t *trial, from int, d tuners.Decision) error {
	if t.lost { // it costs one round at least
		from = max(from, d.ToRound-1)
	}
	var err error
	if d.Environment != nil {
		err = b.ledger.side(d)
	} else {
		err = b.ledger.send(d.Trial, from, d.ToRound)
	}
	t.from, t.to, t.running, t.lost = from, d.ToRound, true, false
	b.runs++
	return err
}
