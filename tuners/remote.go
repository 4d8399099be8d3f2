package tuners

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"unicode"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	tunerv1 "github.com/fedfast/fedfast/tuners/internal/proto"
)

// Remote is a tuner at the other end of a connection. It does not supervise:
// package host wraps it to restart what crashes.
type Remote struct {
	rpc  tunerv1.TunerClient
	name string
}

var _ Tuner = (*Remote)(nil)

// NewRemote returns the tuner of that name which the other end serves.
func NewRemote(conn grpc.ClientConnInterface, name string) *Remote {
	return &Remote{rpc: tunerv1.NewTunerClient(conn), name: name}
}

// ErrTooLarge is wrapped by the error about an answer or a state that is larger
// than the protocol allows.
var ErrTooLarge = errors.New("too large")

// LostError means that the process at the other end did not answer as the protocol
// asks: it died, hangs, or sent what is no message.
type LostError struct{ Err error }

// Error says what happened.
func (e *LostError) Error() string { return Plain(status.Convert(e.Err).Message(), maxSaid) }

// Unwrap returns the transport's error.
func (e *LostError) Unwrap() error { return e.Err }

// received sorts an error of a call: the tuner's own answer, or a lost process.
func received(err error) error {
	if err == nil {
		return nil
	}
	s := status.Convert(err)
	if s.Code() == codes.ResourceExhausted && strings.Contains(s.Message(), "larger than max") { // our own limit, see package host
		return fmt.Errorf("response is %w: a state has at most %d bytes (%s)", ErrTooLarge, MaxState, s.Message())
	}
	switch s.Code() {
	case codes.Unavailable, codes.Internal, codes.DeadlineExceeded, codes.Canceled, codes.ResourceExhausted, codes.FailedPrecondition, codes.DataLoss:
		return &LostError{Err: err}
	case codes.Unimplemented:
		return fmt.Errorf("%w: %s", ErrUnsupported, Plain(s.Message(), maxSaid))
	default:
		return errors.New(Plain(s.Message(), maxSaid))
	}
}

// Describe asks what the tuner is.
func (r *Remote) Describe(ctx context.Context) (Description, error) {
	w, err := r.rpc.Describe(ctx, &tunerv1.DescribeRequest{Tuner: r.name})
	if err != nil {
		return Description{}, received(err)
	}
	d := carried[Description](w)
	for _, dim := range d.Adds {
		if err := dim.Check(); err != nil {
			return Description{}, errors.New(Plain("added dimension: "+err.Error(), maxSaid))
		}
	}
	return d, nil
}

// Validate asks what is wrong with a set-up.
func (r *Remote) Validate(ctx context.Context, req ValidateRequest) ([]Problem, error) {
	w, err := r.validate(ctx, req)
	if err != nil {
		return nil, err
	}
	var problems []Problem
	for _, p := range w.GetProblems() {
		problems = append(problems, Problem{Key: Plain(p.GetKey(), maxSaid), Message: Plain(p.GetMessage(), maxSaid)})
	}
	return problems, nil
}

// validate calls Validate.
func (r *Remote) validate(ctx context.Context, req ValidateRequest) (*tunerv1.ValidateReply, error) {
	ask := carried[*tunerv1.ValidateRequest](req)
	ask.Tuner = r.name
	w, err := r.rpc.Validate(ctx, ask)
	return w, received(err)
}

// Work asks what the tuner trains in addition to the budget's rounds.
func (r *Remote) Work(ctx context.Context, req ValidateRequest) (Work, error) {
	w, err := r.validate(ctx, req)
	if err != nil {
		return Work{}, err
	}
	return workFromWire(w.GetWork()), nil
}

// Open opens a session.
func (r *Remote) Open(ctx context.Context, req OpenRequest) (Session, error) {
	return r.OpenAt(ctx, req, 0)
}

// OpenAt opens a session from req.State, the state after seq mutating calls.
func (r *Remote) OpenAt(ctx context.Context, req OpenRequest, seq uint64) (*RemoteSession, error) {
	ask := carried[*tunerv1.OpenRequest](req)
	ask.Tuner, ask.Resume, ask.Seq = r.name, req.State != nil, seq
	w, err := r.rpc.Open(ctx, ask)
	if err != nil {
		return nil, received(err)
	}
	s := &RemoteSession{rpc: r.rpc, id: w.GetSession(), seq: seq, probes: w.GetProbes()}
	return s, s.keep(w.GetState())
}

// RemoteSession is a session at the other end of a connection.
type RemoteSession struct {
	rpc    tunerv1.TunerClient
	id     string
	seq    uint64
	state  []byte
	probes []string
}

var (
	_ Session = (*RemoteSession)(nil)
	_ Prober  = (*RemoteSession)(nil)
)

// Seq returns the number of mutating calls that were answered.
func (s *RemoteSession) Seq() uint64 { return s.seq }

