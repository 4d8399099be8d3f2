// Package conformance checks tuners without any federated training: it plays whole studies with them against made-up or recorded
// surfaces, kills and stops them on the way, and says in plain words what a study could not live with.
package conformance

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/fedfast/fedfast/tuners"
)

// Study is a study that a tuner plays against a surface.
type Study struct {
	Surface   Surface
	Options   tuners.Params // of the tuner
	Budget    tuners.Budget
	Objective tuners.Objective
	Seed      uint64
	Parallel  int                    // trials in flight, as tuner.parallel; 0 is 1
	Fails     func(trial int) bool   // whether a trial fails instead of reporting a score; nil is never
	Before    func()                 // is called before every call of a session; may be nil
	Timed     func(time.Duration)    // is told how long every call of a session took; may be nil
	Reopen    bool                   // every session is opened anew from its state after each of its calls
	Limit     func(trials int) error // is told how many trials have reported and asked before every call of a session; an error ends the study; may be nil
	Clients   tuners.Tuner           // a client tuner under the tuner; nil is none
	Slots     int                    // clients in a cohort; 0 is 4
	// ClientOptions are those of the client tuner.
	ClientOptions tuners.Params
	Tests         bool // ask for a plan of an evaluation after every second round

	prepared []byte // the state that opens the client tuner's sessions
}

// Trial is what became of one trial.
type Trial struct {
	Number int           `json:"number"`
	Params tuners.Params `json:"params"`
	Rounds int           `json:"rounds"`
	Score  float64       `json:"score"` // at its last report
	Failed bool          `json:"failed,omitempty"`
	Source int           `json:"source"` // the trial that it is a fork of, -1 for none

	running, stopped bool
	reported         bool
	client           *session
}

// Outcome is a study that was played.
type Outcome struct {
	Trials []*Trial `json:"trials"`
	Best   int      `json:"best"`   // the tuner's choice, -1 when it named none
	Rounds int      `json:"rounds"` // in all
	Said   []string `json:"-"`      // every decision and plan, in order
	State  int      `json:"-"`      // bytes of the largest state

	reported int // trials of which a score was told
}

// Lowest returns the number of the trial with the best score, -1 when every trial failed.
func (o *Outcome) Lowest(objective tuners.Objective) int {
	best := -1
	for i, t := range o.Trials {
		if !t.Failed && (best < 0 || objective.Better(t.Score, o.Trials[best].Score)) {
			best = i
		}
	}
	return best
}

// faults that a study finds by itself. The tuner's own errors and those of the host's checks are passed on as they are.
var (
	errOverspent = errors.New("it spends more than its budget")
	errEndless   = errors.New("it does not come to an end")
	errBadEnd    = errors.New("it ends badly")
	errUnknown   = errors.New("it speaks of a trial that does not exist")
)

// session is a session that is opened again from its state when the study says so, and whose calls are counted and timed.
type session struct {
	tuners.Session
	study *Study
	tuner tuners.Tuner
	req   tuners.OpenRequest
	out   *Outcome
}

// open opens a session.
func (s *Study) open(ctx context.Context, t tuners.Tuner, req tuners.OpenRequest, out *Outcome) (*session, error) {
	raw, err := t.Open(ctx, req)
	if err != nil {
		return nil, err
	}
	return &session{Session: raw, study: s, tuner: t, req: req, out: out}, nil
}

// call makes one call.
func (s *session) call(ctx context.Context, call func() error) error {
	if s.study.Limit != nil {
		if err := s.study.Limit(s.out.reported); err != nil {
			return err
		}
	}
	if s.study.Before != nil {
		s.study.Before()
	}
	begin := time.Now()
	if err := call(); err != nil {
		return err
	}
	if s.study.Timed != nil {
		s.study.Timed(time.Since(begin))
	}
	s.out.State = max(s.out.State, len(s.State()))
	if !s.study.Reopen {
		return nil
	}
	req := s.req
	req.State = append([]byte{}, s.State()...)
	if err := s.Close(ctx); err != nil {
		return err
	}
	raw, err := s.tuner.Open(ctx, req)
	if err != nil {
		return fmt.Errorf("opened again from its state: %w", err)
	}
	s.Session = raw
	return nil
}

