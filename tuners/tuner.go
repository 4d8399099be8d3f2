package tuners

import (
	"context"
	"errors"
)

// ErrUnsupported is returned by the calls that a tuner does not serve. See
// TrialsOnly and RoundsOnly.
var ErrUnsupported = errors.New("tuner does not support this call")

// MaxState is the largest state in bytes that a session may return.
const MaxState = 16 << 20

// Tuner is what an author implements and what the host hands out for a launched
// plugin. Calls may come from several goroutines.
type Tuner interface {
	// Describe says what the tuner is. It must not depend on anything but the
	// program.
	Describe(ctx context.Context) (Description, error)
	// Validate returns everything that is wrong with a request, each problem with
	// the key that it is about; none means usable. The error is for failures of the
	// tuner itself.
	Validate(ctx context.Context, req ValidateRequest) ([]Problem, error)
	// Open starts a session. Sessions share nothing.
	Open(ctx context.Context, req OpenRequest) (Session, error)
}

// ValidateRequest is a study's set-up before it starts.
type ValidateRequest struct {
	Space     Space // of the whole study, with the client tuner's Adds
	Options   Params
	Budget    Budget
	Objective Objective
	// Extra are further objectives, of equal rank, and Constraints bounds: only a tuner
	// with Description.Multi and Description.Constraints receives them.
	Extra       []Objective
	Constraints []Constraint
	// Private says that the study is differentially private: of what clients train by
	// themselves it tells votes, or means over clients alone, see Local.
	Private bool
}

// Problem is one thing that is wrong with a study's set-up.
type Problem struct {
	Key     string // the study key it is about, e.g. "budget.rounds"; an option is "options.NAME"
	Message string // one line: what is wrong and what would be right
}

// The OpenRequest.Trial of a session that is not about one trial.
const (
	StudySession   = -1 // it decides about trials
	PrepareSession = -2 // it prepares a client tuner, before the first trial: its last state opens every trial's session
)

// OpenRequest opens a session: one per study for a trial tuner (Trial =
// StudySession), one per trial for a client tuner, before those one (Trial =
// PrepareSession) for a client tuner that says so in its Description.
type OpenRequest struct {
	Study     string // the study's name, for logs
	Space     Space  // of the whole study, with the client tuner's Adds
	Options   Params // as the study file has them; absent ones take their defaults
	Budget    Budget
	Objective Objective
	Seed      uint64 // of the study; key every draw with it
	Trial     int    // StudySession, PrepareSession, or the trial's number
	Params    Params // the trial's params; nil for a study session
	State     []byte // nil, or a State of an earlier session with otherwise the same request: go on from there
	// Extra and Constraints are as in ValidateRequest. Priors are trials of finished
	// studies, of a tuner with Description.Priors.
	Extra       []Objective
	Constraints []Constraint
	Priors      []Prior
}

// Aims are the objectives and constraints of the study.
func (r *OpenRequest) Aims() Aims {
	return Aims{Objectives: append([]Objective{r.Objective}, r.Extra...), Constraints: r.Constraints}
}

// Session is one conversation about a study or about one trial. The host calls it
// from one goroutine at a time and never again after a call failed. A trial tuner's
// session embeds TrialsOnly, a client tuner's RoundsOnly.
type Session interface {
	// Suggest returns what to do next; n is the number of trials that the study
	// keeps in flight (tuner.parallel). It is called at the start and then, with n
	// = 1, when all trials that were sent on have reported, in the order of their
	// numbers. With n > 1 it is called after each report, of which the first comes
	// first in simulated time; see plugins/README.md.
	Suggest(ctx context.Context, n int) ([]Decision, error)
	// Report tells the score of a trial that reached the round a decision sent it
	// to, or that failed on the way.
	Report(ctx context.Context, r TrialReport) error
	// PlanRound sets the controlled params of one round.
	PlanRound(ctx context.Context, r PlanRequest) (Plan, error)
	// ObserveRound tells how the planned round went.
	ObserveRound(ctx context.Context, o Observation) error
	// State returns what Open needs to go on from here: the state after the last
	// call that changed anything, at most MaxState bytes. The caller must not
	// change it.
	State() []byte
	// Close ends the session.
	Close(ctx context.Context) error
}

// Prober is a Session that uses only some of its tuner's Description.Probes, for
// example because an option turns others off. Probes cost time, so the host
// computes those that the session names. Sessions that the host hands out are
// Probers.
type Prober interface {
	Probes() []string
}

// TrialsOnly gives a trial tuner's session the round calls, which fail with
// ErrUnsupported, and an empty Close.
type TrialsOnly struct{}

// PlanRound fails with ErrUnsupported.
func (TrialsOnly) PlanRound(context.Context, PlanRequest) (Plan, error) {
	return Plan{}, ErrUnsupported
}

// ObserveRound fails with ErrUnsupported.
func (TrialsOnly) ObserveRound(context.Context, Observation) error { return ErrUnsupported }

// Close does nothing.
func (TrialsOnly) Close(context.Context) error { return nil }

// RoundsOnly gives a client tuner's session the trial calls, which fail with
// ErrUnsupported, and an empty Close.
type RoundsOnly struct{}

// Suggest fails with ErrUnsupported.
func (RoundsOnly) Suggest(context.Context, int) ([]Decision, error) { return nil, ErrUnsupported }

// Report fails with ErrUnsupported.
func (RoundsOnly) Report(context.Context, TrialReport) error { return ErrUnsupported }

// Close does nothing.
func (RoundsOnly) Close(context.Context) error { return nil }
