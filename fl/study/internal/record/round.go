package record

import (
	"bytes"
	"cmp"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"errors"
	"math"
	"slices"

	"github.com/fedfast/fedfast/internal/list"
	"github.com/fedfast/fedfast/internal/store"
	"github.com/fedfast/fedfast/tuners"
)

// Trial is how a trial was opened.
type Trial struct {
	Params tuners.Params `json:"params"`
	// Source is the trial that it was forked from.
	Source *int `json:"source,omitempty"`
	// Probes are those that the client tuner's session sees.
	Probes []string `json:"probes,omitempty"`
	// Reference is set for the trial of the configured values, which no tuner asked for.
	Reference bool `json:"reference,omitempty"`
}

// Round is what a round measured, as far as anything later depends on it.
type Round struct {
	// Score is the round's own, before earlier rounds are weighed in.
	Score Real `json:"score"`
	// Other is the score under the other target, with score.both.
	Other *Real `json:"other,omitempty"`
	// Values are the round's own of further objectives and constraints, by metric.
	Values map[string]Real `json:"values,omitempty"`
	// TrainLoss is the mean over the clients that were not dropped, NaN if all were.
	TrainLoss Real `json:"train_loss"`
	Steps     int  `json:"steps"`
	Examples  int  `json:"examples"`
	Dropped   int  `json:"dropped"`
	// Down and Up are the bytes that clients received and sent; Attackers counts the slots
	// of attackers.
	Down      int64 `json:"bytes_down,omitempty"`
	Up        int64 `json:"bytes_up,omitempty"`
	Attackers int   `json:"attackers,omitempty"`
	// DroppedSlots are the slots whose results were not finite and were left out,
	// in order.
	DroppedSlots []int `json:"dropped_slots,omitempty"`
	// Clients are the indices of the cohort.
	Clients []int `json:"clients"`
	// Weights is the SHA-256 of the global weights after the round, State that of the server's
	// state, in the rounds that have digests, and Tensors the hashes of the clients' changes, by
	// tensor one a slot, with config.DigestsAll.
	Weights string            `json:"weights_sha256,omitempty"`
	State   string            `json:"server_state_sha256,omitempty"`
	Tensors map[string]Hashes `json:"tensor_hashes,omitempty"`
	// Seconds is how long the slowest client takes on the simulated device.
	Seconds *Real `json:"seconds_simulated,omitempty"`
	// Fleet is there where the clients' devices are simulated.
	Fleet *Fleet `json:"fleet,omitempty"`
	// Probes are what the client tuner observes, by name, one a slot.
	Probes map[string][]Real `json:"probes,omitempty"`
	// Private, of a private study, is what the client tuner observes instead of Probes, one a
	// planned slot, whose number is the number of the clients that were expected.
	Private map[string][]Real `json:"private,omitempty"`
	// Aggregates are those that a round has as a whole.
	Aggregates map[string]Real `json:"aggregates,omitempty"`
	// Params are what the client tuner set for all clients of the round alike.
	Params tuners.Params `json:"params,omitempty"`
	// TestError is the global model's after the round, where eval.every has it
	// measured.
	TestError *Real `json:"test_error,omitempty"`
	// Epsilon is what the rounds have cost by then, of a private run.
	Epsilon *Real `json:"epsilon,omitempty"`
	// ValError is that on validation examples, measured for eval.patience.
	ValError *Real `json:"val_error,omitempty"`
	// Table holds what eval.record_every has recorded.
	Table *Table `json:"table,omitempty"`
	// TestSpread are percentiles of the clients' errors behind it.
	TestSpread *Spread `json:"test_spread,omitempty"`
	// Unseen is the error on the test examples of clients that never train.
	Unseen *Real `json:"unseen_test_error,omitempty"`
	// Masked are the same without the labels of the federation's masks, by their
	// names.
	Masked map[string]Real `json:"masked_test_errors,omitempty"`
}

