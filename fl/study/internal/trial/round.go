package trial

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/fedfast/fedfast/fl"
	"github.com/fedfast/fedfast/fl/hyper"
	"github.com/fedfast/fedfast/fl/internal/clock"
	"github.com/fedfast/fedfast/fl/internal/shard"
	"github.com/fedfast/fedfast/fl/study/config"
	"github.com/fedfast/fedfast/fl/study/internal/record"
	"github.com/fedfast/fedfast/internal/store"
)

// FailError is an error that ends a trial, not the study.
type FailError struct{ record.Fail }

func (f *FailError) Error() string { return f.Reason }

// Next brings the trial one round on: from the record, or by running the round.
// ctx is looked at only before: a round that has begun ends.
func (t *Trial) Next(ctx context.Context) (*record.Round, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	rec, err := t.past.Round(ctx, t.rounds)
	if err != nil {
		return nil, err
	}
	switch {
	case rec != nil:
		n := len(t.study.Meter.Data.Clients)
		if i := slices.IndexFunc(rec.Clients, func(c int) bool { return c < 0 || c >= n }); i >= 0 {
			return nil, fmt.Errorf("trial %d: round %d is recorded with client %d of %d",
				t.Number, t.rounds+1, rec.Clients[i], n)
		}
		if t.session != nil {
			t.session.Skip(2)
		}
	case t.past.Fail != nil:
		return nil, &FailError{*t.past.Fail}
	case t.study.Recorded != nil:
		if rec, err = t.study.Recorded(t, t.rounds); err != nil {
			return nil, err
		}
	default:
		if t.Phase() == Replaying {
			if err := t.transition(Training, ""); err != nil {
				return nil, err
			}
		}
		if _, err := t.training(ctx); err != nil { // not to be counted as the round's time
			return nil, err
		}
		start := time.Now()
		if rec, err = t.run(ctx); err != nil {
			return nil, err
		}
		t.stored.spent += time.Since(start)
	}
	t.rounds++
	if rec.Fleet != nil {
		t.working = rec.Fleet.Working
	}
	return rec, nil
}

// run plans, trains and observes one round; each step is recorded before the
// next. ctx is looked at only where the round must be begun again elsewhere.
func (t *Trial) run(ctx context.Context) (*record.Round, error) {
	until := ctx
	ctx = context.WithoutCancel(ctx)
	plan, err := t.plan(ctx)
	if err != nil {
		return nil, err
	}
	rec, err := t.round(until, plan)
	if err = Fails(t.rounds+1, rec, err, t.study.Meter.Config.Nonfinite); err != nil {
		return nil, err
	}
	if err := t.study.Past.Append(store.KindRound, t.Number, t.rounds+1, rec); err != nil {
		return nil, err
	}
	if t.session != nil {
		if err := t.session.observe(ctx, rec); err != nil {
			return nil, err
		}
	}
	return rec, nil
}

// Fails returns the error of a round, counted from 1: a *FailError if it ends the trial alone.
func Fails(round int, rec *record.Round, err error, nonfinite string) error {
	if panicked, ok := errors.AsType[*shard.PanicError](err); ok {
		return &FailError{record.Fail{Reason: fmt.Sprintf("round %d: %s", round, panicked), Stack: string(panicked.Stack)}}
	}
	if errors.Is(err, clock.ErrNobody) || errors.Is(err, clock.ErrFailing) {
		return &FailError{record.Fail{Reason: fmt.Sprintf("round %d: %v", round, err)}}
	}
	if err == nil && rec.Dropped > 0 && nonfinite == config.NonfiniteFail {
		return &FailError{record.Fail{Reason: fmt.Sprintf("round %d: the results of %d clients are not finite", round, rec.Dropped)}}
	}
	return err
}

// round trains the next round. One whose worker is lost is begun again elsewhere,
// while ctx lasts.
func (t *Trial) round(ctx context.Context, plan fl.Plan) (*record.Round, error) {
	for {
		tr, err := t.training(ctx)
		if err != nil {
			return nil, err
		}
		rec, err := tr.round(context.WithoutCancel(ctx), plan, t.probes(), func(rec *record.Round) error {
			t.noteParams(rec, plan)
			t.privatize(rec, t.rounds)
			return nil
		})
		if !errors.Is(err, ErrLost) {
			return rec, err
		}
		t.Leave()
	}
}

// noteParams adds to a round's record what the client tuner set for all clients alike.
func (t *Trial) noteParams(rec *record.Round, plan fl.Plan) {
	if t.session == nil || len(plan.Clients) != 1 {
		return
	}
	set := hyper.Values{Client: plan.Clients[0], Server: plan.Server}.Matching(t.study.Client.Controls)
	if len(set) > 0 { // else nil, as it is read from the record
		rec.Params = set
	}
}
