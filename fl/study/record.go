package study

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"math"

	"github.com/fedfast/fedfast/data"
	"github.com/fedfast/fedfast/fl"
	"github.com/fedfast/fedfast/fl/hyper"
	"github.com/fedfast/fedfast/nn"
	"github.com/fedfast/fedfast/tuners"
)

// The kinds of rows in a study's journal.
const (
	kindStudy    = "study"    // what the study is; the first row
	kindMoved    = "moved"    // its configuration with keys changed that change no result
	kindData     = "data"     // the data it began on
	kindSession  = "session"  // a process begins to work on it
	kindSuggest  = "suggest"  // an answer of the trial tuner: decisions
	kindReport   = "report"   // what the trial tuner was told
	kindTrial    = "trial"    // a trial is opened
	kindPlan     = "plan"     // an answer of the client tuner, before its round
	kindRound    = "round"    // what a round measured
	kindRung     = "rung"     // the score at the end of a segment
	kindFail     = "fail"     // why a trial cannot go on
	kindFinalist = "finalist" // the score of a model among which the study chooses
	kindResult   = "result"   // the end of the study
	kindBaseline = "baseline" // what random configurations reach, of a finished study
)

// studyRecord is the first row.
type studyRecord struct {
	Name string `json:"name"`
	// Mode is "tune" or "run".
	Mode string `json:"mode"`
	// Config is the study file that Encode writes.
	Config      string `json:"config"`
	TrialRounds int    `json:"trial_rounds"`
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
}

func suggestRecord(n int, decisions []tuners.Decision) callRecord {
	c := callRecord{kind: kindSuggest, N: n, Decisions: []decisionRecord{}}
	for _, d := range decisions {
		r := decisionRecord{Kind: d.Kind.String(), Trial: d.Trial, Params: d.Params, ToRound: d.ToRound, Environment: d.Environment}
		switch d.Kind {
		case tuners.Fork:
			r.Source = &d.Source
		case tuners.Done:
			r.Best = &d.Best
		case tuners.Start, tuners.Resume, tuners.Stop, tuners.Release, tuners.Wait:
		}
		c.Decisions = append(c.Decisions, r)
	}
	return c
}

func reportRecord(r tuners.TrialReport) callRecord {
	c := callRecord{kind: kindReport, Trial: &r.Trial, Round: r.Round, Failed: r.Failed, Reason: r.Reason}
	if !r.Failed {
		c.Score = new(real(r.Score))
	}
	return c
}

// report is what the tuner was told.
func (c *callRecord) report() tuners.TrialReport {
	r := tuners.TrialReport{Trial: *c.Trial, Round: c.Round, Score: math.NaN(), Failed: c.Failed, Reason: c.Reason}
	if c.Score != nil {
		r.Score = float64(*c.Score)
	}
	return r
}

