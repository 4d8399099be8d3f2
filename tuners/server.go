package tuners

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"sync"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	tunerv1 "github.com/fedfast/fedfast/tuners/internal/proto"
)

// server serves tuners to a host: the far end of Remote.
type server struct {
	tunerv1.UnimplementedTunerServer
	tuners map[string]Tuner

	mu       sync.Mutex
	sessions map[string]*served
	opened   int
}

// served is one open session.
type served struct {
	mu      sync.Mutex
	session Session
	seq     uint64 // of the last mutating call
	lost    bool   // a call failed: its state is unknown
}

// tuner finds a tuner by name; a process that serves only one answers to any name.
func (s *server) tuner(name string) (Tuner, error) {
	if t, ok := s.tuners[name]; ok {
		return t, nil
	}
	if len(s.tuners) == 1 {
		for _, t := range s.tuners { // the only one
			return t, nil
		}
	}
	return nil, status.Errorf(codes.NotFound, "unknown tuner %q; served: %s", name, strings.Join(slices.Sorted(maps.Keys(s.tuners)), ", "))
}

// answer turns an author's error into a status that says that the tuner itself
// answered.
func answer(err error) error {
	if errors.Is(err, ErrUnsupported) {
		return status.Error(codes.Unimplemented, err.Error())
	}
	return status.Error(codes.Unknown, err.Error())
}

func (s *server) Describe(ctx context.Context, r *tunerv1.DescribeRequest) (*tunerv1.DescribeReply, error) {
	t, err := s.tuner(r.GetTuner())
	if err != nil {
		return nil, err
	}
	d, err := t.Describe(ctx)
	if err != nil {
		return nil, answer(err)
	}
	return carried[*tunerv1.DescribeReply](d), nil
}

func (s *server) Validate(ctx context.Context, r *tunerv1.ValidateRequest) (*tunerv1.ValidateReply, error) {
	t, err := s.tuner(r.GetTuner())
	if err != nil {
		return nil, err
	}
	req := carried[ValidateRequest](r)
	if err := req.Space.Check(); err != nil {
		return nil, status.Error(codes.InvalidArgument, err.Error())
	}
	problems, err := t.Validate(ctx, req)
	if err != nil {
		return nil, answer(err)
	}
	w := &tunerv1.ValidateReply{}
	if len(problems) == 0 {
		work, err := WorkOf(ctx, t, req)
		if err != nil {
			return nil, answer(err)
		}
		work.Trials = min(work.Trials, math.MaxInt32)
		w.Work = carried[*tunerv1.ValidateReply_Work](work)
	}
	w.Problems = carried[[]*tunerv1.ValidateReply_Problem](problems)
	return w, nil
}

