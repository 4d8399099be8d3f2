// Package rules describes which answers of a tuner a study can follow: decisions about
// trials, plans of rounds and descriptions. It is the one place that does, so that
// a wrong answer is refused with the same words by a study, by a check of the
// tuner, and in its tests.
package rules

import (
	"errors"
	"fmt"
	"strings"

	"github.com/fedfast/fedfast/tuners"
)

// ErrBadAnswer is wrapped by the errors about decisions and plans that no study can
// follow: an unknown trial, params outside of the space or not finite, a probe that
// does not exist.
var ErrBadAnswer = errors.New("bad answer")

// Named puts a tuner's name before an error of it, unless it has one already.
func Named(tuner string, err error) error {
	if errors.Is(err, ErrBadAnswer) || strings.HasPrefix(err.Error(), fmt.Sprintf("tuner %q: ", tuner)) {
		return err
	}
	return fmt.Errorf("tuner %s: %w", tuner, err)
}

// maxWords is how many characters of a tuner's own words an error quotes.
const maxWords = 300

// bad builds the error of an answer.
func bad(tuner, call, format string, args ...any) error {
	return fmt.Errorf("tuner %q: %w to %s: %s", tuner, ErrBadAnswer, call, tuners.Plain(fmt.Sprintf(format, args...), maxWords))
}
