package options

import (
	"context"

	"github.com/fedfast/fedfast/internal/tuner/internal/batch"
	"github.com/fedfast/fedfast/tuners"
)

// Tuner is a built-in tuner: what it is, how it reads its options into a P, and how its
// sessions start.
type Tuner[P any] struct {
	About tuners.Description
	// Plan reads the options, and checks what else of a request matters.
	Plan func(*Reader, tuners.ValidateRequest) P
	// Study starts or continues a study's session; nil: one trial, drawn from the space.
	Study func(tuners.OpenRequest, P) (tuners.Session, error)
	// Trial starts or continues the sessions of a client tuner; nil for others.
	Trial func(tuners.OpenRequest, P) (tuners.Session, error)
}

// Describe says what the tuner is.
func (t Tuner[P]) Describe(context.Context) (tuners.Description, error) { return t.About, nil }

// Validate returns what is wrong with the options, the space, the budget and the objective.
func (t Tuner[P]) Validate(_ context.Context, req tuners.ValidateRequest) ([]tuners.Problem, error) {
	_, problems := t.Read(req)
	return problems, nil
}

// Read returns what the options come to, and what is wrong.
func (t Tuner[P]) Read(req tuners.ValidateRequest) (P, []tuners.Problem) {
	r := Read(t.About, req.Options)
	p := t.Plan(r, req)
	return p, r.Problems
}

// Open starts or continues the session of a study or, for a client tuner, of one trial.
func (t Tuner[P]) Open(_ context.Context, req tuners.OpenRequest) (tuners.Session, error) {
	p, problems := t.Read(tuners.ValidateRequest{Space: req.Space, Options: req.Options, Budget: req.Budget, Objective: req.Objective})
	open := First
	if t.Trial == nil {
		open = func(name string, problems []tuners.Problem) error { return Open(name, req.Trial, problems) }
	}
	switch err := open(t.About.Name, problems); {
	case err != nil:
		return nil, err
	case req.Trial != tuners.StudySession:
		return t.Trial(req, p)
	case t.Study == nil:
		return batch.Lone(t.About.Name, req)
	}
	return t.Study(req, p)
}
