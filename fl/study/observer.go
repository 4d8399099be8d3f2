package study

import (
	"sync"

	"github.com/fedfast/fedfast/fl/study/result"
	"github.com/fedfast/fedfast/tuners"
)

// Event is one line of a study's metrics: a round or a rung of a trial. The
// sequence of events is the same for any number of workers.
type Event struct {
	// Event is "round", "rung", "fail", "stop" (by a user) or "finalist".
	Event string `json:"event"`
	Trial int    `json:"trial"`
	// Reference is set for a round or rung of the trial of the configured values.
	Reference bool `json:"reference,omitempty"`
	// Round is how many rounds the trial has run.
	Round int `json:"round"`
	// Second is the simulated second of a rung, with budget.seconds; Update its number of
	// updates, with budget.updates.
	Second int `json:"second,omitempty"`
	Update int `json:"update,omitempty"`
	// Score is the trial's score, nil where the clients have no validation
	// samples or none was asked for.
	Score *float64 `json:"score,omitempty"`
	// Values are the values of a rung, by metric, of several objectives and constraints.
	Values map[string]float64 `json:"values,omitempty"`
	// OtherScore is a round's own score under the other target, nil without
	// score.both.
	OtherScore *float64 `json:"other_score,omitempty"`
	// TrainLoss and what follows describe a round.
	TrainLoss *float64 `json:"train_loss,omitempty"`
	Steps     int      `json:"steps,omitempty"`
	Examples  int      `json:"examples,omitempty"`
	Dropped   int      `json:"dropped,omitempty"`
	// Down and Up are the bytes that clients received and sent; Attackers counts the
	// attackers among them.
	Down      int64 `json:"bytes_down,omitempty"`
	Up        int64 `json:"bytes_up,omitempty"`
	Attackers int   `json:"attackers,omitempty"`
	// DroppedSlots are the places in Clients of those that were left out since
	// their results were not finite.
	DroppedSlots []int    `json:"dropped_slots,omitempty"`
	Clients      []string `json:"clients,omitempty"`
	// Clock is the simulated time after the round, nil without a fleet; Late, Vanished
	// and Stale count the jobs whose work was lost, FailedRounds the rounds that were
	// repeated.
	Clock        *float64 `json:"clock,omitempty"`
	Late         int      `json:"late,omitempty"`
	Vanished     int      `json:"vanished,omitempty"`
	Stale        int      `json:"stale,omitempty"`
	FailedRounds int      `json:"failed_rounds,omitempty"`
	// Params are what the client tuner set for all clients of the round alike.
	Params tuners.Params `json:"params,omitempty"`
	// TestError is the global model's after the round, every eval.every rounds.
	TestError *float64 `json:"test_error,omitempty"`
	// Epsilon is what the trial's rounds alone have cost by then in privacy, with dp, every
	// eval.every rounds.
	Epsilon *float64 `json:"epsilon,omitempty"`
	// ValError is that on the clients' validation samples, with eval.patience.
	ValError *float64 `json:"val_error,omitempty"`
	// Unseen is the error of clients that never train, see CurvePoint.Unseen.
	Unseen *float64 `json:"unseen_test_error,omitempty"`
	// Masked are TestError without the labels of the federation's masks.
	Masked map[string]float64 `json:"masked_test_errors,omitempty"`
	// Reason returns why the trial failed or was stopped.
	Reason string `json:"reason,omitempty"`
}

