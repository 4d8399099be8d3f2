package study

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/fedfast/fedfast/data"
	"github.com/fedfast/fedfast/fl/study/config"
	"github.com/fedfast/fedfast/fl/study/store"
	"github.com/fedfast/fedfast/internal/finite"
	"github.com/fedfast/fedfast/nn"
	"github.com/fedfast/fedfast/tuners"
)

// history is what a store holds of a study when a process begins to work on it.
// Without a store it is empty, and what is recorded goes nowhere.
type history struct {
	store *store.Store // nil: nothing outlives the process
	upTo  int64        // the last row when the study was opened

	study     *studyRecord
	data      *dataRecord          // nil before the study's first process has opened its data
	calls     map[int][]callRecord // by session, in order
	trials    map[int]*pastTrial
	finalists map[place]*finalistRecord
	acts      map[int]actRecord // of a person, by trials that they ended
	halted    bool              // a person ended the study
	result    []byte            // nil while the study is not finished
	elapsed   time.Duration     // that earlier processes worked
}

// pastTrial is what is recorded of a trial, but for its rounds.
type pastTrial struct {
	opened   trialRecord
	rounds   int          // that the trial has run, 0 when none is recorded
	rungs    map[int]bool // recorded, by round
	fail     *failRecord
	failedAt int
	measured [][]tuners.Measured // sub-networks, by how often the tuner had them scored
}

// readHistory reads what a store holds; nil stands for no store.
func readHistory(ctx context.Context, s *store.Store) (*history, error) {
	h := &history{store: s, calls: map[int][]callRecord{}, trials: map[int]*pastTrial{}, finalists: map[place]*finalistRecord{}, acts: map[int]actRecord{}}
	if s == nil {
		return h, nil
	}
	h.upTo = s.Seq()
	var err error
	if h.elapsed, err = s.Elapsed(ctx, KindSession); err != nil {
		return nil, err
	}
	if err := s.Each(ctx, h.read, KindStudy, KindMoved, KindData, KindSuggest, KindReport, KindTrial, KindRung, KindFail, KindFinalist, KindAct, KindResult); err != nil {
		return nil, err
	}
	last, err := s.LastRounds(ctx, KindRound)
	if err != nil {
		return nil, err
	}
	for trial, round := range last {
		h.past(trial).rounds = round
	}
	return h, nil
}

// past returns what is recorded of a trial, making room for it.
func (h *history) past(trial int) *pastTrial {
	p := h.trials[trial]
	if p == nil {
		p = &pastTrial{rungs: map[int]bool{}}
		h.trials[trial] = p
	}
	return p
}

// read takes in one row.
func (h *history) read(r store.Row) error {
	switch r.Kind {
	case KindStudy:
		rec, err := decode[studyRecord](r.Kind, r.Data)
		h.study = rec
		return err
	case KindMoved:
		rec, err := decode[movedRecord](r.Kind, r.Data)
		if err == nil && h.study != nil {
			h.study.Config = rec.Config
		}
		return err
	case KindData:
		rec, err := decode[dataRecord](r.Kind, r.Data)
		h.data = rec
		return err
	case KindSuggest, KindReport:
		rec, err := decode[callRecord](r.Kind, r.Data)
		if err != nil {
			return err
		}
		rec.kind = r.Kind
		if rec.Measured != nil && r.Trial == tuners.StudySession {
			p := h.past(*rec.Trial)
			p.measured = append(p.measured, rec.report().Measured)
		}
		h.calls[r.Trial] = append(h.calls[r.Trial], *rec)
	case KindTrial:
		rec, err := decode[trialRecord](r.Kind, r.Data)
		if err != nil {
			return err
		}
		h.past(r.Trial).opened = *rec
	case KindRung:
		h.past(r.Trial).rungs[r.Round] = true
	case KindFail:
		rec, err := decode[failRecord](r.Kind, r.Data)
		h.past(r.Trial).fail, h.past(r.Trial).failedAt = rec, r.Round
		return err
	case KindFinalist:
		rec, err := decode[finalistRecord](r.Kind, r.Data)
		h.finalists[place{r.Trial, r.Round}] = rec
		return err
	case KindAct:
		rec, err := decode[actRecord](r.Kind, r.Data)
		if err != nil {
			return err
		}
		if r.Trial == tuners.StudySession {
			h.halted = true
		} else {
			h.acts[r.Trial] = *rec
		}
	case KindResult:
		h.result = r.Data
	}
	return nil
}

