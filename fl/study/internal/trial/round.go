package trial

import (
	"context"
	"errors"
	"fmt"
	"math"
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

// checkClients checks the clients of a step that was made elsewhere, which the schedule
// there has decided.
func (t *Trial) checkClients(clients []int) error {
	c, all := t.study.Meter.Config, len(t.study.Meter.Data.Clients)
	if n, most := len(clients), c.Updates(); n == 0 || n > most {
		return fmt.Errorf("%d clients in a step of at most %d", n, most)
	}
	for _, client := range clients {
		if client < 0 || client >= all {
			return fmt.Errorf("client %d of %d", client, all)
		}
	}
	return nil
}

// checkFleet checks what a step that was made elsewhere, after a number of others, tells of
// a fleet.
func (t *Trial) checkFleet(rec *record.Round, rounds int) error {
	f := rec.Fleet
	if (f == nil) != (t.study.Meter.Config.Devices() == nil) {
		return errors.New("only one of the study and the round has a fleet")
	}
	if f == nil {
		return nil
	}
	if f.Late < 0 || f.Vanished < 0 || f.Stale < 0 || f.Failed < 0 || len(f.Jobs) != len(rec.Clients)+f.Lost() {
		return fmt.Errorf("%d jobs for %d updates and %d that were lost", len(f.Jobs), len(rec.Clients), f.Lost())
	}
	if !(f.Clock >= 0 && f.Clock <= math.MaxFloat64) {
		return fmt.Errorf("a clock of %v simulated seconds", float64(f.Clock))
	}
	c, h := t.study.Meter.Config, t.Hyper()
	if f.Working < 0 || f.Working > h.Time.Working(c.Cohort) || f.Oldest < 0 || f.Oldest > rounds+1 {
		return fmt.Errorf("%d clients at work since round %d", f.Working, f.Oldest)
	}
	for i, j := range f.Jobs {
		ordered := j.Start >= 0 && j.Start <= j.Received && j.Received <= j.Computed && j.Computed <= j.End && j.End <= math.MaxFloat64
		if !ordered || j.Staleness < 0 || j.Staleness > rounds || j.Slot < 0 ||
			j.Slot > len(t.study.Meter.Data.Clients)+c.Updates() || !(j.Weight >= 0 && j.Weight <= 1) || j.Client < 0 ||
			j.Client >= len(t.study.Meter.Data.Clients) || i < len(rec.Clients) && j.Client != rec.Clients[i] {
			return fmt.Errorf("an impossible job of client %d", j.Client)
		}
	}
	return nil
}
