package cluster

import "errors"

// Rounds decides whether workers share the rounds of a trial, each training a part. It
// only affects time: a round has the same bits either way.
type Rounds string

// The values of Rounds.
const (
	// RoundsAuto shares rounds where measured times show that it pays: workers are
	// idle, and a round on one worker takes longer than its parts and the transfer of
	// the weights.
	RoundsAuto Rounds = "auto"
	// RoundsAlways shares all rounds.
	RoundsAlways Rounds = "always"
	// RoundsNever shares no rounds.
	RoundsNever Rounds = "never"
)

// Set implements the Value interface of flags.
func (r *Rounds) Set(text string) error {
	switch Rounds(text) {
	case RoundsAuto, RoundsAlways, RoundsNever:
		*r = Rounds(text)
		return nil
	}
	return errors.New("must be auto, always or never")
}

// String returns the value as Set accepts it.
func (r *Rounds) String() string { return string(*r) }

// Type returns the placeholder in a flag's help text.
func (r *Rounds) Type() string { return "auto|always|never" }