// base are the hyperparameters of a study where its space says nothing: client tuners begin with them.
var base = tuners.Params{
	"client.lr": tuners.Num(0.01), "client.momentum": tuners.Num(0.9), "client.weight_decay": tuners.Num(0), "client.epochs": tuners.Num(1),
	"client.batch": tuners.Num(16), "server.lr": tuners.Num(1), "server.momentum": tuners.Num(0),
}

// Play plays the study until the tuner says that it is done. The outcome holds what was said before an error, too.
func (s Study) Play(ctx context.Context, t tuners.Tuner) (*Outcome, error) {
	out := &Outcome{Best: -1}
	req := tuners.OpenRequest{
		Study: "check", Space: s.Surface.Space(), Options: s.Options, Budget: s.Budget, Objective: s.Objective, Seed: s.Seed, Trial: tuners.StudySession,
	}
	var err error
	if s.Clients != nil {
		d, err := s.Clients.Describe(ctx)
		if err != nil {
			return out, err
		}
		if req.Space, err = req.Space.With(d.Adds...); err != nil {
			return out, err
		}
	}
	if s.Clients != nil {
		if s.prepared, err = s.prepare(ctx, req, out); err != nil {
			return out, err
		}
	}
	session, err := s.open(ctx, t, req, out)
	if err != nil {
		return out, err
	}
	return out, s.decide(ctx, session)
}

// prepare runs the client tuner's own search before the first trial, when it has one, and returns the state that opens every trial's
// session. What it decides is said, but its trials do not count.
func (s *Study) prepare(ctx context.Context, req tuners.OpenRequest, out *Outcome) ([]byte, error) {
	d, err := s.Clients.Describe(ctx)
	if err != nil || !d.Prepare {
		return nil, err
	}
	apart := *s
	apart.Clients, apart.Limit, apart.Budget = nil, nil, tuners.Budget{Rounds: math.MaxInt32}
	own := &Outcome{Best: -1}
	req.Trial, req.Options = tuners.PrepareSession, s.ClientOptions
	session, err := apart.open(ctx, s.Clients, req, own)
	if err != nil {
		return nil, err
	}
	err = apart.decide(ctx, session)
	out.Said = append(out.Said, own.Said...)
	return append([]byte{}, session.State()...), err
}

// decide asks the session what to do until it says that it is done.
func (s *Study) decide(ctx context.Context, session *session) error {
	for asked := 0; ; asked++ {
		if asked > maxAsked {
			return fmt.Errorf("%w: it was asked %d times", errEndless, asked)
		}
		var decisions []tuners.Decision
		if err := session.call(ctx, func() (err error) {
			decisions, err = session.Suggest(ctx, max(1, s.Parallel))
			return err
		}); err != nil {
			return err
		}
		done, err := s.act(ctx, session, decisions)
		if err != nil {
			return err
		}
		if done {
			return session.Close(ctx)
		}
	}
}

// maxAsked is how often a tuner is asked what to do before it is taken to be endless.
const maxAsked = 200_000

