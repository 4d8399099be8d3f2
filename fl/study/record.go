package study

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"

	"github.com/fedfast/fedfast/data"
	"github.com/fedfast/fedfast/fl"
	"github.com/fedfast/fedfast/nn"
	"github.com/fedfast/fedfast/tuners"
)

// The kinds of rows in a study's journal.
const (
	KindStudy         = "study"         // what the study is; the first row
	KindMoved         = "moved"         // its configuration with keys changed that change no result
	KindData          = "data"          // the data it began on
	KindSession       = "session"       // a process begins to work on it
	KindSuggest       = "suggest"       // an answer of the trial tuner: decisions
	KindReport        = "report"        // what the trial tuner was told
	KindTrial         = "trial"         // a trial is opened
	KindPlan          = "plan"          // an answer of the client tuner, before its round
	KindRound         = "round"         // what a round measured
	KindRung          = "rung"          // the score at the end of a segment
	KindFail          = "fail"          // why a trial cannot go on
	KindFinalist      = "finalist"      // the score of a model among which the study chooses
	KindClients       = "clients"       // the single clients' errors of the returned model
	KindResult        = "result"        // the end of the study
	KindBaseline      = "baseline"      // a comparison with random search begins, of a study with a result
	KindConfiguration = "configuration" // what a random configuration of it reached
	KindWorker        = "worker"        // a worker elsewhere joined or is gone
	KindLease         = "lease"         // a worker elsewhere trains a trial from here on
	KindAct           = "act"           // a person ended a trial, or the study, here
)

// studyRecord is the first row.
type studyRecord struct {
	Name string `json:"name"`
	// Mode is "tune" or "run".
	Mode string `json:"mode"`
	// Config is the study file that Encode writes.
	Config      string `json:"config"`
	TrialRounds int    `json:"trial_rounds"`
	// Direction is that of the scores: "minimize" or "maximize".
	Direction string `json:"direction"`
}

// movedRecord is the study file with other values of keys that change no result.
type movedRecord struct {
	Config string `json:"config"`
}

// dataRecord tells the data that a study began on from others.
type dataRecord struct {
	Name        string `json:"name"`
	Fingerprint string `json:"fingerprint"`
	Clients     int    `json:"clients"` // of the federation
	Train       int    `json:"train"`   // samples in the files
	Test        int    `json:"test"`
	// Start is the digest of the weights in the file that init names, if it does.
	Start string `json:"start,omitempty"`
}

func dataRecordOf(fed *data.Federation, m *nn.Model) dataRecord {
	start := ""
	if w := m.Start(); w != nil {
		start = fl.WeightsSHA256(m, w)
	}
	return dataRecord{Start: start, Name: fed.Name, Fingerprint: fed.Fingerprint, Clients: len(fed.Clients), Train: fed.Files.Train, Test: fed.Files.Test}
}

// String tells the data from others.
func (r dataRecord) String() string {
	return fmt.Sprintf("%s of %d clients, %d training and %d test samples in its files, fingerprint %s", r.Name, r.Clients, r.Train, r.Test, r.Fingerprint)
}

// callRecord is an answered call of a tuner's session that decides about trials.
type callRecord struct {
	kind string
	// N and Decisions are of a Suggest.
	N         int              `json:"n,omitempty"`
	Decisions []decisionRecord `json:"decisions,omitempty"`
	// Trial and what follows are of a Report.
	Trial  *int   `json:"trial,omitempty"`
	Round  int    `json:"round,omitempty"`
	Score  *real  `json:"score,omitempty"`
	Failed bool   `json:"failed,omitempty"`
	Reason string `json:"reason,omitempty"`
	// Measured are sub-networks that were scored.
	Measured []measuredRecord `json:"measured,omitempty"`
}

// measuredRecord is a tuners.Measured.
type measuredRecord struct {
	Score  real    `json:"score"`
	FLOPs  float64 `json:"flops"`
	Params float64 `json:"params"`
}

// decisionRecord is a tuners.Decision with names for its kind.
type decisionRecord struct {
	Kind        string              `json:"kind"`
	Trial       int                 `json:"trial"`
	Source      *int                `json:"source,omitempty"`
	Params      tuners.Params       `json:"params,omitempty"`
	ToRound     int                 `json:"to_round,omitempty"`
	Best        *int                `json:"best,omitempty"`
	Environment *tuners.Environment `json:"environment,omitempty"`
	Points      []tuners.Params     `json:"points,omitempty"`
}