// append records something. What a tuner answered before is not recorded again.
func (h *history) append(kind string, trial, round int, v any) error {
	if h.store == nil {
		return nil
	}
	data, err := json.Marshal(v)
	if _, odd := errors.AsType[*json.UnsupportedValueError](err); odd {
		data, err = finite.Marshal(v)
	}
	if err != nil {
		return fmt.Errorf("record of kind %s: %w", kind, err)
	}
	return h.store.Append(kind, trial, round, data)
}

// setState keeps a session's state after a number of calls. A session without a
// state is brought back by repeating its calls.
func (h *history) setState(session, slot, calls int, state []byte) error {
	if h.store == nil || state == nil {
		return nil
	}
	return h.store.SetState(session, slot, calls, state)
}

// state returns the newest recorded state after at most a number of calls; nil is
// the session's beginning.
func (h *history) state(ctx context.Context, session, calls int) (state []byte, at int, err error) {
	if h.store == nil {
		return nil, 0, nil
	}
	return h.store.State(ctx, session, calls)
}

// flush makes durable what was recorded.
func (h *history) flush() error {
	if h.store == nil {
		return nil
	}
	return h.store.Flush()
}

// begin records that a process works on the study, and first what the study is,
// or compares that with the record. Only an unfinished study needs its data.
func (h *history) begin(c *config.Config, mode string, fed *data.Federation, m *nn.Model, environment any) error {
	if h.store == nil {
		return nil
	}
	if h.study == nil {
		text, err := config.Encode(c)
		if err != nil {
			return err
		}
		rec := studyRecord{Name: c.Name, Mode: mode, Config: string(text), TrialRounds: c.Budget.TrialRounds, Direction: fmt.Sprint(c.Aim().Direction)}
		if err := h.append(KindStudy, tuners.StudySession, 0, rec); err != nil {
			return err
		}
	} else if err := h.study.match(h.store.Dir(), c, mode); err != nil {
		return err
	}
	if h.result != nil {
		return nil
	}
	if err := h.on(fed, m); err != nil {
		return err
	}
	if err := h.moved(c); err != nil {
		return err
	}
	if err := h.append(KindSession, tuners.StudySession, 0, environment); err != nil {
		return err
	}
	return h.flush() // from here on it can be resumed
}

// moved records a configuration that differs from the recorded one in keys that
// change no result, once the data there were found to be the study's.
func (h *history) moved(c *config.Config) error {
	if h.study == nil {
		return nil // it was just recorded
	}
	recorded, err := config.Load(config.Source{Text: h.study.Config})
	if err != nil || recorded.Data.Path == c.Data.Path && recorded.Data.StateMemory == c.Data.StateMemory {
		return err
	}
	text, err := config.Encode(c)
	if err != nil {
		return err
	}
	return h.append(KindMoved, tuners.StudySession, 0, movedRecord{string(text)})
}

// on records the data that the study begins on, or compares them with the record:
// rounds on two datasets would be no training.
func (h *history) on(fed *data.Federation, m *nn.Model) error {
	rec := dataRecordOf(fed, m)
	switch {
	case rec.Fingerprint == "" && rec.Start == "":
		return nil // it was drawn, or is the caller's own
	case h.data == nil:
		return h.append(KindData, tuners.StudySession, 0, rec)
	case h.data.Start != rec.Start:
		return fmt.Errorf("%s contains a study that started from other weights than those in its init file: then %s; now %s; restore the file, or use another directory", h.store.Dir(), h.data.Start, rec.Start)
	case h.data.Fingerprint != rec.Fingerprint:
		return fmt.Errorf("%s contains a study that started with other data than those at its data.path: then %s; now %s; restore the data, or use another directory", h.store.Dir(), h.data, rec)
	}
	return nil
}
