// Package conformance checks tuners without any federated training: it plays whole
// studies with them against a made-up surface, kills and stops them on
// the way, and says in plain words what a study could not live with.
package conformance

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strconv"
	"time"

	"github.com/fedfast/fedfast/internal/play"
	"github.com/fedfast/fedfast/internal/rules"
	"github.com/fedfast/fedfast/tuners"
)

// Study is a study that a tuner plays against a surface.
type Study struct {
	Surface   Surface
	Options   tuners.Params // of the tuner
	Budget    tuners.Budget
	Objective tuners.Objective
	// Extra are further objectives and Constraints bounds; bytes_up, the one metric that
	// they may name beside the objective, is the sum of a point's numbers, each from 0 to 1.
	Extra       []tuners.Objective
	Constraints []tuners.Constraint
	Seed        uint64
	Parallel    int                    // trials in flight, as tuner.parallel; 0 is 1
	Fails       func(trial int) bool   // whether a trial fails instead of reporting a score; nil is never
	Before      func()                 // is called before every call of a session; may be nil
	Timed       func(time.Duration)    // receives how long every call of a session took; may be nil
	Reopen      bool                   // every session is opened anew from its state after each of its calls
	Limit       func(trials int) error // receives how many trials have reported and asked before every call of a session; an error ends the study; may be nil
	Clients     tuners.Tuner           // a client tuner under the tuner; nil for none
	Slots       int                    // clients in a cohort; 0 is 4
	// ClientOptions are the options of the client tuner.
	ClientOptions tuners.Params
	Probes        func(names ...string) error // returns an error for names that are no probes; nil takes all
	Tests         bool                        // ask for a plan of an evaluation after every second round

	prepared []byte // the state that opens the client tuner's sessions
}

// many reports whether trials are told apart by more than a score.
func (s *Study) many() bool { return len(s.Extra) > 0 || len(s.Constraints) > 0 }

// values are the values of a trial, nil with one objective.
func (s *Study) values(t *Trial) map[string]float64 {
	if !s.many() {
		return nil
	}
	sum := 0.0
	for _, x := range s.Surface.Space().Unit(t.Params) {
		sum += x
	}
	metric := s.Objective.Metric
	return map[string]float64{metric: t.Score, tuners.MetricBytesUp: sum}
}

// Trial is what became of one trial.
type Trial struct {
	Number int
	Params tuners.Params
	Rounds int
	Score  float64 // at its last report
	Failed bool
	Source int // the trial that it is a fork of, -1 for none

	reported bool
	client   *session
	working  []work // of a trial that is played asynchronously
}

// Outcome is a study that was played.
type Outcome struct {
	Trials []*Trial
	Best   int      // the tuner's choice, -1 when it named none
	Rounds int      // in all
	Said   []string // every decision and plan, in order
	State  int      // bytes of the largest state

	reported int // trials of which a score was told
}

// faults that a study finds by itself. The tuner's own errors and those of the
// host's checks are passed on as they are.
var (
	errEndless = errors.New("the study does not end")
	errBadEnd  = errors.New("the study ends with an error")
)

// base are the hyperparameters of a study where its space says nothing: client
// tuners begin with them.
var base = tuners.Params{
	"client.lr": tuners.Num(0.01), "client.momentum": tuners.Num(0.9), "client.weight_decay": tuners.Num(0), "client.epochs": tuners.Num(1),
	"client.batch": tuners.Num(16), "server.lr": tuners.Num(1), "server.momentum": tuners.Num(0),
}

