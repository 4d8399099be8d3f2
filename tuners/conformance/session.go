package conformance

import (
	"context"
	"fmt"
	"time"

	"github.com/fedfast/fedfast/tuners"
)

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
