package study

import (
	"context"
	"errors"
	"math"

	"github.com/fedfast/fedfast/fl"
	"github.com/fedfast/fedfast/fl/internal/shard"
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

// Training is the training of one trial elsewhere. An error of it that is an
// ErrLost means that the trial must be placed anew.
type Training interface {
	// Round runs the trial's next round, after the given number of rounds, by a plan
	// and returns its record, as Job.Round makes it. An *shard.PanicError ends the trial,
	// not the study.
	Round(ctx context.Context, rounds int, plan fl.Plan, observed []string) ([]byte, error)
	// Keep has the model kept as it is now, instead of the one kept before.
	Keep()
	// Fetch returns the model that was kept and the trial's state, as far as they
	// are asked for.
	Fetch(ctx context.Context, kept, state bool) (model, trial *fl.Snapshot, err error)
	// Leaving says that the trial must soon be placed anew, and should be fetched
	// before.
	Leaving() bool
	// End gives the place back.
	End()
}

// ErrLost says that nothing will be heard any more of the worker that trained a
// trial.
var ErrLost = errors.New("worker lost")

// training is where a trial trains.
type training interface {
	// Rounds returns how many rounds it has run.
	Rounds() int
	// round runs the next one and returns its record.
	round(ctx context.Context, plan fl.Plan, observed []string) (*roundRecord, error)
	// keep takes the model as it is now for a candidate.
	keep(c *candidate)
}

// here is a training in this process.
type here struct {
	driver *driver
	*fl.Trial
}

func (h here) round(ctx context.Context, plan fl.Plan, observed []string) (*roundRecord, error) {
	r, err := h.Round(ctx, plan)
	if err != nil {
		return nil, err
	}
	return h.driver.meter.record(ctx, h.Trial, observed, r)
}

func (h here) keep(c *candidate) {
	if c.weights == nil {
		c.weights = h.driver.buffer()
	}
	c.weights, c.memory = append(c.weights[:0], h.Weights()...), h.State()
}

// away is a training elsewhere.
type away struct {
	Training
	trial  *trial
	rounds int
	kept   bool // a model that was not fetched yet
}

// Rounds returns how many rounds it has run.
func (a *away) Rounds() int { return a.rounds }

func (a *away) round(ctx context.Context, plan fl.Plan, observed []string) (*roundRecord, error) {
	data, err := a.Round(ctx, a.rounds, plan, observed)
	if err != nil {
		return nil, err
	}
	rec, err := decode[roundRecord](KindRound, data)
	if err == nil {
		err = a.trial.arrived(rec, a.rounds, observed)
	}
	if err != nil {
		return nil, err
	}
	a.rounds++
	return rec, nil
}

func (a *away) keep(c *candidate) {
	a.Keep()
	a.kept, c.weights, c.memory = true, nil, nil
}

// training returns where the trial trains, at the round that it has reached by its
// record.
func (t *trial) training(ctx context.Context) (training, error) {
	sharer := t.driver.setup.sharer()
	if t.driver.setup.Trainer == nil || sharer != nil && sharer.Shares(t.number) {
		err := t.home(ctx)
		return here{t.driver, t.train}, err
	}
	if t.away == nil {
		if t.train != nil { // so that it need not be repeated
			if err := t.save(ctx); err != nil {
				return nil, err
			}
		}
		if err := t.place(ctx); err != nil {
			return nil, err
		}
	}
	return t.away, nil
}

// home has the trial trained from this process, at the round that it has reached by
// its record.
func (t *trial) home(ctx context.Context) error {
	if t.away != nil {
		s, err := t.fetch(ctx, true)
		t.leave()
		if err == nil {
			t.train, err = t.driver.engine.Restore(s)
			return err
		}
		if !errors.Is(err, ErrLost) {
			return err
		}
	}
	return t.materialize(ctx)
}

// place has the trial trained elsewhere, from its newest snapshot or its beginning,
// and brings it to the round that it has reached.
func (t *trial) place(ctx context.Context) error {
	t.train = nil
	for {
		if err := t.reread(); err != nil {
			return err
		}
		a, from := &away{trial: t}, 0
		var err error
		a.Training, err = t.driver.setup.Trainer.Place(ctx, t.number, func() (*fl.Snapshot, error) {
			tr, err := t.driver.startingPoint(ctx, t, t.rounds)
			if err != nil || tr.Rounds() == 0 && t.source == nil {
				return nil, err
			}
			s := tr.Snapshot()
			from = s.Round
			return &s, nil
		})
		if err != nil {
			return err
		}
		t.away, a.rounds = a, from
		err = t.driver.catchUp(ctx, t, a, t.rounds)
		if err == nil {
			return nil
		}
		t.leave()
		if !errors.Is(err, ErrLost) {
			return err
		}
	}
}

// leave gives back the place where the trial trains elsewhere.
func (t *trial) leave() {
	if t.away != nil {
		t.away.End()
		t.away = nil
	}
}

// state returns the trial's state, and fills in the segment's best model if that was
// kept elsewhere.
func (t *trial) state(ctx context.Context) (fl.Snapshot, error) {
	if t.away == nil {
		return t.train.Snapshot(), nil
	}
	return t.fetch(ctx, true)
}

// fetch brings here what a trial that trains elsewhere has kept, and its state.
func (t *trial) fetch(ctx context.Context, state bool) (fl.Snapshot, error) {
	model, trial, err := t.away.Fetch(ctx, t.away.kept, state)
	if err == nil {
		err = t.brought(model, trial, t.away.rounds)
	}
	if err != nil {
		return fl.Snapshot{}, err
	}
	if model != nil {
		c := &t.best
		if c.memory, err = t.driver.engine.StateOf(*model); err != nil {
			return fl.Snapshot{}, err
		}
		c.weights, t.away.kept = model.Weights, false
	}
	if trial == nil {
		return fl.Snapshot{}, nil
	}
	return *trial, nil
}

// settle ends a segment elsewhere: it stores the trial if that is worth it, and
// brings its best model here if that may be kept.
func (t *trial) settle(ctx context.Context) error {
	for {
		var err error
		switch {
		case t.away == nil:
			return nil
		case t.worthwhile() || t.driver.meter.unscored:
			err = t.save(context.WithoutCancel(ctx))
		case t.away.kept && t.driver.wants(&t.best):
			_, err = t.fetch(context.WithoutCancel(ctx), false)
		}
		if !errors.Is(err, ErrLost) {
			return err
		}
		t.leave()
		if err := t.place(ctx); err != nil {
			return err
		}
	}
}

// wants reports whether a model has a place among those that are kept.
func (d *driver) wants(c *candidate) bool {
	d.taking.Lock()
	defer d.taking.Unlock()
	return d.ranks(d.best, c)
}

// lanes is how many trials run at once.
func (d *driver) lanes() int {
	if d.setup.Trainer != nil {
		return math.MaxInt
	}
	return d.engine.Workers()
}
