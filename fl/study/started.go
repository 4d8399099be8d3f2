package study

import (
	"context"
	"maps"

	"github.com/fedfast/fedfast/tuners"
)

// started is a tuner that draws its trials, the first of which has given values.
type started struct {
	tuners.Tuner
	start tuners.Params
}

// Open starts or continues a session.
func (s started) Open(ctx context.Context, req tuners.OpenRequest) (tuners.Session, error) {
	session, err := s.Tuner.Open(ctx, req)
	return &startedSession{session, s.start}, err
}

// startedSession is a session of a started tuner.
type startedSession struct {
	tuners.Session
	start tuners.Params
}

// Suggest asks the tuner.
func (s *startedSession) Suggest(ctx context.Context, n int) ([]tuners.Decision, error) {
	decisions, err := s.Session.Suggest(ctx, n)
	for i := range decisions {
		if d := &decisions[i]; d.Kind == tuners.Start && d.Trial == 0 {
			d.Params = maps.Clone(d.Params)
			maps.Copy(d.Params, s.start)
		}
	}
	return decisions, err
}