func suggestRecord(n int, decisions []tuners.Decision) callRecord {
	c := callRecord{kind: KindSuggest, N: n, Decisions: []decisionRecord{}}
	for _, d := range decisions {
		r := decisionRecord{Kind: d.Kind.String(), Trial: d.Trial, Params: d.Params, ToRound: d.ToRound, Environment: d.Environment, Points: d.Points}
		switch d.Kind {
		case tuners.Fork:
			r.Source = &d.Source
		case tuners.Done:
			r.Best = &d.Best
		case tuners.Start, tuners.Resume, tuners.Stop, tuners.Release, tuners.Wait, tuners.Score:
		}
		c.Decisions = append(c.Decisions, r)
	}
	return c
}

func reportRecord(r tuners.TrialReport) callRecord {
	c := callRecord{kind: KindReport, Trial: &r.Trial, Round: r.Round, Failed: r.Failed, Reason: r.Reason}
	if !r.Failed {
		c.Score = new(real(r.Score))
	}
	for _, m := range r.Measured {
		c.Measured = append(c.Measured, measuredRecord{real(m.Score), m.FLOPs, m.Params})
	}
	return c
}

// report is what the tuner was told.
func (c *callRecord) report() tuners.TrialReport {
	r := tuners.TrialReport{Trial: *c.Trial, Round: c.Round, Score: math.NaN(), Failed: c.Failed, Reason: c.Reason}
	if c.Score != nil {
		r.Score = float64(*c.Score)
	}
	for _, m := range c.Measured {
		r.Measured = append(r.Measured, tuners.Measured{Score: float64(m.Score), FLOPs: m.FLOPs, Params: m.Params})
	}
	return r
}

// decisions returns those of a Suggest.
func (c *callRecord) decisions() ([]tuners.Decision, error) {
	var out []tuners.Decision
	for _, r := range c.Decisions {
		d := tuners.Decision{Trial: r.Trial, Params: r.Params, ToRound: r.ToRound, Environment: r.Environment, Points: r.Points}
		for kind := tuners.Start; kind <= tuners.Score; kind++ {
			if kind.String() == r.Kind {
				d.Kind = kind
			}
		}
		if d.Kind == 0 {
			return nil, fmt.Errorf("unknown recorded decision %q", r.Kind)
		}
		if r.Source != nil {
			d.Source = *r.Source
		}
		if r.Best != nil {
			d.Best = *r.Best
		}
		out = append(out, d)
	}
	return out, nil
}

// same reports whether two records hold the same call and answer.
func (c *callRecord) same(o *callRecord) bool {
	a, errA := json.Marshal(c)
	b, errB := json.Marshal(o)
	return errA == nil && errB == nil && c.kind == o.kind && bytes.Equal(a, b)
}

// trialRecord tells how a trial was opened.
type trialRecord struct {
	Params tuners.Params `json:"params"`
	// Source is the trial that it was forked from.
	Source *int `json:"source,omitempty"`
	// Probes are those that the client tuner's session sees.
	Probes []string `json:"probes,omitempty"`
}

// roundRecord is what a round measured, as far as anything later depends on it.
type roundRecord struct {
	// Score is the round's own, before earlier rounds are weighed in.
	Score real `json:"score"`
	// Other is the score under the other target, with score.both.
	Other *real `json:"other,omitempty"`
	// TrainLoss is the mean over the clients that were not dropped, NaN if all were.
	TrainLoss real `json:"train_loss"`
	Steps     int  `json:"steps"`
	Examples  int  `json:"examples"`
	Dropped   int  `json:"dropped"`
	// DroppedSlots are the slots whose results were not finite and were left out,
	// in order.
	DroppedSlots []int `json:"dropped_slots,omitempty"`
	// Clients are the indices of the cohort.
	Clients []int `json:"clients"`
	// Seconds is how long the slowest client takes on the simulated device.
	Seconds *real `json:"seconds_simulated,omitempty"`
	// Probes are what the client tuner observes, by name, one a slot.
	Probes map[string][]real `json:"probes,omitempty"`
	// Aggregates are those that a round has as a whole.
	Aggregates map[string]real `json:"aggregates,omitempty"`
	// Params are what the client tuner set for all clients of the round alike.
	Params tuners.Params `json:"params,omitempty"`
	// TestError is the global model's after the round, where eval.every has it
	// measured.
	TestError *real `json:"test_error,omitempty"`
	// ValError is that on validation examples, measured for eval.patience.
	ValError *real `json:"val_error,omitempty"`
	// TestSpread are percentiles of the clients' errors behind it.
	TestSpread *Spread `json:"test_spread,omitempty"`
	// Masked are the same without the labels of the federation's masks, by their
	// names.
	Masked map[string]real `json:"masked_test_errors,omitempty"`
}

