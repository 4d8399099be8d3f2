package study

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/fedfast/fedfast/tuners"
)

// The user actions.
const (
	// ActStopTrial ends a trial: its tuner is told that it cannot go on.
	ActStopTrial = "stop trial"
	// ActStopStudy ends the study: what was trained so far is what it chooses from.
	ActStopStudy = "stop study"
)

// actRecord is what a person had done. One about a trial says after which round of
// it the act was carried out.
type actRecord struct {
	Act string `json:"act"`
}

// reason returns why a trial ended by the act.
func (r actRecord) reason() string { return ActReason(r.Act) }

// ActReason returns why a trial ended, by the user action that ended it.
func ActReason(act string) string {
	if act == ActStopStudy {
		return "the study was stopped by a user"
	}
	return "stopped by a user"
}

// ErrNoSuchTrial says that a study has no trial of a number.
var ErrNoSuchTrial = errors.New("no such trial")

// Control lets a person end trials of a study, or the study, before their time. An
// act is carried out before the next round of each trial that it is about, and is
// part of the record from then on: a study that is resumed repeats it where it was.
// The zero value is ready, and is for one Tune. Its methods may be called from any
// goroutine.
type Control struct {
	mu      sync.Mutex
	driver  *driver // nil while there is nothing to stop
	asked   map[int]bool
	stopped map[int]actRecord // trials that an act has ended
	running map[int]bool      // trials in a segment
	halted  bool              // the study is to end
}

// open lets acts come in, after those that are recorded.
func (c *Control) open(d *driver) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.asked, c.running = map[int]bool{}, map[int]bool{}
	c.stopped, c.halted = d.history.acts, d.history.halted
	if d.history.result == nil {
		c.driver = d
	}
}

// StopTrial ends a trial before its next round. It is an error, an ErrNoSuchTrial
// where there is none, if nothing is left to be stopped.
func (c *Control) StopTrial(number int) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if err := c.able(); err != nil {
		return err
	}
	t, over := c.driver.opened(number)
	_, stopped := c.stopped[number]
	switch {
	case t == nil:
		return fmt.Errorf("trial %d: %w", number, ErrNoSuchTrial)
	case stopped:
		return nil
	case over:
		return fmt.Errorf("trial %d has already ended", number)
	case c.running[number]:
		c.asked[number] = true
		return nil
	}
	return c.record(number, t.rounds, actRecord{ActStopTrial})
}

// StopStudy ends the study before the next rounds of its trials.
func (c *Control) StopStudy() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if err := c.able(); err != nil || c.halted {
		return err
	}
	if err := c.record(tuners.StudySession, 0, actRecord{ActStopStudy}); err != nil {
		return err
	}
	c.halted = true
	return nil
}

// able returns an error when nothing can be stopped.
func (c *Control) able() error {
	if c.driver == nil {
		return errors.New("no trials are running: the study is being prepared, selects its result, or has ended")
	}
	return nil
}

// record makes an act part of the study.
func (c *Control) record(trial, round int, act actRecord) error {
	h := c.driver.history
	if err := h.append(KindAct, trial, round, act); err != nil {
		return err
	}
	if trial >= 0 {
		c.stopped[trial] = act
	}
	return h.flush()
}

// begins says that a trial is about to run a segment, ends that it does no more.
func (c *Control) begins(t *trial) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.running != nil {
		c.running[t.number] = true
	}
}

func (c *Control) ends(t *trial) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.running, t.number)
}

// due carries out what a person wants of a trial that has run all its recorded
// rounds. It returns the act that ends the trial here, nil for none.
func (c *Control) due(ctx context.Context, t *trial) (*actRecord, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if ctx.Err() != nil || t.rounds < t.past.rounds {
		return nil, nil
	}
	act, ok := c.stopped[t.number]
	switch {
	case ok:
		return &act, nil
	case c.halted:
		act = actRecord{ActStopStudy}
	case c.asked[t.number]:
		act = actRecord{ActStopTrial}
	default:
		return nil, nil
	}
	return &act, c.record(t.number, t.rounds, act)
}

// close lets no further acts come in, and tells trials that did not run again of
// those about them.
func (c *Control) close(trials []*trial) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.driver = nil
	for _, t := range trials {
		if act, ok := c.stopped[t.number]; ok {
			t.act = &act
		}
	}
}

// over reports whether a person has ended the study.
func (c *Control) over() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.halted
}

// opened returns the trial with a number, nil if there is no such trial, and whether it
// is over.
func (d *driver) opened(number int) (t *trial, over bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if number < 0 || number >= len(d.trials) {
		return nil, true
	}
	return d.trials[number], d.trials[number].over
}

// stoppable is the session of a study that a person may end. From then on, behind
// what is recorded, its tuner is neither asked nor told.
type stoppable struct {
	*decider
	control *Control
	flying  int // trials that have not reported
}

// over says that the tuner is not needed any more.
func (s *stoppable) over() bool { return s.calls == len(s.past) && s.control.over() }

// Suggest returns the next decisions: the end, once all trials have reported.
func (s *stoppable) Suggest(ctx context.Context, n int) ([]tuners.Decision, error) {
	if s.over() {
		if s.flying > 0 {
			return []tuners.Decision{{Kind: tuners.Wait}}, nil
		}
		return []tuners.Decision{{Kind: tuners.Done, Best: -1}}, nil
	}
	decisions, err := s.decider.Suggest(ctx, n)
	for _, d := range decisions {
		if d.Sends() {
			s.flying++
		}
	}
	return decisions, err
}

// Report tells the tuner a score.
func (s *stoppable) Report(ctx context.Context, r tuners.TrialReport) error {
	s.flying--
	if s.over() {
		return nil
	}
	return s.decider.Report(ctx, r)
}
