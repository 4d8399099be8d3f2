package trial

import (
	"context"
	"errors"

	"github.com/fedfast/fedfast/fl"
	"github.com/fedfast/fedfast/fl/study/internal/record"
)

// training is where a trial trains.
type training interface {
	// Rounds returns how many rounds it has run.
	Rounds() int
	// round runs the next one and returns its record, once take has accepted it.
	round(ctx context.Context, plan fl.Plan, observed []string, take func(*record.Round) error) (*record.Round, error)
	// keep takes the model as it is now.
	keep(m *Model)
}

// here is a training in this process.
type here struct {
	study *Study
	*fl.Trial
}

func (h here) round(ctx context.Context, plan fl.Plan, observed []string, take func(*record.Round) error,
) (*record.Round, error) {
	rec, err := h.study.Meter.Round(ctx, h.Trial, plan, observed)
	if err == nil {
		err = take(rec)
	}
	return rec, err
}

func (h here) keep(m *Model) {
	if m.Weights == nil {
		m.Weights = h.study.Shelf.Buffer()
	}
	m.Weights, m.Memory = append(m.Weights[:0], h.Weights()...), h.State()
}

// training returns where the trial trains, at the round that it has reached by its
// record.
func (t *Trial) training(ctx context.Context) (training, error) {
	if e := &t.study.Away; e.Place == nil || e.Shares != nil && e.Shares(t.Number) {
		err := t.home(ctx)
		return here{t.study, t.train}, err
	}
	if t.away == nil {
		if t.train != nil { // so that it need not be repeated
			if err := t.Save(ctx); err != nil {
				return nil, err
			}
		}
		if err := t.place(ctx); err != nil {
			return nil, err
		}
	}
	return t.away, nil
}

// trains reports whether the trial is in training, so that there is something to save.
func (t *Trial) trains() bool { return t.train != nil || t.away != nil }

// home has the trial trained from this process, at the round that it has reached by
// its record.
func (t *Trial) home(ctx context.Context) error {
	if t.away != nil {
		s, err := t.fetch(ctx, true)
		t.Leave()
		if err == nil {
			t.train, err = t.study.Engine.Restore(s)
			return err
		}
		if !errors.Is(err, ErrLost) {
			return err
		}
	}
	return t.Load(ctx)
}

// place has the trial trained elsewhere, from its newest snapshot or its beginning,
// and brings it to the round that it has reached.
func (t *Trial) place(ctx context.Context) error {
	t.train = nil
	for {
		a, from := &away{trial: t}, 0
		var err error
		a.Remote, err = t.study.Away.Place(ctx, t.Number, func() (*fl.Snapshot, error) {
			tr, err := t.startingPoint(ctx, t.rounds)
			if err != nil || tr.Rounds() == 0 && t.Source == nil {
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
		err = t.catchUp(ctx, a, t.rounds)
		if err == nil {
			return nil
		}
		t.Leave()
		if !errors.Is(err, ErrLost) {
			return err
		}
	}
}

// Leave gives back the place where the trial trains elsewhere, if it does.
func (t *Trial) Leave() {
	if t.away != nil {
		t.away.End()
		t.away = nil
	}
}

// settle ends a segment elsewhere: it stores the trial if that is worth it, and
// brings its best model here if that may be kept.
func (t *Trial) settle(ctx context.Context) error {
	for {
		var err error
		switch {
		case t.away == nil:
			return nil
		case t.worthwhile():
			err = t.Save(context.WithoutCancel(ctx))
		case t.away.kept && t.study.Shelf.Wants(&t.best):
			_, err = t.fetch(context.WithoutCancel(ctx), false)
		}
		if !errors.Is(err, ErrLost) {
			return err
		}
		t.Leave()
		if err := t.place(ctx); err != nil {
			return err
		}
	}
}
