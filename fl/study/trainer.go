package study

import (
	"context"

	"github.com/fedfast/fedfast/fl"
	"github.com/fedfast/fedfast/fl/internal/shard"
	"github.com/fedfast/fedfast/fl/study/internal/trial"
	"github.com/fedfast/fedfast/fl/study/result"
)

// Trainer has trials trained elsewhere, such as on the machines of a cluster. What
// comes of them has the same bits, so it decides about nothing but the time.
type Trainer interface {
	// Place begins the training of a trial, or resumes it, once there is room. start
	// is called then; it returns the state to begin from, nil for that of a trial
	// that has run no round. It may be called again during calls of the Training's
	// Round.
	Place(ctx context.Context, trial int, start func() (*fl.Snapshot, error)) (Training, error)
}

// Sharer is a Trainer whose workers can also train one round together, in parts, and
// evaluate models together. Such a trial is in this process, which splits its rounds and
// adds up what the workers send.
type Sharer interface {
	Trainer
	shard.Engines
	// Shares reports whether the next round of a trial is trained in parts. It may depend
	// on the clock: a round has the same bits in both ways.
	Shares(trial int) bool
}

// sharer is the set-up's Trainer if that can have rounds trained in parts, else nil.
func (s *Setup) sharer() Sharer {
	sharer, _ := s.Trainer.(Sharer)
	return sharer
}

// audited returns what was trained twice, nil for nothing.
func (s *Setup) audited() *result.ClusterAudit {
	if t, ok := s.Trainer.(interface{ Audited() *result.ClusterAudit }); ok {
		return t.Audited()
	}
	return nil
}

// Training is the training of one trial elsewhere. An error of it that is an
// ErrLost means that the trial must be placed anew.
type Training interface {
	// Round runs the trial's next round, after the given number of rounds, by a plan
	// and returns its record, as Job.Round makes it. An *shard.PanicError ends the trial,
	// not the study. check returns why a record cannot be right.
	Round(ctx context.Context, rounds int, plan fl.Plan, observed []string, check func(record []byte) error) ([]byte, error)
	// Keep has the model kept as it is now, instead of the one kept before.
	Keep()
	// Fetch returns the model that was kept and the trial's state, as far as they
	// are asked for. check returns why they cannot be right.
	Fetch(ctx context.Context, kept, state bool, check func(model, trial *fl.Snapshot) error) (model, trial *fl.Snapshot, err error)
	// Leaving reports whether the trial must soon be placed anew, and should be fetched
	// before.
	Leaving() bool
	// End gives the place back.
	End()
}

// ErrLost is the error of a trial whose worker is gone.
var ErrLost = trial.ErrLost

// away is the set-up's Trainer as its trials use it.
func (s *Setup) away() (a trial.Away) {
	if s.Trainer != nil {
		a.Place = func(ctx context.Context, number int, start func() (*fl.Snapshot, error)) (trial.Remote, error) {
			return s.Trainer.Place(ctx, number, start)
		}
	}
	if sharer := s.sharer(); sharer != nil {
		a.Shares = sharer.Shares
	}
	return a
}