// State returns the state after the last mutating call.
func (s *RemoteSession) State() []byte { return s.state }

// Probes returns the probes that the session uses.
func (s *RemoteSession) Probes() []string { return s.probes }

// keep records a state that came with an answer.
func (s *RemoteSession) keep(state []byte) error {
	if len(state) > MaxState {
		return fmt.Errorf("state is %w: %d bytes; at most %d are allowed", ErrTooLarge, len(state), MaxState)
	}
	s.state = append([]byte{}, state...)
	return nil
}

// answered records the reply to a mutating call.
func (s *RemoteSession) answered(state []byte) error {
	s.seq++
	return s.keep(state)
}

// Suggest asks what to do next.
func (s *RemoteSession) Suggest(ctx context.Context, n int) ([]Decision, error) {
	w, err := s.rpc.Suggest(ctx, &tunerv1.SuggestRequest{Session: s.id, Seq: s.seq + 1, N: int64(n)})
	if err != nil {
		return nil, received(err)
	}
	return carried[[]Decision](w.GetDecisions()), s.answered(w.GetState())
}

// Report tells a score.
func (s *RemoteSession) Report(ctx context.Context, r TrialReport) error {
	ask := carried[*tunerv1.ReportRequest](r)
	ask.Session, ask.Seq = s.id, s.seq+1
	w, err := s.rpc.Report(ctx, ask)
	if err != nil {
		return received(err)
	}
	return s.answered(w.GetState())
}

// PlanRound asks for the params of a round.
func (s *RemoteSession) PlanRound(ctx context.Context, r PlanRequest) (Plan, error) {
	ask := carried[*tunerv1.PlanRoundRequest](r)
	if ask.Session, ask.Seq = s.id, s.seq+1; r.Purpose == Test {
		ask.Seq = s.seq
	}
	w, err := s.rpc.PlanRound(ctx, ask)
	if err != nil {
		return Plan{}, received(err)
	}
	if r.Purpose == Test {
		return carried[Plan](w), nil
	}
	return carried[Plan](w), s.answered(w.GetState())
}

// ObserveRound tells how a round went.
func (s *RemoteSession) ObserveRound(ctx context.Context, o Observation) error {
	ask := carried[*tunerv1.ObserveRoundRequest](o)
	ask.Session, ask.Seq = s.id, s.seq+1
	w, err := s.rpc.ObserveRound(ctx, ask)
	if err != nil {
		return received(err)
	}
	return s.answered(w.GetState())
}

// Close ends the session.
func (s *RemoteSession) Close(ctx context.Context) error {
	_, err := s.rpc.Close(ctx, &tunerv1.CloseRequest{Session: s.id})
	return received(err)
}

// Work is what a tuner trains beside the rounds of the budget, and with what, for
// estimates of time: nothing of it reaches a result.
type Work struct {
	// Trials run on proxy federations before the first trial: the most that there
	// can be, or a fair guess. Each has Rounds rounds, in which Clients clients
	// train on Examples training examples each, in the mean.
	Trials, Rounds, Clients int
	Examples                float64
	// Points are what clients may train with, one as likely as the other; nil is as
	// the search space and the study say.
	Points []Params
}

// Estimator is a Tuner that tells what it trains in addition to the budget's rounds. One
// that does not implement it trains nothing. Tuners that the host hands out are
// Estimators.
type Estimator interface {
	// Work returns what a study of this set-up, in which Validate found no problem,
	// trains.
	Work(ctx context.Context, req ValidateRequest) (Work, error)
}

// WorkOf returns the work of a tuner, nothing for one that is no Estimator, or nil.
func WorkOf(ctx context.Context, t Tuner, req ValidateRequest) (Work, error) {
	if e, ok := t.(Estimator); ok {
		return e.Work(ctx, req)
	}
	return Work{}, nil
}

// maxSaid is how many characters of what a tuner said an error quotes.
const maxSaid = 500

// Plain returns foreign text as a part of one line: white space becomes single
// blanks, what cannot be printed (such as the codes that move a terminal's cursor)
// is written as in Go, and what is behind the given number of characters is cut
// off.
func Plain(text string, most int) string {
	cut := false
	if limit := 8 * most; len(text) > limit { // more than those characters take, whatever they are
		text, cut = text[:limit], true
	}
	var b strings.Builder
	n, blank := 0, false
	for _, r := range text {
		if unicode.IsSpace(r) {
			blank = true
			continue
		}
		if n++; n > most {
			cut = true
			break
		}
		if blank && b.Len() > 0 {
			b.WriteByte(' ')
		}
		blank = false
		if unicode.IsPrint(r) {
			b.WriteRune(r)
		} else {
			b.WriteString(strings.Trim(strconv.QuoteRune(r), "'"))
		}
	}
	if cut {
		b.WriteString("...")
	}
	return b.String()
}