// decisions returns those of a Suggest.
func (c *callRecord) decisions() ([]tuners.Decision, error) {
	var out []tuners.Decision
	for _, r := range c.Decisions {
		d := tuners.Decision{Trial: r.Trial, Params: r.Params, ToRound: r.ToRound, Environment: r.Environment}
		for kind := tuners.Start; kind <= tuners.Done; kind++ {
			if kind.String() == r.Kind {
				d.Kind = kind
			}
		}
		if d.Kind == 0 {
			return nil, fmt.Errorf("recorded decision %q is not one that this version knows", r.Kind)
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

// same says whether two records hold the same call and answer.
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
	Other     *real `json:"other,omitempty"`
	TrainLoss real  `json:"train_loss"`
	Steps     int   `json:"steps"`
	Examples  int   `json:"examples"`
	Dropped   int   `json:"dropped"`
	// DroppedSlots are the slots whose results were not finite and were left out,
	// in order. Versions that did not score rounds without them left it out.
	DroppedSlots []int `json:"dropped_slots,omitempty"`
	// Clients are the indices of the cohort.
	Clients []int `json:"clients"`
	// Probes are what the client tuner observes, by name, one a slot.
	Probes map[string][]real `json:"probes,omitempty"`
	// Aggregates are those that a round has as a whole.
	Aggregates map[string]real `json:"aggregates,omitempty"`
	// Params are what the client tuner set for all clients of the round alike.
	Params tuners.Params `json:"params,omitempty"`
	// TestError is the global model's after the round, where eval.every has it
	// measured.
	TestError *real `json:"test_error,omitempty"`
	// Masked are the same without the labels of the federation's masks, by their
	// names.
	Masked map[string]real `json:"masked_test_errors,omitempty"`
}

// rungRecord is a score at which the tuner decides.
type rungRecord struct {
	Score real `json:"score"`
}

// failRecord says why a trial cannot go on.
type failRecord struct {
	Reason string `json:"reason"`
	Stack  string `json:"stack,omitempty"`
}

// record keeps of a round's result what is recorded; tr is the training after
// the round.
func (t *trial) record(ctx context.Context, tr *fl.Trial, plan fl.Plan, r *fl.RoundResult) (*roundRecord, error) {
	rec := t.results(r)
	d := t.driver
	if t.session != nil && len(plan.Clients) == 1 {
		rec.Params = hyper.Values{Client: plan.Clients[0], Server: plan.Server}.Matching(d.clientControls)
	}
	eval := d.setup.Config.Eval
	if eval.Every == 0 || tr.Rounds()%eval.Every != 0 {
		return rec, nil
	}
	clients := d.engine.EvalSample(eval.Clients)
	if eval.EveryClients > 0 {
		clients = d.engine.DrawTested(eval.EveryClients, tr.Rounds())
	}
	s, err := d.engine.EvaluateTest(ctx, tr.Weights(), clients)
	if err != nil {
		return nil, err
	}
	if s.Clients > 0 {
		rec.TestError = new(real(s.Error))
	}
	for _, m := range s.Masked {
		if rec.Masked == nil {
			rec.Masked = map[string]real{}
		}
		rec.Masked[m.Mask] = real(m.Error)
	}
	return rec, nil
}

// results keeps what the round itself measured.
func (t *trial) results(r *fl.RoundResult) *roundRecord {
	personalized := t.driver.objective.Target == tuners.TargetPersonalized
	rec := &roundRecord{
		Score: real(t.driver.scoreOf(r, personalized)), TrainLoss: real(r.TrainLoss),
		Steps: r.Steps, Examples: r.Examples, Dropped: r.Dropped, Clients: make([]int, len(r.Slots)),
	}
	if t.driver.setup.Config.Score.Both && !t.driver.unscored {
		rec.Other = new(real(t.driver.scoreOf(r, !personalized)))
	}
	for i := range r.Slots {
		rec.Clients[i] = r.Slots[i].Client
		if r.Slots[i].Dropped {
			rec.DroppedSlots = append(rec.DroppedSlots, i)
		}
	}
	for _, name := range t.probes {
		if _, ofSlots := r.Slots[0].Probe(name); !ofSlots {
			if rec.Aggregates == nil {
				rec.Aggregates = map[string]real{}
			}
			x, _ := r.Probe(name)
			rec.Aggregates[name] = real(x)
			continue
		}
		if rec.Probes == nil {
			rec.Probes = map[string][]real{}
		}
		values := make([]real, len(r.Slots))
		for i := range r.Slots {
			x, _ := r.Slots[i].Probe(name)
			values[i] = real(x)
		}
		rec.Probes[name] = values
	}
	return rec
}

// observation is what the client tuner is told about a recorded round, from 0.
func (rec *roundRecord) observation(trial, round int) tuners.Observation {
	o := tuners.Observation{
		Trial: trial, Round: round, Slots: make([]tuners.Slot, len(rec.Clients)),
		Aggregates: map[string]float64{"train_loss": float64(rec.TrainLoss)},
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

// tellsDropped says whether the record tells which slots were dropped, which that
// of an earlier version does not.
func (rec *roundRecord) tellsDropped() bool { return len(rec.DroppedSlots) == rec.Dropped }

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

// event is the line of the metrics about the round after which the trial has run
// so many.
func (t *trial) event(rec *roundRecord, score float64) Event {
	loss := float64(rec.TrainLoss)
	e := Event{Event: "round", Trial: t.number, Round: t.rounds, TrainLoss: &loss, Steps: rec.Steps, Examples: rec.Examples, Dropped: rec.Dropped, DroppedSlots: rec.DroppedSlots}
	e.Params = rec.Params
	if rec.TestError != nil {
		e.TestError = new(float64(*rec.TestError))
		e.Masked = rec.masked()
	}
	if t.driver.unscored {
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
		return nil, fmt.Errorf("a record of kind %s cannot be read: %w", kind, err)
	}
	return v, nil
}
