package study

import (
	"context"
	"encoding/json"

	"github.com/fedfast/fedfast/fl/study/store"
	"github.com/fedfast/fedfast/tuners"
)

// The modes of a study, the commands that begin it.
const (
	ModeTune = "tune"
	ModeRun  = "run"
)

// resultRecord is the end of a study as it is stored: one of both.
type resultRecord struct {
	Tune *Result    `json:"tune,omitempty"`
	Run  *RunResult `json:"run,omitempty"`
}

// finish records the end of the study.
func (d *driver) finish(r resultRecord) error {
	if err := d.history.append(kindResult, tuners.StudySession, 0, r); err != nil {
		return err
	}
	return d.history.flush()
}

// stored returns the recorded end of a study with the weights of the best model,
// to which the record has led the driver.
func (d *driver) stored(ctx context.Context) (*Result, error) {
	r, err := decode[resultRecord](kindResult, d.history.result)
	if err != nil {
		return nil, err
	}
	if err := d.load(ctx, &d.best); err != nil {
		return nil, err
	}
	r.Tune.weights = d.best.weights
	return r.Tune, nil
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
}

// Finished says whether the study has ended.
func (s *Stored) Finished() bool { return s.Tune != nil || s.Run != nil }

// Match returns an error when the directory holds the study of another
// configuration (a *ConfigError) or of another command than mode.
func (s *Stored) Match(dir string, c *Config, mode string) error {
	if s.Config == "" {
		return nil
	}
	r := studyRecord{Mode: s.Mode, Config: s.Config}
	return r.match(dir, c, mode)
}

// Read returns what a store holds of a study.
func Read(ctx context.Context, s store.Reader) (*Stored, error) {
	out := &Stored{}
	err := s.Each(ctx, func(r store.Row) error {
		switch r.Kind {
		case kindStudy:
			rec, err := decode[studyRecord](r.Kind, r.Data)
			if err == nil {
				out.Config, out.Mode = rec.Config, rec.Mode
			}
			return err
		case kindSession:
			if out.Environment == nil {
				out.Environment = r.Data
			}
			return nil
		}
		rec, err := decode[resultRecord](r.Kind, r.Data)
		if err == nil {
			out.Tune, out.Run = rec.Tune, rec.Run
		}
		return err
	}, kindStudy, kindSession, kindResult)
	return out, err
}
