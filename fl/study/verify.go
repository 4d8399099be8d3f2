package study

import (
	"context"
	"fmt"

	"github.com/fedfast/fedfast/fl"
	"github.com/fedfast/fedfast/fl/study/internal/record"
	"github.com/fedfast/fedfast/fl/study/internal/trial"
	"github.com/fedfast/fedfast/fl/study/result"
)

// DifferError is the error of a round that was trained again and is not the recorded one.
type DifferError = trial.DifferError

// What Verify takes for the number of a trial: that of the returned model, or all.
const (
	Winner = -1
	Every  = -2
)

// Verified is what was trained again, to the recorded bits.
type Verified struct {
	// Rounds were trained again, of All that the study recorded; in Trials trials.
	Rounds int `json:"rounds"`
	All    int `json:"recorded_rounds"`
	Trials int `json:"trials"`
	// Model says that the returned model, whose digest is SHA256, has been trained again.
	Model  bool   `json:"model"`
	SHA256 string `json:"weights_sha256"`
}

// Verify trains a trial of the finished study in s.Store again, its first rounds, or all if that is 0,
// with the recorded decisions of tuners, and compares what they measure, and the weights, with the
// record: a round that differs is a *DifferError. For a study of Tune the set-up has the same tuners.
func Verify(ctx context.Context, s Setup, number, rounds int) (*Verified, error) {
	d, rec, err := s.recorded(ctx)
	if err != nil {
		return nil, err
	}
	defer d.close()
	winner, last, out := 0, 0, &Verified{}
	if rec.Run != nil {
		out.SHA256, last = rec.Run.WeightsSHA256, rec.Run.Rounds
		if rec.Run.Returned > 0 {
			last = rec.Run.Returned
		}
	} else {
		out.SHA256, winner, last = rec.Tune.WeightsSHA256, rec.Tune.Best.Number, rec.Tune.Best.Round
	}
	if number == Winner {
		number = winner
	}
	for _, t := range d.trials {
		out.All += t.Rounds() - t.Base()
		if number != Every && number != t.Number {
			continue
		}
		to := t.Rounds()
		if out.Trials++; rounds > 0 {
			to = min(to, rounds)
		}
		err := t.Verify(ctx, to, func(tr *fl.Trial) error {
			out.Rounds++
			if t.Number != winner || tr.Rounds() != last {
				return nil
			}
			if now := s.Model.SHA256(tr.Weights()); now != out.SHA256 {
				return fmt.Errorf("the returned model, trial %d after round %d, has weights of SHA-256 %s, not %s",
					winner, last, now, out.SHA256)
			}
			out.Model = true
			return nil
		})
		if err != nil {
			return out, err
		}
	}
	if out.Trials == 0 {
		return nil, fmt.Errorf("there is no trial %d, but 0 to %d", number, len(d.trials)-1)
	}
	return out, nil
}

// recorded leads a driver to the end of the finished study in s.Store. The caller closes it.
func (s *Setup) recorded(ctx context.Context) (d *driver, rec *result.End, err error) {
	if err := CheckData(ctx, *s); err != nil {
		return nil, nil, err
	}
	s.sealed = true
	if s.Tuner == nil {
		d, _, err = s.ended(ctx)
	} else {
		d, _, err = follow(ctx, s)
	}
	if err != nil {
		return nil, nil, err
	}
	if rec, err = d.finished(); err != nil {
		d.close()
	}
	return d, rec, err
}

// missing is the error of a round that a finished study has not recorded.
func missing(t *trial.Trial, rounds int) (*record.Round, error) {
	return nil, fmt.Errorf("trial %d: round %d is missing in the record", t.Number, rounds+1)
}