// Fleet is what became of the clients' work between two steps of a server on a fleet.
type Fleet struct {
	// Clock is the simulated time after the step, in seconds.
	Clock Real `json:"clock"`
	// Late, Vanished and Stale count the jobs whose work was lost, Failed the rounds that
	// were repeated.
	Late     int `json:"late,omitempty"`
	Vanished int `json:"vanished,omitempty"`
	Stale    int `json:"stale,omitempty"`
	Failed   int `json:"failed_rounds,omitempty"`
	// Working counts the clients at work after the step, of which the first began after
	// Oldest steps.
	Working int `json:"working,omitempty"`
	Oldest  int `json:"oldest,omitempty"`
	// Jobs are those whose updates the step took, in the order of its slots, then those
	// that were lost.
	Jobs []Job `json:"jobs"`
}

// Job is the work of a client; times are simulated seconds.
type Job struct {
	Client int `json:"client"`
	// Start to End are when the client began to receive, began to train, began to send,
	// and ended.
	Start    Real `json:"start"`
	Received Real `json:"received"`
	Computed Real `json:"computed"`
	End      Real `json:"end"`
	// Staleness is how many steps the server made meanwhile, Weight what an update weighs
	// for it, as a share of one without any; 0 is 1.
	Staleness int  `json:"staleness,omitempty"`
	Weight    Real `json:"weight,omitempty"`
	// Slot is the one of the plan whose hyperparameters the client had.
	Slot int `json:"slot,omitempty"`
	// Partial says that the client did fewer local steps, before a deadline.
	Partial bool `json:"partial,omitempty"`
	// Fate is empty for an update that was taken, or "late", "vanished" or "stale".
	Fate string `json:"fate,omitempty"`
}

// Lost counts the jobs whose work was lost.
func (f *Fleet) Lost() int { return f.Late + f.Vanished + f.Stale }

// Spread are percentiles of errors over clients.
type Spread struct {
	P10 float64 `json:"p10"`
	P50 float64 `json:"p50"`
	P90 float64 `json:"p90"`
}

// Table holds the errors of clients after a round, and after the first round also those
// before it.
type Table struct {
	Before *Errors `json:"before,omitempty"`
	After  *Errors `json:"after,omitempty"`
}

// Holds reports whether all errors are of a number of clients; nil has none.
func (t *Table) Holds(clients int) bool {
	if t == nil {
		return true
	}
	return !slices.ContainsFunc([]*Errors{t.Before, t.After}, func(e *Errors) bool {
		return e != nil && (len(e.Val) != clients || e.Test != nil && len(e.Test) != clients)
	})
}

// Errors are the errors of every client, in their order, NaN without samples. Test is nil where
// the federation has a test set of its own, whose error Central is.
type Errors struct {
	Val     Floats `json:"val"`
	Test    Floats `json:"test,omitempty"`
	Central *Real  `json:"central,omitempty"`
	// SHA256 is the digest of the weights.
	SHA256 string `json:"weights_sha256"`
}

// Equals reports whether a round that was trained again is the recorded one, of which data is the
// JSON, and returns its own. Digests count where both have them: versions differ in which rounds do.
func (rec *Round) Equals(data []byte) (again []byte, same bool, err error) {
	again, err = json.Marshal(rec)
	if err != nil || bytes.Equal(again, data) {
		return again, err == nil, err
	}
	was, err := Decode[Round](store.KindRound, data)
	if err != nil {
		return again, false, err
	}
	now := *rec
	was.Match(&now)
	x, _ := json.Marshal(was) // it was read from JSON
	y, _ := json.Marshal(now)
	return again, bytes.Equal(x, y), nil
}

// Match takes out of both rounds the digests that one of them lacks.
func (rec *Round) Match(o *Round) {
	if rec.Weights == "" || o.Weights == "" {
		rec.Weights, rec.State, o.Weights, o.State = "", "", "", ""
	}
	if rec.Tensors == nil || o.Tensors == nil {
		rec.Tensors, o.Tensors = nil, nil
	}
}

// Hashes are xxHash64 values, whose JSON is the base64 of their little-endian bytes.
type Hashes []int64

// MarshalText writes the bytes.
func (h Hashes) MarshalText() ([]byte, error) { return numbersText([]int64(h)) }

// UnmarshalText reads what MarshalText writes.
func (h *Hashes) UnmarshalText(text []byte) (err error) {
	*h, err = readNumbers[int64](text)
	return err
}

