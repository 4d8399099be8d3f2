package wire

import "errors"

// The reasons why a worker's session ends, besides other errors: the coordinator has
// dropped it, the connection is lost, all studies have ended, or the worker leaves.
var (
	ErrAgain   = errors.New("the coordinator has dropped this worker")
	ErrNoLink  = errors.New("connection lost")
	ErrOver    = errors.New("all studies have ended")
	ErrLeaving = errors.New("this worker was asked to leave")
)

// RefusedError is returned when a coordinator refuses a worker. Why is the reason.
type RefusedError struct{ Why string }

// Error implements the error interface.
func (e *RefusedError) Error() string { return "the coordinator refused this worker: " + e.Why }