// act does what the decisions ask for and reports the trials that end: all of them, or with several in flight the first one.
func (s *Study) act(ctx context.Context, in *session, decisions []tuners.Decision) (done bool, err error) {
	out := in.out
	for _, d := range decisions {
		out.Said = append(out.Said, describe(d))
		switch d.Kind {
		case tuners.Start, tuners.Resume, tuners.Fork:
			if d.Kind == tuners.Fork && d.Source >= len(out.Trials) || d.Kind == tuners.Resume && d.Trial >= len(out.Trials) {
				return false, out.unknown(d)
			}
			if err := s.send(ctx, in, d); err != nil {
				return false, err
			}
		case tuners.Stop:
			if d.Trial >= len(out.Trials) {
				return false, out.unknown(d)
			}
			if t := out.Trials[d.Trial]; t.running {
				return false, fmt.Errorf("%w: it stops trial %d while it runs", errBadEnd, d.Trial)
			}
			out.Trials[d.Trial].stopped = true
		case tuners.Done:
			return true, s.end(in, d)
		case tuners.Wait, tuners.Release:
		}
	}
	for _, t := range out.Trials {
		if !t.running {
			continue
		}
		t.running = false
		report := tuners.TrialReport{Trial: t.Number, Round: t.Rounds, Score: t.Score}
		if t.Failed = s.Fails != nil && s.Fails(t.Number); t.Failed {
			t.Score = math.NaN()
			report.Score, report.Failed, report.Reason = t.Score, true, "it was made to fail"
		}
		if err := in.call(ctx, func() error { return in.Report(ctx, report) }); err != nil {
			return false, fmt.Errorf("told of trial %d (failed: %t): %w", t.Number, t.Failed, err)
		}
		if !t.reported {
			t.reported = true
			out.reported++
		}
		if s.Parallel > 1 {
			return false, nil
		}
	}
	return false, nil
}

// send runs a trial to the round of a decision.
func (s *Study) send(ctx context.Context, in *session, d tuners.Decision) error {
	out := in.out
	if d.Kind == tuners.Start || d.Kind == tuners.Fork {
		if d.Trial != len(out.Trials) {
			return out.unknown(d)
		}
		t := &Trial{Number: d.Trial, Params: d.Params, Source: -1}
		if d.Kind == tuners.Fork {
			t.Source = d.Source
			t.Rounds = out.Trials[d.Source].Rounds
		}
		out.Trials = append(out.Trials, t)
	}
	t := out.Trials[d.Trial]
	out.Rounds += d.ToRound - t.Rounds
	if out.Rounds > s.Budget.Rounds {
		return fmt.Errorf("%w: with trial %d to round %d it has asked for %d rounds of %d", errOverspent, d.Trial, d.ToRound, out.Rounds, s.Budget.Rounds)
	}
	t.running = true
	if s.Clients == nil {
		t.Rounds, t.Score = d.ToRound, s.Surface.Score(t.Params, d.ToRound)
		return nil
	}
	if t.client == nil {
		req := in.req
		req.Trial, req.Params, req.State, req.Options = t.Number, base.Merge(t.Params), s.prepared, s.ClientOptions
		var err error
		if t.client, err = s.open(ctx, s.Clients, req, out); err != nil {
			return err
		}
	}
	for t.Rounds < d.ToRound {
		if err := s.round(ctx, t.client, t); err != nil {
			return err
		}
	}
	return nil
}

// unknown is the error about a decision that names a trial which there is not. The host's checks see it first but for a session that was
// opened from a state: they do not know the trials before it.
func (o *Outcome) unknown(d tuners.Decision) error {
	return fmt.Errorf("%w: %q, but there are %d trials", errUnknown, describe(d), len(o.Trials))
}

// end checks how the study ends.
func (s *Study) end(in *session, d tuners.Decision) error {
	for _, t := range in.out.Trials {
		if t.running {
			return fmt.Errorf("%w: it is done while trial %d runs", errBadEnd, t.Number)
		}
	}
	in.out.Best = d.Best
	if d.Best < 0 {
		return nil
	}
	if d.Best >= len(in.out.Trials) {
		return in.out.unknown(d)
	}
	switch t := in.out.Trials[d.Best]; {
	case t.stopped:
		return fmt.Errorf("%w: its choice, trial %d, is one that it stopped", errBadEnd, d.Best)
	case t.Failed:
		return fmt.Errorf("%w: its choice, trial %d, has failed", errBadEnd, d.Best)
	}
	return nil
}

