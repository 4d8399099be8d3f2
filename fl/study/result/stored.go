package result

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/fedfast/fedfast/fl/study/config"
	"github.com/fedfast/fedfast/fl/study/internal/record"
	"github.com/fedfast/fedfast/internal/store"
)

// End is the end of a study as it is recorded: one of both.
type End struct {
	Tune *Result    `json:"tune,omitempty"`
	Run  *RunResult `json:"run,omitempty"`
}

// Stored is what a directory holds of a study.
type Stored struct {
	// Config is the study file of the study, empty when nothing is recorded.
	Config string
	// Mode is "tune" or "run".
	Mode string
	// Environment is the Setup.Environment of the process that began the study.
	Environment json.RawMessage
	// Tune or Run is the end of a finished study, without its weights.
	Tune *Result
	Run  *RunResult
	// Baseline is the comparison with random search that was begun last, nil for none.
	Baseline *Comparison
}

// Finished reports whether the study has ended.
func (s *Stored) Finished() bool { return s.Tune != nil || s.Run != nil }

// Match returns an error when the directory holds the study of another
// configuration (a *config.DiffError) or of another command than mode.
func (s *Stored) Match(dir string, c *config.Config, mode string) error {
	if s.Config == "" {
		return nil
	}
	r := record.Study{Mode: s.Mode, Config: s.Config}
	return r.Match(dir, c, mode)
}

// Read returns what a store holds of a study.
func Read(ctx context.Context, s store.Reader) (*Stored, error) {
	out := &Stored{}
	err := s.Each(ctx, func(r store.Row) error {
		switch r.Kind {
		case store.KindStudy:
			return record.Into(r, func(rec *record.Study) { out.Config, out.Mode = rec.Config, rec.Mode })
		case store.KindMoved:
			return record.Into(r, func(rec *record.Moved) { out.Config = rec.Config })
		case store.KindSession:
			if out.Environment == nil {
				out.Environment = r.Data
			}
			return nil
		case store.KindBaseline:
			return record.Into(r, func(rec *record.Baseline) {
				c := &Comparison{Configurations: rec.Configurations, Rounds: rec.Rounds, Target: rec.Target, Maximize: rec.Maximize}
				if out.Baseline != nil {
					c.Done = out.Baseline.Done
				}
				out.Baseline = c
			})
		case store.KindConfiguration:
			return record.Into(r, func(rec *BaselineTrial) {
				if out.Baseline != nil {
					out.Baseline.Add(*rec)
				}
			})
		}
		return record.Into(r, func(rec *End) { out.Tune, out.Run = rec.Tune, rec.Run })
	}, store.KindStudy, store.KindMoved, store.KindSession, store.KindResult, store.KindBaseline, store.KindConfiguration)
	if err == nil && out.Config != "" {
		err = out.check()
	}
	if err != nil {
		return nil, err
	}
	if out.Tune != nil && out.Baseline != nil && out.Baseline.Complete() {
		out.Tune.Baseline = out.Baseline.Result(out.Tune)
	}
	return out, nil
}

// check returns an error if the parts of a record do not fit together, as no study writes them.
func (s *Stored) check() error {
	switch {
	case s.Mode != config.ModeTune && s.Mode != config.ModeRun:
		return fmt.Errorf("the record is damaged: its command is %q, must be tune or run", s.Mode)
	case s.Tune != nil && s.Mode != config.ModeTune, s.Run != nil && s.Mode != config.ModeRun:
		return fmt.Errorf("the record is damaged: it has the result of another command than %s", s.Mode)
	case s.Baseline != nil && s.Baseline.Configurations < 1:
		return errors.New("the record is damaged: it has a comparison with no configurations")
	}
	return nil
}