// Play plays the study until the tuner says that it is done. The outcome holds what
// was said before an error, too.
func (s Study) Play(ctx context.Context, t tuners.Tuner) (*Outcome, error) {
	out := &Outcome{Best: -1}
	req := tuners.OpenRequest{
		Study: "check", Space: s.Surface.Space(), Options: s.Options, Budget: s.Budget, Objective: s.Objective, Seed: s.Seed, Trial: tuners.StudySession,
		Extra: s.Extra, Constraints: s.Constraints,
	}
	clients := t
	if s.Clients != nil {
		clients = s.Clients
	}
	d, err := clients.Describe(ctx)
	if err != nil {
		return out, err
	}
	if d.Rounds {
		if req.Space, err = joined(req.Space, d); err != nil {
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

// prepare runs the client tuner's own search before the first trial, when it has
// one, and returns the state that opens every trial's session. What it decides is
// said, but its trials do not count.
func (s *Study) prepare(ctx context.Context, req tuners.OpenRequest, out *Outcome) ([]byte, error) {
	d, err := s.Clients.Describe(ctx)
	if err != nil || !d.Prepare {
		return nil, err
	}
	apart := *s
	apart.Clients, apart.Limit, apart.Parallel, apart.Budget = nil, nil, 1, tuners.Budget{Rounds: math.MaxInt32}
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

// decide plays the study with the session to its end.
func (s *Study) decide(ctx context.Context, session *session) error {
	about, err := session.tuner.Describe(ctx)
	if err != nil {
		return err
	}
	req := session.req
	req.State = nil
	_, err = play.Study{
		Session: asked{session, new(int)}, Runner: &runner{study: s, in: session}, Book: rules.NewBook(about, req), Parallel: s.Parallel,
	}.Play(ctx)
	if err != nil {
		return err
	}
	return session.Close(ctx)
}

// asked is a session whose calls are the calls of a check, and which ends.
type asked struct {
	*session
	times *int
}

// Suggest asks what to do.
func (a asked) Suggest(ctx context.Context, n int) (decisions []tuners.Decision, err error) {
	if *a.times++; *a.times > maxAsked {
		return nil, fmt.Errorf("%w: %d calls", errEndless, *a.times)
	}
	err = a.call(ctx, func() (err error) {
		decisions, err = a.session.Suggest(ctx, n)
		return err
	})
	return decisions, err
}

// Report tells a score.
func (a asked) Report(ctx context.Context, r tuners.TrialReport) error {
	if err := a.call(ctx, func() error { return a.session.Report(ctx, r) }); err != nil {
		return fmt.Errorf("report of trial %d (failed: %t): %w", r.Trial, r.Failed, err)
	}
	return nil
}

// maxAsked is how often a tuner is asked what to do before it is taken to be
// endless.
const maxAsked = 200_000

// points is a trial tuner that is known to be right: points drawn from the space, each
// trained for as long as a trial may be. A client tuner is played under it.
type points struct{}

// Describe says what the tuner is.
func (points) Describe(context.Context) (tuners.Description, error) {
	return tuners.Description{Name: "points", Version: "1.0.0", Doc: "Points drawn from the space.", Trials: true}, nil
}

// Validate finds nothing wrong.
func (points) Validate(context.Context, tuners.ValidateRequest) ([]tuners.Problem, error) {
	return nil, nil
}

// Open starts a search or continues one.
func (points) Open(_ context.Context, req tuners.OpenRequest) (tuners.Session, error) {
	s := &pointsSession{req: req}
	var err error
	if req.State != nil {
		s.next, err = strconv.Atoi(string(req.State))
	}
	return s, err
}

type pointsSession struct {
	tuners.TrialsOnly
	req  tuners.OpenRequest
	next int
}

// Suggest starts the next point.
func (s *pointsSession) Suggest(context.Context, int) ([]tuners.Decision, error) {
	b := s.req.Budget
	if s.next == b.Rounds/b.TrialRounds {
		return []tuners.Decision{{Kind: tuners.Done, Best: -1}}, nil
	}
	d := tuners.Decision{
		Kind: tuners.Start, Trial: s.next, ToRound: b.TrialRounds, Params: s.req.Space.Sample(tuners.NewDraws(s.req.Seed, s.next, 0, "points")),
	}
	s.next++
	return []tuners.Decision{d}, nil
}

// Report needs nothing of a score.
func (s *pointsSession) Report(context.Context, tuners.TrialReport) error { return nil }

// State is the number of points so far.
func (s *pointsSession) State() []byte { return []byte(strconv.Itoa(s.next)) }

// session is a session that is opened again from its state when the study says so,
// and whose calls are counted and timed.
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
		return fmt.Errorf("reopened from its state: %w", err)
	}
	s.Session = raw
	return nil
}
