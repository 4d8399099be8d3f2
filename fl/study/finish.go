package study

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/fedfast/fedfast/fl/study/config"
	"github.com/fedfast/fedfast/fl/study/store"
	"github.com/fedfast/fedfast/tuners"
)

// resultRecord is the end of a study as it is stored: one of both.
type resultRecord struct {
	Tune *Result    `json:"tune,omitempty"`
	Run  *RunResult `json:"run,omitempty"`
}

// finish records the end of the study.
func (d *driver) finish(r resultRecord) error {
	errs := r.errors()
	if e := errs[0].Evaluation; e != nil && len(e.Clients) > 0 {
		if err := d.history.append(KindClients, tuners.StudySession, 0, clientsRecordOf(e.Clients)); err != nil {
			return err
		}
	}
	for _, e := range errs {
		if e.Evaluation != nil {
			e.Evaluation.Clients = nil // as in a result that is read again
		}
	}
	if err := d.history.append(KindResult, tuners.StudySession, 0, r); err != nil {
		return err
	}
	return d.history.flush()
}

// errors are those of all models, the returned one first.
func (r *resultRecord) errors() (all []*Errors) {
	if r.Run != nil {
		return []*Errors{&r.Run.Errors}
	}
	all = append(all, &r.Tune.Errors)
	for _, m := range r.Tune.models() {
		all = append(all, &m.Errors)
	}
	return all
}

// stored returns the recorded end of a study with the weights of its models, to
// which the record has led the driver.
func (d *driver) stored(ctx context.Context) (*Result, error) {
	rec, err := decode[resultRecord](KindResult, d.history.result)
	if err != nil {
		return nil, err
	}
	r := rec.Tune
	for _, f := range r.Finalists {
		d.setup.Observer.Event(f.event())
	}
	for _, m := range r.models() {
		c, err := d.candidateOf(m)
		if err == nil {
			err = d.fill(ctx, &c)
		}
		if err != nil {
			return nil, err
		}
		m.weights = c.weights
	}
	return r, nil
}

// candidateOf finds a model of a result again.
func (d *driver) candidateOf(m *Chosen) (candidate, error) {
	for _, c := range d.best {
		if c.trial.number == m.Number && c.round == m.Round {
			return c, nil
		}
	}
	if m.Number < 0 || m.Number >= len(d.trials) {
		return candidate{}, fmt.Errorf("trial %d: returned by the record, which has only %d trials", m.Number, len(d.trials))
	}
	t := d.trials[m.Number]
	if t.rounds != m.Round {
		return candidate{}, fmt.Errorf("trial %d: the record returns it after round %d but ends it after round %d; it was written by another version of fedfast", m.Number, m.Round, t.rounds)
	}
	return d.lastOf(t), nil
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
	r := studyRecord{Mode: s.Mode, Config: s.Config}
	return r.match(dir, c, mode)
}

// Read returns what a store holds of a study.
func Read(ctx context.Context, s store.Reader) (*Stored, error) {
	out := &Stored{}
	err := s.Each(ctx, func(r store.Row) error {
		switch r.Kind {
		case KindStudy:
			rec, err := decode[studyRecord](r.Kind, r.Data)
			if err == nil {
				out.Config, out.Mode = rec.Config, rec.Mode
			}
			return err
		case KindMoved:
			rec, err := decode[movedRecord](r.Kind, r.Data)
			if err == nil {
				out.Config = rec.Config
			}
			return err
		case KindSession:
			if out.Environment == nil {
				out.Environment = r.Data
			}
			return nil
		case KindBaseline:
			rec, err := decode[baselineRecord](r.Kind, r.Data)
			if err != nil {
				return err
			}
			c := rec.comparison()
			if out.Baseline != nil {
				c.Done = out.Baseline.Done
			}
			out.Baseline = c
			return nil
		case KindConfiguration:
			rec, err := decode[BaselineTrial](r.Kind, r.Data)
			if err == nil && out.Baseline != nil {
				out.Baseline.add(*rec)
			}
			return err
		}
		rec, err := decode[resultRecord](r.Kind, r.Data)
		if err == nil {
			out.Tune, out.Run = rec.Tune, rec.Run
		}
		return err
	}, KindStudy, KindMoved, KindSession, KindResult, KindBaseline, KindConfiguration)
	if out.Tune != nil && out.Baseline != nil && out.Baseline.Complete() {
		out.Tune.Baseline = out.Baseline.result(out.Tune)
	}
	return out, err
}

// match returns an error when a study is not the recorded one.
func (r *studyRecord) match(dir string, c *config.Config, mode string) error {
	if r.Mode != mode {
		return fmt.Errorf("%s contains a study of `fedfast %s`; this is `fedfast %s`: choose another directory, or resume it with `fedfast study resume %s`", dir, r.Mode, mode, dir)
	}
	return config.Match(dir, r.Config, c)
}