func (s *server) Open(ctx context.Context, r *tunerv1.OpenRequest) (*tunerv1.OpenReply, error) {
	t, err := s.tuner(r.GetTuner())
	if err != nil {
		return nil, err
	}
	req := carried[OpenRequest](r)
	if req.State = nil; r.GetResume() {
		req.State = append([]byte{}, r.GetState()...)
	}
	if err := req.Space.Check(); err != nil {
		return nil, status.Error(codes.InvalidArgument, err.Error())
	}
	session, err := t.Open(ctx, req)
	if err != nil {
		return nil, answer(err)
	}
	state, err := stateOf(session)
	if err != nil {
		return nil, err
	}
	var probes []string
	if p, ok := session.(Prober); ok {
		probes = p.Probes()
	} else {
		d, err := t.Describe(ctx)
		if err != nil {
			return nil, answer(err)
		}
		probes = d.Probes
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.opened++
	id := strconv.Itoa(s.opened)
	s.sessions[id] = &served{session: session, seq: r.GetSeq()}
	return &tunerv1.OpenReply{Session: id, State: state, Probes: probes}, nil
}

// stateOf reads a session's state and checks its size.
func stateOf(s Session) ([]byte, error) {
	state := s.State()
	if len(state) > MaxState {
		return nil, status.Errorf(codes.OutOfRange, "session state has %d bytes; at most %d are allowed", len(state), MaxState)
	}
	return state, nil
}

// mutate runs one call that changes a session, checking its sequence number, and
// returns the state after it.
func (s *server) mutate(id string, seq uint64, call func(Session) error) (state []byte, err error) {
	v, err := s.find(id)
	if err != nil {
		return nil, err
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.lost || seq != v.seq+1 {
		return nil, status.Errorf(codes.FailedPrecondition, "session %s expects call %d, not %d (lost: %t)", id, v.seq+1, seq, v.lost)
	}
	if err := call(v.session); err != nil {
		v.lost = true
		return nil, answer(err)
	}
	v.seq = seq
	return stateOf(v.session)
}

// find returns an open session.
func (s *server) find(id string) (*served, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	v, ok := s.sessions[id]
	if !ok {
		return nil, status.Errorf(codes.NotFound, "unknown session %q", id)
	}
	return v, nil
}

func (s *server) Suggest(ctx context.Context, r *tunerv1.SuggestRequest) (*tunerv1.SuggestReply, error) {
	w := &tunerv1.SuggestReply{}
	state, err := s.mutate(r.GetSession(), r.GetSeq(), func(session Session) error {
		decisions, err := session.Suggest(ctx, int(r.GetN()))
		w.Decisions = carried[[]*tunerv1.Decision](decisions)
		return err
	})
	w.State = state
	return w, err
}

func (s *server) Report(ctx context.Context, r *tunerv1.ReportRequest) (*tunerv1.ReportReply, error) {
	state, err := s.mutate(r.GetSession(), r.GetSeq(), func(session Session) error {
		return session.Report(ctx, carried[TrialReport](r))
	})
	return &tunerv1.ReportReply{State: state}, err
}

func (s *server) PlanRound(ctx context.Context, r *tunerv1.PlanRoundRequest) (*tunerv1.PlanRoundReply, error) {
	req := carried[PlanRequest](r)
	if req.Purpose == Test {
		return s.planTest(ctx, r, req)
	}
	var plan Plan
	state, err := s.mutate(r.GetSession(), r.GetSeq(), func(session Session) (err error) {
		plan, err = session.PlanRound(ctx, req)
		return err
	})
	if err != nil {
		return nil, err
	}
	w := carried[*tunerv1.PlanRoundReply](plan)
	w.State = state
	return w, nil
}

// planTest answers a plan that changes nothing; an error leaves the session as it
// is.
func (s *server) planTest(ctx context.Context, r *tunerv1.PlanRoundRequest, req PlanRequest) (*tunerv1.PlanRoundReply, error) {
	v, err := s.find(r.GetSession())
	if err != nil {
		return nil, err
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.lost || r.GetSeq() != v.seq {
		return nil, status.Errorf(codes.FailedPrecondition, "session %s is at call %d, not %d (lost: %t)", r.GetSession(), v.seq, r.GetSeq(), v.lost)
	}
	plan, err := v.session.PlanRound(ctx, req)
	if err != nil {
		return nil, answer(err)
	}
	w := carried[*tunerv1.PlanRoundReply](plan)
	if w.State, err = stateOf(v.session); err != nil {
		return nil, err
	}
	return w, nil
}

func (s *server) ObserveRound(ctx context.Context, r *tunerv1.ObserveRoundRequest) (*tunerv1.ObserveRoundReply, error) {
	state, err := s.mutate(r.GetSession(), r.GetSeq(), func(session Session) error {
		return session.ObserveRound(ctx, carried[Observation](r))
	})
	return &tunerv1.ObserveRoundReply{State: state}, err
}

func (s *server) Close(ctx context.Context, r *tunerv1.CloseRequest) (*tunerv1.CloseReply, error) {
	v, err := s.find(r.GetSession())
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	delete(s.sessions, r.GetSession())
	s.mu.Unlock()
	v.mu.Lock()
	defer v.mu.Unlock()
	if err := v.session.Close(ctx); err != nil {
		return nil, answer(fmt.Errorf("close: %w", err))
	}
	return &tunerv1.CloseReply{}, nil
}
