package study

import (
	"context"
	"fmt"

	"github.com/fedfast/fedfast/fl"
)

// Trace trains a trial of the finished study in s.Store again up to a round, counted from 1, and tells how a
// client trains in it. What differs from the record, also from the client's digests, is a *DifferError. For
// a study of Tune the set-up has the same tuners.
func Trace(ctx context.Context, s Setup, number, round int, trace *fl.Trace) error {
	if err := CheckData(ctx, s); err != nil {
		return err
	}
	d, _, err := s.led(ctx)
	if err != nil {
		return err
	}
	defer d.close()
	if number < 0 || number >= len(d.trials) {
		return fmt.Errorf("there is no trial %d, but 0 to %d", number, len(d.trials)-1)
	}
	return d.trials[number].Replay(ctx, round, trace)
}
