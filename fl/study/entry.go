package study

import (
	"encoding/json"
	"math"
	"time"

	"github.com/fedfast/fedfast/fl/study/store"
	"github.com/fedfast/fedfast/tuners"
)

// Entry is a row of a study's record, read for those who look at it. What a row's
// kind does not tell is nil.
type Entry struct {
	// Seq numbers the entries of a study in their order.
	Seq int64
	// At is when it was recorded.
	At time.Time
	// Kind is one of those above: KindTrial, KindRound and so on.
	Kind string
	// Trial is below 0 for what is of no trial. Round is how many rounds the trial
	// had run.
	Trial, Round int
	// Opened is of KindTrial.
	Opened *Opened
	// Measured is of KindRound.
	Measured *Measured
	// Plan is of KindPlan: for the trial's round of that number.
	Plan *tuners.Plan
	// Score is of KindRung and KindFinalist.
	Score *float64
	// Failed is of KindFail.
	Failed *string
	// Act is of KindAct: ActStopTrial or ActStopStudy.
	Act *string
	// Decisions are of KindSuggest in the study's own session.
	Decisions []tuners.Decision
	// Stored is of KindResult.
	Stored *Stored
}

// Opened tells how a trial began.
type Opened struct {
	Params tuners.Params
	// Source is the trial that it was forked from, nil for none.
	Source *int
}

// Measured is what a round measured.
type Measured struct {
	// Score is the round's own, in the study's objective; Other that under the
	// other target, NaN without score.both.
	Score, Other, TrainLoss float64
	// TestError is the global model's after the round, NaN where it was not
	// measured.
	TestError float64
	// TestSpread are percentiles of the clients' errors behind it, nil where there is
	// none.
	TestSpread *Spread
	// Examples counts those that the clients trained on, all passes; Steps their
	// local steps.
	Examples, Steps int
	// Clients is the size of the cohort, Dropped how many of it were left out.
	Clients, Dropped int
	// Seconds is how long the round's slowest client takes on the simulated device,
	// NaN where it is not recorded.
	Seconds float64
	// Params are what the client tuner set for all clients of the round alike.
	Params tuners.Params
}

// simulatedSeconds is the probe of a client's time on the simulated device.
const simulatedSeconds = "seconds_simulated"

// ReadEntry reads a row of the record.
func ReadEntry(r store.Row) (*Entry, error) {
	e := &Entry{Seq: r.Seq, At: time.UnixMilli(r.At), Kind: r.Kind, Trial: r.Trial, Round: r.Round}
	return e, e.fill(r)
}

// fill reads what the row's kind tells.
func (e *Entry) fill(r store.Row) error {
	switch r.Kind {
	case KindTrial:
		rec, err := decode[trialRecord](r.Kind, r.Data)
		if err == nil {
			e.Opened = &Opened{rec.Params, rec.Source}
		}
		return err
	case KindRound:
		rec, err := decode[roundRecord](r.Kind, r.Data)
		if err == nil {
			e.Measured = rec.measured()
		}
		return err
	case KindPlan:
		plan, err := decode[tuners.Plan](r.Kind, r.Data)
		e.Plan = plan
		return err
	case KindRung:
		rec, err := decode[rungRecord](r.Kind, r.Data)
		if err == nil {
			e.Score = new(float64(rec.Score))
		}
		return err
	case KindFinalist:
		rec, err := decode[finalistRecord](r.Kind, r.Data)
		if err == nil {
			e.Score = new(float64(rec.Score))
		}
		return err
	case KindFail:
		rec, err := decode[failRecord](r.Kind, r.Data)
		if err == nil {
			e.Failed = &rec.Reason
		}
		return err
	case KindAct:
		rec, err := decode[actRecord](r.Kind, r.Data)
		if err == nil {
			e.Act = &rec.Act
		}
		return err
	case KindSuggest:
		return e.fillDecisions(r)
	case KindResult:
		rec, err := decode[resultRecord](r.Kind, r.Data)
		if err == nil {
			e.Stored = &Stored{Tune: rec.Tune, Run: rec.Run}
		}
		return err
	}
	return nil
}

// fillDecisions reads those of the study's own session.
func (e *Entry) fillDecisions(r store.Row) error {
	if r.Trial != tuners.StudySession {
		return nil
	}
	rec, err := decode[callRecord](r.Kind, r.Data)
	if err == nil {
		e.Decisions, err = rec.decisions()
	}
	return err
}

// measured is the record for those who look at it.
func (rec *roundRecord) measured() *Measured {
	m := &Measured{
		Score: float64(rec.Score), Other: math.NaN(), TrainLoss: float64(rec.TrainLoss), TestError: math.NaN(), Seconds: math.NaN(),
		Examples: rec.Examples, Steps: rec.Steps, Clients: len(rec.Clients), Dropped: rec.Dropped, Params: rec.Params, TestSpread: rec.TestSpread,
	}
	if rec.Other != nil {
		m.Other = float64(*rec.Other)
	}
	if rec.TestError != nil {
		m.TestError = float64(*rec.TestError)
	}
	if rec.Seconds != nil {
		m.Seconds = float64(*rec.Seconds)
	}
	return m
}

// Session is a process that worked on a study, as its environment tells it.
type Session struct {
	At      time.Time `json:"-"`
	Version string    `json:"version"`
	CPU     string    `json:"cpu"`
	Level   string    `json:"level"`
	Workers int       `json:"workers"`
}

// ReadSession reads a row of KindSession. What it does not tell is empty.
func ReadSession(r store.Row) Session {
	s := Session{At: time.UnixMilli(r.At)}
	_ = json.Unmarshal(r.Data, &s) // an environment is any JSON
	return s
}
