package result

import "github.com/fedfast/fedfast/tuners"

// CurvePoint is what eval.every measured of a trial after a round: the global model, or
// the personalized ones.
type CurvePoint struct {
	// Round is how many rounds the trial had run, Examples how many training
	// samples its clients had processed in them.
	Round    int `json:"round"`
	Examples int `json:"examples"`
	// Clock is the simulated time in seconds, nil without a fleet.
	Clock *float64 `json:"clock,omitempty"`
	// TestError is the error on the clients' test samples.
	TestError float64 `json:"test_error"`
	// Epsilon is what the rounds have cost in privacy, of a run with dp.
	Epsilon *float64 `json:"epsilon,omitempty"`
	// ValError is that on their validation samples, measured for eval.patience.
	ValError *float64 `json:"val_error,omitempty"`
	// Unseen is the error on the test samples of clients that never train: the global
	// model's, or the adapted ones' where the curve belongs to models that clients train.
	Unseen *float64 `json:"unseen_test_error,omitempty"`
	// Masked are TestError without the labels of the federation's masks, by their
	// names; empty where it has none.
	Masked map[string]float64 `json:"masked_test_errors,omitempty"`
	// Params are what the client tuner had set for all clients of the round
	// alike; empty without one.
	Params tuners.Params `json:"params,omitempty"`
}

// Reached returns the first point of a curve at which the test accuracy is the
// goal or above; nil when there is none.
func Reached(curve []CurvePoint, goal float64) *CurvePoint {
	for i := range curve {
		if 1-curve[i].TestError >= goal {
			return &curve[i]
		}
	}
	return nil
}

// Stale returns the point of a curve with the lowest validation error, nil where none was
// measured, and whether as many measurements as patience have followed it: each without
// a lower one. A patience of 0 never ends.
func Stale(curve []CurvePoint, patience int) (best *CurvePoint, ended bool) {
	since := 0
	for i := range curve {
		p := &curve[i]
		if p.ValError == nil {
			continue
		}
		if since++; best == nil || *p.ValError < *best.ValError {
			best, since = p, 0
		}
	}
	return best, best != nil && patience > 0 && since >= patience
}

// Broke returns where a training broke down: the point of the best test accuracy, and
// the first one from which on it stays below half of that; nil when it did not. It is
// not for regressions, whose errors leave no accuracy.
func Broke(curve []CurvePoint) (best, from *CurvePoint) {
	for i := range curve {
		p := &curve[i]
		switch {
		case best == nil || 2*(1-p.TestError) >= 1-best.TestError:
			if from = nil; best == nil || p.TestError <= best.TestError {
				best = p
			}
		case from == nil:
			from = p
		}
	}
	if from == nil {
		return nil, nil
	}
	return best, from
}
