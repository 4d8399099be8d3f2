package result

import (
	"encoding/json"
	"fmt"
	"math"
	"time"

	"github.com/fedfast/fedfast/fl"
	"github.com/fedfast/fedfast/fl/study/internal/record"
	"github.com/fedfast/fedfast/internal/store"
	"github.com/fedfast/fedfast/tuners"
)

// ReadClients reads a row of store.KindClients: the test errors of the returned model on single
// clients.
func ReadClients(r store.Row) ([]fl.ClientError, error) {
	rec, err := record.Decode[record.Clients](r.Kind, r.Data)
	if err != nil {
		return nil, err
	}
	return rec.Errors(), nil
}

// The user actions.
const (
	// ActStopTrial ends a trial: its tuner receives a failed report.
	ActStopTrial = "stop trial"
	// ActStopStudy ends the study: what was trained so far is what it chooses from.
	ActStopStudy = "stop study"
)

// ActReason returns why a trial ended, by the user action that ended it.
func ActReason(act string) string {
	if act == ActStopStudy {
		return "the study was stopped by a user"
	}
	return "stopped by a user"
}

// Entry is a row of a study's record. What a row of its kind does not have is nil.
type Entry struct {
	// Seq numbers the entries of a study in their order.
	Seq int64
	// At is when it was recorded.
	At time.Time
	// Kind is one of those above: store.KindTrial, store.KindRound and so on.
	Kind string
	// Trial is below 0 for what is of no trial. Round is how many rounds the trial
	// had run.
	Trial, Round int
	// Opened is of store.KindTrial.
	Opened *Opened
	// Measured is of store.KindRound.
	Measured *Measured
	// Plan is of store.KindPlan: for the trial's round of that number.
	Plan *tuners.Plan
	// Score is of store.KindRung and store.KindFinalist.
	Score *float64
	// Values are of store.KindRung in a study of several objectives or with constraints.
	Values map[string]float64
	// Failed is of store.KindFail.
	Failed *string
	// Act is of store.KindAct: ActStopTrial or ActStopStudy.
	Act *string
	// Decisions are of store.KindSuggest in the study's own session.
	Decisions []tuners.Decision
	// Stored is of store.KindResult.
	Stored *Stored
}

// Opened is how a trial began.
type Opened struct {
	Params tuners.Params
	// Source is the trial that it was forked from, nil for none.
	Source *int
	// Reference is set for the configured values.
	Reference bool
}

// Measured is what a round measured.
type Measured struct {
	// Score is the round's own, in the study's objective; Other that under the
	// other target, NaN without score.both.
	Score, Other, TrainLoss float64
	// TestError is the global model's after the round, NaN where it was not
	// measured.
	TestError float64
	// Unseen is the error of clients that never train, see CurvePoint.Unseen; NaN without any.
	Unseen float64
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
	// Fleet is what became of the clients' work on a fleet, nil without one.
	Fleet *FleetRound
	// Params are what the client tuner set for all clients of the round alike.
	Params tuners.Params
}

// ReadEntry reads a row of the record.
func ReadEntry(r store.Row) (*Entry, error) {
	e := &Entry{Seq: r.Seq, At: time.UnixMilli(r.At), Kind: r.Kind, Trial: r.Trial, Round: r.Round}
	return e, e.fill(r)
}

// fill reads what a row of its kind has.
func (e *Entry) fill(r store.Row) (err error) {
	switch r.Kind {
	case store.KindTrial:
		return record.Into(r, func(rec *record.Trial) { e.Opened = &Opened{rec.Params, rec.Source, rec.Reference} })
	case store.KindRound:
		if r.Trial < 0 || r.Round < 1 || r.Round > math.MaxInt32 {
			return fmt.Errorf("the record is damaged: row %d is of round %d of trial %d", r.Seq, r.Round, r.Trial)
		}
		return record.Into(r, func(rec *record.Round) { e.Measured = measuredOf(rec) })
	case store.KindPlan:
		return record.Into(r, func(plan *tuners.Plan) { e.Plan = plan })
	case store.KindRung:
		return record.Into(r, func(rec *record.Rung) { e.Score, e.Values = new(float64(rec.Score)), record.Numbers(rec.Values) })
	case store.KindFinalist:
		return record.Into(r, func(rec *record.Finalist) { e.Score = new(float64(rec.Score)) })
	case store.KindFail:
		return record.Into(r, func(rec *record.Fail) { e.Failed = &rec.Reason })
	case store.KindAct:
		return record.Into(r, func(rec *record.Act) { e.Act = &rec.Act })
	case store.KindResult:
		return record.Into(r, func(rec *End) { e.Stored = &Stored{Tune: rec.Tune, Run: rec.Run} })
	case store.KindSuggest:
		if r.Trial != tuners.StudySession {
			return nil
		}
		rec, err := record.Decode[record.Call](r.Kind, r.Data)
		if err == nil {
			e.Decisions, err = rec.Suggested()
		}
		return err
	}
	return nil
}

// measuredOf is the record of a round for those who look at it.
func measuredOf(rec *record.Round) *Measured {
	return &Measured{
		Score: float64(rec.Score), Other: rec.Other.Float(), TrainLoss: float64(rec.TrainLoss), TestError: rec.TestError.Float(), Unseen: rec.Unseen.Float(), Seconds: rec.Seconds.Float(),
		Examples: rec.Examples, Steps: rec.Steps, Clients: len(rec.Clients), Dropped: rec.Dropped, Params: rec.Params, TestSpread: (*Spread)(rec.TestSpread), Fleet: rec.Fleet,
	}
}

// FleetRound is what became of the clients' work between two steps of a server.
type FleetRound = record.Fleet

// Spread are percentiles of errors over clients.
type Spread struct {
	P10 float64 `json:"p10"`
	P50 float64 `json:"p50"`
	P90 float64 `json:"p90"`
}

// Session is a process that worked on a study, as its environment describes it.
type Session struct {
	At      time.Time `json:"-"`
	Version string    `json:"version"`
	CPU     string    `json:"cpu"`
	Level   string    `json:"level"`
	Workers int       `json:"workers"`
	// Baseline is with about how many random configurations the study will be compared.
	Baseline int `json:"baseline"`
	// Evaluations is how much work the evaluations at the end are, in multiples of that of all rounds.
	Evaluations float64 `json:"evaluations"`
	// Measure is Errors.Measure of the study's models.
	Measure string `json:"error_measure"`
}

// ReadSession reads a row of store.KindSession. What it does not tell is empty.
func ReadSession(r store.Row) Session {
	s := Session{At: time.UnixMilli(r.At)}
	_ = json.Unmarshal(r.Data, &s) // an environment is any JSON
	return s
}
