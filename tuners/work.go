package tuners

import "context"

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
