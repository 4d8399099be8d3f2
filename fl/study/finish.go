package study

import (
	"context"
	"encoding/json"

	"github.com/fedfast/fedfast/fl/study/store"
	"github.com/fedfast/fedfast/tuners"
)

// The modes of a study.
const (
	modeTune = "tune"
	modeRun  = "run"
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
	// Tune or Run is the end of a finished study, without its weights.
	Tune *Result
	Run  *RunResult
}

// Finished says whether the study has ended.
func (s *Stored) Finished() bool { return s.Tune != nil || s.Run != nil }

// Read returns what a store holds of a study.
func Read(ctx context.Context, s *store.Store) (*Stored, error) {
	out := &Stored{}
	err := s.Each(ctx, func(r store.Row) error {
		if r.Kind == kindStudy {
			rec, err := decode[studyRecord](r.Kind, r.Data)
			if err == nil {
				out.Config, out.Mode = rec.Config, rec.Mode
			}
			return err
		}
		var rec resultRecord
		err := json.Unmarshal(r.Data, &rec)
		out.Tune, out.Run = rec.Tune, rec.Run
		return err
	}, kindStudy, kindResult)
	return out, err
}
