package study

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/fedfast/fedfast/fl/study/internal/record"
	"github.com/fedfast/fedfast/fl/study/internal/replay"
	"github.com/fedfast/fedfast/fl/study/result"
	"github.com/fedfast/fedfast/internal/store"
	"github.com/fedfast/fedfast/tuners"
)

// ErrNoSuchTrial is the error for a number that no trial of a study has.
var ErrNoSuchTrial = errors.New("no such trial")

// Control lets users end trials of a study, or the study, before their time. An
// act is carried out before the next round of each trial that it is about, and is
// part of the record from then on: a study that is resumed repeats it where it was.
// The zero value is ready, and is for one Tune. Its methods may be called from any
// goroutine.
type Control struct {
	mu      sync.Mutex
	driver  *driver // nil while there is nothing to stop
	asked   map[int]bool
	stopped map[int]record.Act // trials that an action has ended
	running map[int]bool       // trials in a segment
	halted  bool               // the study is to end
}

// open lets acts come in, after those that are recorded.
func (c *Control) open(d *driver) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.asked, c.running = map[int]bool{}, map[int]bool{}
	c.stopped, c.halted = d.past.Acts, d.past.Halted
	if d.past.Result == nil {
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
	t := c.driver.trial(number)
	_, stopped := c.stopped[number]
	switch {
	case t == nil:
		return fmt.Errorf("trial %d: %w", number, ErrNoSuchTrial)
	case stopped:
		return nil
	case t.Phase().Over():
		return fmt.Errorf("trial %d has already ended", number)
	case c.running[number]:
		c.asked[number] = true
		return nil
	}
	return c.record(number, t.Rounds(), record.Act{Act: result.ActStopTrial})
}

// StopStudy ends the study before the next rounds of its trials.
func (c *Control) StopStudy() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if err := c.able(); err != nil || c.halted {
		return err
	}
	if err := c.record(tuners.StudySession, 0, record.Act{Act: result.ActStopStudy}); err != nil {
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
func (c *Control) record(trial, round int, act record.Act) error {
	h := c.driver.past
	if err := h.Append(store.KindAct, trial, round, act); err != nil {
		return err
	}
	if trial >= 0 {
		c.stopped[trial] = act
	}
	return h.Flush()
}

// begins marks a trial as running a segment, until ends.
func (c *Control) begins(t *entrant) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.running != nil {
		c.running[t.Number] = true
	}
}

func (c *Control) ends(t *entrant) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.running, t.Number)
}

// due carries out what a user wants of a trial that has run all its recorded rounds. It
// returns why the trial ends here, empty if it does not.
func (c *Control) due(ctx context.Context, t *entrant) (reason string, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if ctx.Err() != nil || t.Recorded() {
		return "", nil
	}
	act, ok := c.stopped[t.Number]
	switch {
	case ok:
		return result.ActReason(act.Act), nil
	case c.halted:
		act = record.Act{Act: result.ActStopStudy}
	case c.asked[t.Number]:
		act = record.Act{Act: result.ActStopTrial}
	default:
		return "", nil
	}
	return result.ActReason(act.Act), c.record(t.Number, t.Rounds(), act)
}

// close lets no further actions come in, and ends the trials that they are about and that
// did not run again.
func (c *Control) close(trials []*entrant) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.driver = nil
	for _, t := range trials {
		if act, ok := c.stopped[t.Number]; ok {
			if err := t.Note(result.ActReason(act.Act)); err != nil {
				return err
			}
		}
	}
	return nil
}

// over reports whether a user has ended the study.
func (c *Control) over() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.halted
}

// stoppable is the session of a study that a user may end. From then on, after
// what is recorded, its tuner receives no calls.
type stoppable struct {
	*replay.Tuner
	control *Control
	flying  int // trials that have not reported
}

// over reports whether the tuner is not needed any more.
func (s *stoppable) over() bool { return s.Replayed() && s.control.over() }

// Suggest returns the next decisions: the end, once all trials have reported.
func (s *stoppable) Suggest(ctx context.Context, n int) ([]tuners.Decision, error) {
	if s.over() {
		if s.flying > 0 {
			return []tuners.Decision{{Kind: tuners.Wait}}, nil
		}
		return []tuners.Decision{{Kind: tuners.Done, Best: -1}}, nil
	}
	decisions, err := s.Tuner.Suggest(ctx, n)
	for _, d := range decisions {
		if d.Sends() {
			s.flying++
		}
	}
	return decisions, err
}

// Report passes a report to the tuner.
func (s *stoppable) Report(ctx context.Context, r tuners.TrialReport) error {
	s.flying--
	if s.over() {
		return nil
	}
	return s.Tuner.Report(ctx, r)
}
