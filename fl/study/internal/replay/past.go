// Package replay leads a study and its tuners to where the record ends: a new study and
// a resumed one run the same code, which takes what is recorded from here.
package replay

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/fedfast/fedfast/fl/study/internal/record"
	"github.com/fedfast/fedfast/internal/finite"
	"github.com/fedfast/fedfast/internal/store"
	"github.com/fedfast/fedfast/tuners"
)

// Past is what a store holds of a study when a process begins to work on it.
// Without a store it is empty, and what is recorded goes nowhere.
type Past struct {
	Store *store.Store // nil: nothing outlives the process
	Log   *slog.Logger // what a tuner's sessions say when they end
	upTo  int64        // the last row when the study was opened

	Study     *record.Study
	data      *record.Data          // nil before the study's first process has opened its data
	calls     map[int][]record.Call // by session, in order
	trials    map[int]*Trial
	Finalists map[Point]*record.Finalist
	Acts      map[int]record.Act // user actions, by the trials that they ended
	Halted    bool               // a user ended the study
	Locals    []*record.Local    // what points came to with which clients trained by themselves
	Alone     []*record.Alone    // the baselines that are done
	Priors    *record.Priors     // trials of finished studies; nil before they are recorded
	Pauses    int                // at the limit of wall time
	Result    []byte             // nil while the study is not finished
	Elapsed   time.Duration      // that earlier processes worked
}

// Point is a trial after a round.
type Point struct{ Trial, Round int }

// New returns the past of a study without any record, which a store, unless it is nil,
// keeps from now on.
func New(s *store.Store) *Past {
	return &Past{Store: s, Log: slog.New(slog.DiscardHandler), calls: map[int][]record.Call{}, trials: map[int]*Trial{}, Finalists: map[Point]*record.Finalist{}, Acts: map[int]record.Act{}}
}

// Read reads what a store holds; nil stands for no store.
func Read(ctx context.Context, s *store.Store) (*Past, error) {
	p := New(s)
	if s == nil {
		return p, nil
	}
	p.upTo = s.Seq()
	var err error
	if p.Elapsed, err = s.Elapsed(ctx, store.KindSession); err != nil {
		return nil, err
	}
	err = s.Each(ctx, p.read, store.KindStudy, store.KindMoved, store.KindData, store.KindSuggest, store.KindReport, store.KindTrial, store.KindRung,
		store.KindFail, store.KindFinalist, store.KindLocal, store.KindAct, store.KindPriors, store.KindAlone, store.KindPause, store.KindResult)
	if err != nil {
		return nil, err
	}
	last, err := s.LastRounds(ctx, store.KindRound)
	if err != nil {
		return nil, err
	}
	for trial, round := range last {
		p.trial(trial).Rounds = round
	}
	return p, nil
}

// trial returns what is recorded of a trial, making room for it.
func (p *Past) trial(number int) *Trial {
	t := p.trials[number]
	if t == nil {
		t = &Trial{past: p, number: number, Rungs: map[int]bool{}}
		p.trials[number] = t
	}
	return t
}

// read takes in one row.
func (p *Past) read(r store.Row) error {
	switch r.Kind {
	case store.KindStudy:
		return record.Into(r, func(rec *record.Study) { p.Study = rec })
	case store.KindMoved:
		return record.Into(r, func(rec *record.Moved) {
			if p.Study != nil {
				p.Study.Config = rec.Config
			}
		})
	case store.KindData:
		return record.Into(r, func(rec *record.Data) { p.data = rec })
	case store.KindSuggest, store.KindReport:
		return record.Into(r, func(rec *record.Call) {
			rec.Kind = r.Kind
			if rec.Measured != nil && r.Trial == tuners.StudySession && *rec.Trial != tuners.NoTrial {
				t := p.trial(*rec.Trial)
				t.measured = append(t.measured, rec.Report().Measured)
			}
			p.calls[r.Trial] = append(p.calls[r.Trial], *rec)
		})
	case store.KindTrial:
		return record.Into(r, func(rec *record.Trial) { p.trial(r.Trial).Opened = rec })
	case store.KindRung:
		p.trial(r.Trial).Rungs[r.Round] = true
	case store.KindFail:
		return record.Into(r, func(rec *record.Fail) { p.trial(r.Trial).Fail = rec })
	case store.KindFinalist:
		return record.Into(r, func(rec *record.Finalist) { p.Finalists[Point{r.Trial, r.Round}] = rec })
	case store.KindLocal:
		return record.Into(r, func(rec *record.Local) { p.Locals = append(p.Locals, rec) })
	case store.KindAct:
		return record.Into(r, func(rec *record.Act) {
			if r.Trial == tuners.StudySession {
				p.Halted = true
			} else {
				p.Acts[r.Trial] = *rec
			}
		})
	case store.KindAlone:
		return record.Into(r, func(rec *record.Alone) { p.Alone = append(p.Alone, rec) })
	case store.KindPriors:
		return record.Into(r, func(rec *record.Priors) { p.Priors = rec })
	case store.KindPause:
		p.Pauses++
	case store.KindResult:
		p.Result = r.Data
	}
	return nil
}

// Append records something. What a tuner answered before is not recorded again.
func (p *Past) Append(kind string, trial, round int, v any) error {
	if p.Store == nil {
		return nil
	}
	data, err := json.Marshal(v)
	if _, odd := errors.AsType[*json.UnsupportedValueError](err); odd {
		data, err = finite.Marshal(v)
	}
	if err != nil {
		return fmt.Errorf("record of kind %s: %w", kind, err)
	}
	return p.Store.Append(kind, trial, round, data)
}

// SetState keeps a session's state after a number of calls, one in each slot. A session
// without a state is brought back by repeating its calls.
func (p *Past) SetState(session, slot, calls int, state []byte) error {
	if p.Store == nil || state == nil {
		return nil
	}
	return p.Store.SetState(session, slot, calls, state)
}

// state returns the newest recorded state after at most a number of calls; nil is
// the session's beginning.
func (p *Past) state(ctx context.Context, session, calls int) (state []byte, at int, err error) {
	if p.Store == nil {
		return nil, 0, nil
	}
	return p.Store.State(ctx, session, calls)
}

// Flush makes durable what was recorded.
func (p *Past) Flush() error {
	if p.Store == nil {
		return nil
	}
	return p.Store.Flush()
}
