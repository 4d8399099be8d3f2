package conformance

import (
	"context"
	"strconv"

	"github.com/fedfast/fedfast/tuners"
)

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