// Spread are percentiles of errors over clients.
type Spread struct {
	P10 float64 `json:"p10"`
	P50 float64 `json:"p50"`
	P90 float64 `json:"p90"`
}

// rungRecord is a score at which the tuner decides.
type rungRecord struct {
	Score real `json:"score"`
}

// failRecord returns why a trial cannot go on.
type failRecord struct {
	Reason string `json:"reason"`
	Stack  string `json:"stack,omitempty"`
}

// observation is what the client tuner is told about a recorded round, from 0.
func (rec *roundRecord) observation(trial, round int) tuners.Observation {
	o := tuners.Observation{Trial: trial, Round: round, Slots: make([]tuners.Slot, len(rec.Clients)), Aggregates: map[string]float64{}}
	if loss := float64(rec.TrainLoss); !math.IsNaN(loss) { // as it is when all clients were dropped
		o.Aggregates["train_loss"] = loss
	}
	for name, x := range rec.Aggregates {
		o.Aggregates[name] = float64(x)
	}
	for _, i := range rec.DroppedSlots {
		o.Slots[i].Dropped = true
	}
	for i := range o.Slots {
		if o.Slots[i].Dropped {
			continue
		}
		o.Slots[i].Probes = make(map[string]float64, len(rec.Probes))
		for name, values := range rec.Probes {
			o.Slots[i].Probes[name] = float64(values[i])
		}
	}
	return o
}

// masked returns the errors without the labels of masks, nil without any.
func (rec *roundRecord) masked() map[string]float64 {
	if rec.Masked == nil {
		return nil
	}
	m := make(map[string]float64, len(rec.Masked))
	for name, x := range rec.Masked {
		m[name] = float64(x)
	}
	return m
}

// event is the line of the metrics about the round that the trial has just run.
func (t *trial) event(rec *roundRecord, score float64) Event {
	loss := float64(rec.TrainLoss)
	e := Event{Event: "round", Trial: t.number, Round: t.rounds, TrainLoss: &loss, Steps: rec.Steps, Examples: rec.Examples, Dropped: rec.Dropped, DroppedSlots: rec.DroppedSlots}
	e.Params = rec.Params
	if rec.TestError != nil {
		e.TestError = new(float64(*rec.TestError))
		e.Masked = rec.masked()
	}
	if rec.ValError != nil {
		e.ValError = new(float64(*rec.ValError))
	}
	if t.driver.meter.unscored {
		return e
	}
	e.Score = &score
	if rec.Other != nil {
		e.OtherScore = new(float64(*rec.Other))
	}
	for _, client := range rec.Clients {
		e.Clients = append(e.Clients, t.driver.setup.Data.Clients[client].ID)
	}
	return e
}

// real is a float64 whose JSON holds every value: NaN is null, infinities are
// strings.
type real float64

// MarshalJSON writes the shortest number that reads back as the same bits.
func (x real) MarshalJSON() ([]byte, error) {
	switch f := float64(x); {
	case math.IsNaN(f):
		return []byte("null"), nil
	case math.IsInf(f, 1):
		return []byte(`"inf"`), nil
	case math.IsInf(f, -1):
		return []byte(`"-inf"`), nil
	default:
		return json.Marshal(f)
	}
}

// UnmarshalJSON reads what MarshalJSON writes.
func (x *real) UnmarshalJSON(b []byte) error {
	switch string(b) {
	case "null":
		*x = real(math.NaN())
	case `"inf"`:
		*x = real(math.Inf(1))
	case `"-inf"`:
		*x = real(math.Inf(-1))
	default:
		return json.Unmarshal(b, (*float64)(x))
	}
	return nil
}

// decode reads the data of a row.
func decode[T any](kind string, data []byte) (*T, error) {
	v := new(T)
	if err := json.Unmarshal(data, v); err != nil {
		return nil, fmt.Errorf("invalid record of kind %s: %w", kind, err)
	}
	return v, nil
}
