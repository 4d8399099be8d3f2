package trial

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/fedfast/fedfast/fl"
	"github.com/fedfast/fedfast/fl/study/internal/record"
	"github.com/fedfast/fedfast/fl/study/internal/replay"
	"github.com/fedfast/fedfast/internal/rules"
	"github.com/fedfast/fedfast/internal/store"
	"github.com/fedfast/fedfast/tuners"
)

// session is the client tuner's session about a trial. Its calls are two a round: a plan
// and an observation.
type session struct {
	*replay.Replayer
	trial  *Trial
	probes []string // what it observes of each slot
}

// bestSlot is where a session's state at its trial's best round is kept, beside the two
// newest states.
const bestSlot = 2

// openSession makes the session of a trial, and opens that of a new one to ask which
// probes it uses.
func (t *Trial) openSession(ctx context.Context) error {
	s := &session{trial: t}
	s.Replayer = t.study.Past.NewReplayer(t.Number, s)
	t.session = s
	if t.past != nil {
		s.probes = t.past.Opened.Probes
		return nil
	}
	live, err := s.Live(ctx)
	if err == nil {
		s.probes = slices.Concat(live.Probes(), t.study.Client.Scalars)
		err = t.study.Client.checkPrivate(s.probes)
	}
	return err
}

// open opens a session about the trial, at the start or in a recorded state. It receives,
// besides the trial's params, what the study sets for the hyperparameters that it
// controls.
func (t *Trial) open(ctx context.Context, state []byte) (*rules.Session, error) {
	c := t.study.Client
	req := c.Request
	req.Trial, req.Params, req.State = t.Number, t.Hyper().Matching(c.Controls).Merge(t.Params), state
	s, err := rules.Open(ctx, c.Tuner, req)
	if err != nil {
		return nil, fmt.Errorf("client tuner: trial %d: %w", t.Number, err)
	}
	return s, nil
}

// Reopen opens the session in a state; without one in that of the trial's source, or of
// the preparation.
func (s *session) Reopen(ctx context.Context, state []byte, _ int) (*rules.Session, error) {
	t := s.trial
	if state == nil && t.Source != nil {
		var err error
		if state, err = t.Source.session.StateAt(ctx, 2*(t.base-t.Source.base)); err != nil {
			return nil, err
		}
	}
	if state == nil {
		state = t.study.Client.Prepared
	}
	return t.open(ctx, state)
}

// Repeat makes a recorded call again.
func (s *session) Repeat(ctx context.Context, live *rules.Session, call int) error {
	t := s.trial
	if err := s.repeat(ctx, live, t.base+call/2, call%2 == 1); err != nil {
		return fmt.Errorf("client tuner: trial %d: %w", t.Number, err)
	}
	return nil
}

func (s *session) repeat(ctx context.Context, live *rules.Session, round int, observation bool) error {
	t := s.trial
	if round >= t.past.Rounds { // of this process
		if err := t.past.Reread(t.rounds); err != nil {
			return err
		}
	}
	if observation {
		rec, err := t.past.Round(ctx, round)
		if err != nil {
			return err
		}
		if rec == nil {
			return fmt.Errorf("round %d is missing in the record", round+1)
		}
		return live.ObserveRound(ctx, s.observation(rec, round))
	}
	data, err := t.past.Plan(ctx, round)
	if err != nil {
		return err
	}
	request, err := s.request(ctx, round)
	if err != nil {
		return err
	}
	got, err := live.PlanRound(ctx, request)
	if err != nil {
		return err
	}
	if !samePlan(data, got) {
		return fmt.Errorf("round %d: the client tuner is not deterministic: its plan differs from the record", round+1)
	}
	return nil
}

// samePlan reports whether a recorded plan, nil for none, is one but for its notes.
func samePlan(data []byte, plan tuners.Plan) bool {
	var recorded, now map[string]json.RawMessage
	if data == nil || json.Unmarshal(data, &recorded) != nil {
		return false
	}
	delete(recorded, "Notes")
	plan.Notes = nil
	again, err := json.Marshal(plan)
	return err == nil && json.Unmarshal(again, &now) == nil &&
		maps.EqualFunc(recorded, now, func(a, b json.RawMessage) bool { return bytes.Equal(a, b) })
}

// observation is what the session receives about a recorded round.
func (s *session) observation(rec *record.Round, round int) tuners.Observation {
	return rec.Observation(s.trial.Number, round, !s.trial.study.Engine.DrawsCohorts())
}

func (s *session) request(ctx context.Context, round int) (tuners.PlanRequest, error) {
	t := s.trial
	r := tuners.PlanRequest{Trial: t.Number, Round: round, Slots: t.study.Meter.Config.Cohort}
	if !t.study.Engine.DrawsCohorts() {
		working, err := t.workingAt(ctx, round)
		h := t.Hyper()
		r.Slots = h.Time.Slots(r.Slots, working)
		return r, err
	}
	if t.study.Meter.Config.Sampling == fl.SamplingPoisson && t.study.Client.Noise == 0 {
		r.Slots = max(1, len(t.study.Engine.Cohort(t.Number, round)))
	}
	if t.study.Client.keys() {
		for _, client := range t.study.Engine.Cohort(t.Number, round) {
			r.ClientKeys = append(r.ClientKeys, uint64(client))
		}
	}
	return r, nil
}

// workingAt returns how many clients are at work before a round that is recorded, or the
// next one.
func (t *Trial) workingAt(ctx context.Context, round int) (int, error) {
	switch round {
	case t.rounds:
		return t.working, nil
	case t.base:
		return t.workingBase, nil
	}
	rec, err := t.past.Round(ctx, round-1)
	if err != nil || rec == nil || rec.Fleet == nil {
		return 0, cmp.Or(err, fmt.Errorf("round %d is missing in the record", round))
	}
	return rec.Fleet.Working, nil
}

// keys reports whether the client tuner learns which clients are in the slots.
func (c *ClientTuner) keys() bool { return slices.Contains(c.Scalars, tuners.ScalarClientKey) }

// plan asks for the params of the trial's next round and records the answer.
func (s *session) plan(ctx context.Context) (tuners.Plan, error) {
	t := s.trial
	live, err := s.Live(ctx)
	if err != nil {
		return tuners.Plan{}, err
	}
	request, err := s.request(ctx, t.rounds)
	if err != nil {
		return tuners.Plan{}, err
	}
	p, err := live.PlanRound(ctx, request)
	if err != nil {
		return tuners.Plan{}, fmt.Errorf("client tuner: %w", err)
	}
	if err := t.study.Past.Append(store.KindPlan, t.Number, t.rounds+1, p); err != nil {
		return tuners.Plan{}, err
	}
	return p, s.Answered()
}

// observe passes on how the round went whose record is rec.
func (s *session) observe(ctx context.Context, rec *record.Round) error {
	t := s.trial
	live, err := s.Live(ctx) // its plan may have been a recorded one
	if err != nil {
		return err
	}
	if err := live.ObserveRound(ctx, s.observation(rec, t.rounds)); err != nil {
		return fmt.Errorf("client tuner: %w", err)
	}
	return s.Answered()
}

// Replan asks the client tuner, in a session opened at its beginning, for the recorded plans
// again. An error says which one is another now.
func (t *Trial) Replan(ctx context.Context) error {
	if t.session == nil {
		return nil
	}
	live, err := t.session.Reopen(ctx, nil, 0)
	if err != nil {
		return err
	}
	for call := range 2 * (t.past.Rounds - t.base) {
		if err = t.session.Repeat(ctx, live, call); err != nil {
			break
		}
	}
	return errors.Join(err, live.Close(ctx))
}