// numbersText writes numbers as the base64 of their little-endian bytes.
func numbersText(v any) ([]byte, error) {
	raw, err := binary.Append(nil, binary.LittleEndian, v)
	return base64.StdEncoding.AppendEncode(nil, raw), err
}

// readNumbers reads what numbersText writes.
func readNumbers[T int64 | float64](text []byte) ([]T, error) {
	raw, err := base64.StdEncoding.AppendDecode(nil, text)
	if err != nil || len(raw)%8 != 0 {
		return nil, errors.New("invalid list of numbers")
	}
	v := make([]T, len(raw)/8)
	_, err = binary.Decode(raw, binary.LittleEndian, v)
	return v, err
}

// Floats is a list whose JSON is the base64 of its little-endian bytes.
type Floats []float64

// MarshalText writes the bytes.
func (f Floats) MarshalText() ([]byte, error) { return numbersText([]float64(f)) }

// UnmarshalText reads what MarshalText writes.
func (f *Floats) UnmarshalText(text []byte) (err error) {
	*f, err = readNumbers[float64](text)
	return err
}

// Rung is a score at which the tuner decides.
type Rung struct {
	Score Real `json:"score"`
	// Values are the values of several objectives and constraints.
	Values map[string]Real `json:"values,omitempty"`
}

// Fail is why a trial cannot go on.
type Fail struct {
	Reason string `json:"reason"`
	Stack  string `json:"stack,omitempty"`
}

// Finalist is a finalist's score.
type Finalist struct {
	Score    Real `json:"score"`
	Clients  int  `json:"clients"`
	Examples int  `json:"examples"`
}

// Act is a user action.
type Act struct {
	Act string `json:"act"`
}

// Observation is what the client tuner receives about a recorded round, from 0. With jobs
// its slots hold updates and lost work, whenever they were planned.
func (rec *Round) Observation(trial, round int, jobs bool) tuners.Observation {
	if rec.Private != nil {
		return rec.private(trial, round)
	}
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
	if jobs {
		o.Oldest = rec.Fleet.Oldest
		for i := range rec.Fleet.Jobs {
			j := &rec.Fleet.Jobs[i]
			if i == len(o.Slots) { // it was lost
				o.Slots = append(o.Slots, tuners.Slot{Dropped: true})
			}
			o.Slots[i].Job = &tuners.Job{Round: round - j.Staleness, Slot: j.Slot, Staleness: j.Staleness, Weight: cmp.Or(float64(j.Weight), 1), Fate: j.Fate}
		}
	}
	return o
}

// private is the observation of a private round.
func (rec *Round) private(trial, round int) tuners.Observation {
	o := tuners.Observation{Trial: trial, Round: round, Aggregates: map[string]float64{}}
	for name, values := range rec.Private {
		if o.Slots == nil {
			o.Slots = make([]tuners.Slot, len(values))
		}
		for i, x := range values {
			if o.Slots[i].Probes == nil {
				o.Slots[i].Probes = map[string]float64{}
			}
			o.Slots[i].Probes[name] = float64(x)
		}
	}
	return o
}

// MaskedErrors returns the errors without the labels of masks, nil without any.
func (rec *Round) MaskedErrors() map[string]float64 { return Numbers(rec.Masked) }

// Local is what a point came to with which clients trained by themselves, client by client:
// Losses where they decide between equal scores.
type Local struct {
	Scores   []Real `json:"scores"` // in the study's metric
	Losses   []Real `json:"losses"`
	Samples  []int  `json:"samples"`  // for validation
	Examples int    `json:"examples"` // that the clients trained on, all passes
}

// Mean is the mean of the scores, weighted by samples.
func (l *Local) Mean() float64 {
	sum, samples := 0.0, 0
	for i, x := range l.Scores {
		sum += float64(float64(x) * float64(l.Samples[i]))
		samples += l.Samples[i]
	}
	return sum / float64(samples)
}

// Numbers are the scores.
func (l *Local) Numbers() []float64 {
	all := list.Made(len(l.Scores), func(i int) float64 { return float64(l.Scores[i]) })
	return all
}