// round runs one round of a trial under a client tuner.
func (s *Study) round(ctx context.Context, c *session, t *Trial) error {
	slots := s.Slots
	if slots == 0 {
		slots = 4
	}
	if s.Tests && t.Rounds%2 == 1 {
		before := string(c.State())
		if _, err := c.PlanRound(ctx, tuners.PlanRequest{Trial: t.Number, Round: t.Rounds, Slots: slots, Purpose: tuners.Test}); err != nil {
			return fmt.Errorf("asked for the plan of an evaluation: %w", err)
		}
		if string(c.State()) != before {
			return errors.New("the plan of an evaluation changed its state")
		}
	}
	var plan tuners.Plan
	if err := c.call(ctx, func() (err error) {
		plan, err = c.PlanRound(ctx, tuners.PlanRequest{Trial: t.Number, Round: t.Rounds, Slots: slots})
		return err
	}); err != nil {
		return err
	}
	c.out.Said = append(c.out.Said, fmt.Sprintf("trial %d, round %d: %s", t.Number, t.Rounds, describePlan(plan)))
	var names []string
	if p, ok := c.Session.(tuners.Prober); ok {
		names = p.Probes()
	}
	d, err := c.tuner.Describe(ctx)
	if err != nil {
		return err
	}
	names = append(slices.Clone(names), d.Scalars...)
	o := tuners.Observation{Trial: t.Number, Round: t.Rounds, Aggregates: map[string]float64{}}
	t.Score = 0
	for slot := range slots {
		params := t.Params.Merge(plan.Server)
		if len(plan.Table) > 0 {
			params = params.Merge(plan.Table[slot%len(plan.Table)].Params)
		} else {
			params = params.Merge(plan.Client(slot))
		}
		score := s.Surface.Score(params, t.Rounds+1)
		t.Score += score / float64(slots)
		seen := map[string]float64{}
		for _, name := range names {
			seen[name] = probe(name, score, slot)
			o.Aggregates[name] += seen[name] / float64(slots)
		}
		o.Slots = append(o.Slots, tuners.Slot{Probes: seen})
	}
	t.Rounds++
	return c.call(ctx, func() error { return c.ObserveRound(ctx, o) })
}

// probe makes a value of a probe or scalar up, in the range of its name.
func probe(name string, score float64, slot int) float64 {
	switch {
	case strings.Contains(name, "cos"):
		h := fnv.New32a()
		fmt.Fprint(h, name, score, slot)
		return float64(h.Sum32())/(1<<31) - 1
	case strings.HasPrefix(name, "examples") || name == "steps" || name == "client_key":
		return float64(10 + slot)
	case strings.HasSuffix(name, "before"):
		return min(1, 1.1*score)
	}
	return score
}

// describe writes a decision.
func describe(d tuners.Decision) string {
	switch d.Kind {
	case tuners.Start:
		return fmt.Sprintf("start trial %d to round %d with %s (independent: %t)", d.Trial, d.ToRound, d.Params, d.Independent)
	case tuners.Fork:
		return fmt.Sprintf("fork trial %d as trial %d to round %d with %s", d.Source, d.Trial, d.ToRound, d.Params)
	case tuners.Resume:
		return fmt.Sprintf("resume trial %d to round %d", d.Trial, d.ToRound)
	case tuners.Done:
		return fmt.Sprintf("done, best is trial %d", d.Best)
	case tuners.Wait:
		return "wait"
	case tuners.Stop, tuners.Release:
	}
	return fmt.Sprintf("%s trial %d", d.Kind, d.Trial)
}

// describePlan writes a plan.
func describePlan(p tuners.Plan) string {
	var b strings.Builder
	fmt.Fprintf(&b, "server %s;", p.Server)
	for i, c := range p.Clients {
		fmt.Fprintf(&b, " %d: %s;", i, c)
	}
	for _, c := range p.Table {
		fmt.Fprintf(&b, " %v: %s;", c.Keys, c.Params)
	}
	return b.String()
}