// Progress is how far a study is, for a display.
type Progress struct {
	// Preparing is set while the client tuner is being prepared: Trial is the
	// number of a trial on a proxy federation that has ended, Round and Rounds
	// are how many have, of the most that there can be, and Loss and Best are
	// NaN.
	Preparing bool
	// Local is set with Preparing while clients train by themselves: Trial is the number of
	// a point with which all of them have.
	Local bool
	// Reference is set while the configured values are trained, after the trials: Round and
	// Rounds are then of that trial.
	Reference bool
	// Trial and TrialRound are the round of a trial that has just ended,
	// ToRound where the trial runs to.
	Trial, TrialRound, ToRound int
	// Rung is the trial's rung to which it runs, from 1 on; 0 while preparing.
	Rung int
	// Round of Rounds have ended over all trials; Rounds is 0 when unknown. These,
	// TrialRound and ToRound count Unit: "round", or "simulated second" or "update" with
	// budget.seconds or budget.updates.
	Round, Rounds int
	Unit          string
	// Loss is the round's training loss, the mean over the clients that were not
	// dropped; NaN when all were. Dropped counts those whose results were not finite.
	Loss    float64
	Dropped int
	// Fleet is the trial's simulated time and lost work so far, nil without a fleet.
	Fleet *result.Simulated
	// TestError is the trial's newest one, nil before the first measurement, of its round TestRound;
	// 0 for the present one. Measure describes what it is, as Errors.Measure, and Target whose, as
	// in Config.Measures.
	TestError *float64
	TestRound int
	Measure   string
	Target    string
	// Epsilon is an upper bound of what the rounds of all trials have cost in privacy, nil
	// without dp.
	Epsilon *float64
	// Score is the trial's on the cohort of the round, NaN when unknown.
	Score float64
	// Best is the standing of the best trial so far, whose score is NaN before any;
	// Scale describes how scores are written.
	Best  result.Standing
	Scale result.Scale
	// Clients is how many trained in the round, 0 where it was read from a record.
	Clients int
	// Trials have been begun, of which TrialsLeft neither failed nor were stopped
	// or trained to the end.
	Trials, TrialsLeft int
}

// Observer watches a study.
type Observer interface {
	// Event is called from one goroutine at a time, in an order that does not
	// depend on the number of workers.
	Event(Event)
	// Progress is called as rounds end, from several goroutines, in any
	// order.
	Progress(Progress)
	// Evaluated is called as clients are measured at the end, from several
	// goroutines, in any order; one model comes after the other.
	Evaluated(Evaluated)
}

// Evaluated describes how far the evaluation of a model has come.
type Evaluated struct {
	// Model describes which one it is where there are several, such as "finalist 2 of 5".
	Model string
	// Clients of Of have been measured.
	Clients, Of int
}

// evaluated passes the progress of a model's evaluation to an observer.
func evaluated(o Observer, model string) func(clients, of int) {
	return func(clients, of int) { o.Evaluated(Evaluated{model, clients, of}) }
}

// silent is an Observer that does nothing.
type silent struct{}

func (silent) Event(Event)         {}
func (silent) Progress(Progress)   {}
func (silent) Evaluated(Evaluated) {}

// lanes brings the events of trials that run in parallel into an order that
// does not depend on which is faster. With tuner.parallel = 1 that is the order of
// the decisions: the events of the first unfinished lane pass at once, those of
// later ones wait. Else those of a lane wait until the report of its trial.
type lanes struct {
	mu       sync.Mutex
	to       Observer
	byReport bool    // they wait for the report of their trial
	queue    []*lane // in the order of the decisions
}

// lane is the events of one segment.
type lane struct {
	of      *lanes
	ended   bool
	waiting []Event
}

// open adds a lane after those that there are.
func (l *lanes) open() *lane {
	l.mu.Lock()
	defer l.mu.Unlock()
	n := &lane{of: l}
	if !l.byReport {
		l.queue = append(l.queue, n)
	}
	return n
}

// event passes an event on or lets it wait.
func (n *lane) event(e Event) {
	l := n.of
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.byReport && l.queue[0] == n {
		l.to.Event(e)
		return
	}
	n.waiting = append(n.waiting, e)
}

// end marks the lane as complete.
func (n *lane) end() {
	l := n.of
	l.mu.Lock()
	defer l.mu.Unlock()
	n.ended = true
	for len(l.queue) > 0 && l.queue[0].ended {
		l.queue = l.queue[1:]
		if len(l.queue) > 0 {
			l.queue[0].pass()
		}
	}
}

// report passes on the events of a trial whose report is about to be made.
func (n *lane) report() {
	n.of.mu.Lock()
	defer n.of.mu.Unlock()
	if n.of.byReport {
		n.pass()
	}
}

// pass passes on what waits.
func (n *lane) pass() {
	for _, e := range n.waiting {
		n.of.to.Event(e)
	}
	n.waiting = nil
}
