package result

import (
	"cmp"
	"encoding/json"
	"math"

	"github.com/fedfast/fedfast/fl/study/config"
	"github.com/fedfast/fedfast/fl/study/internal/record"
	"github.com/fedfast/fedfast/internal/list"
	"github.com/fedfast/fedfast/tuners"
)

// Settings are the hyperparameters with which a model would be trained anew.
type Settings struct {
	// Params are the trial's own, and over them what its client tuner ended with: of params
	// that clients draw the likeliest ones, else those that most clients have.
	Params tuners.Params `json:"params"`
	// StartedFrom are the same as the trial began; nil without a client tuner.
	StartedFrom tuners.Params `json:"started_from,omitempty"`
	// Probability is how often the client tuner draws Params, or the share of clients that
	// have them, (0, 1]; 0 where all have the same.
	Probability float64 `json:"probability,omitempty"`
	// Table is the one in which clients look theirs up instead, nil for none.
	Table []tuners.Cell `json:"table,omitempty"`
}

// AuditResult is what an audit of a private run found.
type AuditResult struct {
	// Epsilon at Delta is the epsilon of the account of the rounds, of the run itself.
	Epsilon float64 `json:"epsilon"`
	Delta   float64 `json:"delta"`
	// LowerBound is an epsilon that the rounds exceed with a confidence of 95 %.
	LowerBound float64 `json:"lower_bound"`
	// NoiseTooLow says that the noise is below what was promised, with an error of one in
	// 1,000. Passed says that neither shows a bug.
	NoiseTooLow bool `json:"noise_too_low"`
	Passed      bool `json:"passed"`
	Canaries    int  `json:"canaries"`
	Rounds      int  `json:"rounds"`
}

// LocalSearch is what a study's clients trained by themselves, beside the rounds of its
// budget.
type LocalSearch struct {
	// Points are how many configurations each of Clients trained with, Examples the training
	// samples of all, all passes.
	Points   int `json:"points"`
	Clients  int `json:"clients"`
	Examples int `json:"examples"`
	// Votes is how many points each client voted for, 0 where it told its scores.
	Votes int `json:"votes,omitempty"`
	// Noise is the standard deviation of the noise on the votes for a point, or on the sum
	// of the clients' errors with it, of a private study.
	Noise float64 `json:"noise,omitempty"`
}

// WarmStart says with what a tuner began: Trials of finished studies, of which Dropped others
// were left out, since they lie outside of the space or lack a metric.
type WarmStart struct {
	Studies int `json:"studies"`
	Trials  int `json:"trials"`
	Dropped int `json:"dropped"`
	// Rounds is how many the studies' trials ran.
	Rounds int `json:"rounds"`
}

// State is how far a study or a trial is.
type State string

// The states of studies and trials. A study is never pruned or failed.
const (
	// Running is what a process works on. A trial that waits at a rung is running.
	Running State = "running"
	// Completed has come to its end. A trial has when it has run all its rounds, or
	// was not stopped before the study ended.
	Completed State = "completed"
	// Pruned is a trial that was stopped before its last round: by the tuner or by a
	// user.
	Pruned State = "pruned"
	// Failed is a trial that cannot go on.
	Failed State = "failed"
	// Interrupted is what no process works on although it has not come to its end.
	Interrupted State = "interrupted"
)

// Rung is a round at which the tuner decided about a trial.
type Rung struct {
	Round int     `json:"round"`
	Score float64 `json:"score"`
	// Second is the simulated second that the rung stands for, with budget.seconds: Round
	// is the first one that ended then or later.
	Second int `json:"second,omitempty"`
	// Update is the same in updates, with budget.updates.
	Update int `json:"update,omitempty"`
	// Values are the values of all objectives and constraints, by metric; nil with one objective.
	Values map[string]float64 `json:"values,omitempty"`
}

// Spent is what the study spent of a budget in simulated seconds or updates, 0 of another.
func (r *Result) Spent() int { return cmp.Or(r.SimulatedSeconds, r.Updates) }

// At is how far the trial was, in what its budget counts.
func (r Rung) At() int { return cmp.Or(r.Second, r.Update, r.Round) }

// TrialResult is one trial of a study.
type TrialResult struct {
	Number int `json:"number"`
	// State is Completed, Pruned or Failed.
	State  State         `json:"state"`
	Params tuners.Params `json:"params"`
	// Rounds is how many rounds the trial ran.
	Rounds int `json:"rounds"`
	// Score is the trial's score at its last rung.
	Score float64 `json:"score"`
	// Rungs are all its rungs in order.
	Rungs []Rung `json:"rungs"`
	// Values are those at the last rung of all objectives and constraints, by metric; nil
	// with one objective. Infeasible trials are beyond a constraint; Front is set for those
	// that completed, are feasible, and that no other such trial beats in all objectives.
	Values     map[string]float64 `json:"values,omitempty"`
	Infeasible bool               `json:"infeasible,omitempty"`
	Front      bool               `json:"front,omitempty"`
	// Dropped counts client results left out because they were not finite.
	Dropped int `json:"dropped"`
	// Loss is how its training loss went.
	Loss Trend `json:"train_loss"`
	// Curve holds what eval.every had measured.
	Curve []CurvePoint `json:"curve,omitempty"`
	// Fleet is its simulated time and lost work, nil without a fleet; SecondsToGoal the
	// simulated time at which it reached the goal, where that is the objective.
	Fleet         *Simulated `json:"fleet,omitempty"`
	SecondsToGoal *float64   `json:"seconds_to_goal,omitempty"`
	// Source is the trial that this one was forked from.
	Source *int `json:"source,omitempty"`
	// Failed returns why the trial was given up, empty when it was not.
	Failed string `json:"failed,omitempty"`
	// Stopped is set if a user stopped the trial, empty if it was not.
	Stopped string `json:"stopped,omitempty"`
}

// Chosen is a model that a study returns, with its evaluation.
type Chosen struct {
	Number int `json:"number"`
	Settings
	// Round is the number of rounds after which the weights were taken.
	Round int `json:"round"`
	// Score is what the model was judged by: as a finalist, else CohortScore. That
	// of the returned model is the study's best score.
	Score float64 `json:"score"`
	// CohortScore is the trial's score after that round, on the validation
	// samples of the round's cohort.
	CohortScore float64 `json:"cohort_score"`
	// SHA256 is the weights' digest, see fl.WeightsSHA256.
	SHA256 string `json:"weights_sha256"`
	Errors
	// Weights are the model's in its packed layout, nil where they are not at hand.
	Weights []float32 `json:"-"`
}

// Finalist is a model among which a study chose.
type Finalist struct {
	Trial int `json:"trial"`
	Round int `json:"round"`
	// Survivor is set for a trial that had run so far when the budget was spent; else
	// it is the trial's snapshot of the lowest score.
	Survivor bool `json:"survivor"`
	// CohortScore is the trial's score after that round, on its cohort.
	CohortScore float64 `json:"cohort_score"`
	// Score is the study's objective on validation samples; Clients is the number
	// of clients that have them, and Examples their total number.
	Score    float64 `json:"score"`
	Clients  int     `json:"clients"`
	Examples int     `json:"examples"`
}

// Result is the end of a study.
type Result struct {
	Study string `json:"study"`
	// Select describes how the returned model was chosen, as Config.Select.
	Select string `json:"select"`
	// Best is the returned model: the finalist of the lowest score, or with
	// SelectPaper the model of the lowest score that any cohort gave.
	Best Chosen `json:"best"`
	// Finalists are the models among which Best was chosen, in the order in which
	// they were scored; none with SelectPaper.
	Finalists []Finalist `json:"finalists,omitempty"`
	// Sides are the trials on proxy federations with which the client tuner was
	// prepared, in their order.
	Sides []ProxyTrial `json:"sides,omitempty"`
	// LocalSearch is what clients trained by themselves before the trials; nil for nothing.
	LocalSearch *LocalSearch `json:"local_search,omitempty"`
	// Survivor is the trial that the tuner kept to the end, nil when it named
	// none.
	Survivor *Chosen `json:"survivor"`
	// Luckiest is the model of the lowest score that any cohort gave after any
	// round, which SelectPaper would have returned; nil where it did.
	Luckiest *Chosen `json:"luckiest,omitempty"`
	// Trials are all trials in the order of their numbers.
	Trials []TrialResult `json:"trials"`
	// Objectives are the metrics of several objectives, or of one with constraints, in
	// their order; Front are the numbers of the trials on the Pareto front.
	Objectives []string `json:"objectives,omitempty"`
	Front      []int    `json:"front,omitempty"`
	// Errors are the returned model's, as in Best.
	Errors
	WeightsSHA256  string `json:"weights_sha256"`
	SurvivorSHA256 string `json:"survivor_sha256,omitempty"`
	// Rounds is the number of rounds of all trials together, SimulatedSeconds what they
	// spent of budget.seconds, Updates what they spent of budget.updates.
	Rounds           int `json:"rounds"`
	SimulatedSeconds int `json:"simulated_seconds,omitempty"`
	Updates          int `json:"updates,omitempty"`
	// Seconds is the wall time from the first round to the last evaluation,
	// RoundsPerSecond the rate over the rounds alone.
	Seconds         float64 `json:"seconds"`
	RoundsPerSecond float64 `json:"rounds_per_second"`
	// Goal is the test accuracy at which a lone trial ends, 0 without one; Patience is
	// eval.patience, which ends it, too.
	Goal     float64 `json:"goal,omitempty"`
	Patience int     `json:"patience,omitempty"`
	// Privacy is what the study may have cost, with dp: that of its whole budget; nil without.
	Privacy *config.Account `json:"privacy,omitempty"`
	// Audit is what was trained twice on a cluster, nil without audits.
	Audit *ClusterAudit `json:"audit,omitempty"`
	// WarmStart is with what the tuner began, nil without tuner.from. Pauses counts how often
	// the study stopped at budget.wall_seconds and was resumed.
	WarmStart *WarmStart `json:"warm_start,omitempty"`
	Pauses    int        `json:"pauses,omitempty"`
	// Stopped is set if a user ended the study before its tuner was done.
	Stopped bool `json:"stopped_by_person,omitempty"`
	// Reference is the result of the configured values, nil without tuner.reference.
	Reference *Reference `json:"reference,omitempty"`
	// Without compares the returned model with eval.baselines; nil without them.
	Without []Comparand `json:"without_federation,omitempty"`
	// Baseline is set when one was asked for.
	Baseline *BaselineResult `json:"baseline,omitempty"`
}

// Trial returns the trial with a number, which may be that of the reference; nil for none.
func (r *Result) Trial(number int) *TrialResult {
	switch ref := r.Reference; {
	case number >= 0 && number < len(r.Trials):
		return &r.Trials[number]
	case ref != nil && ref.Trial != nil && ref.Trial.Number == number:
		return ref.Trial
	}
	return nil
}

// Models are those that the result describes, the returned one first.
func (r *Result) Models() []*Chosen {
	others := list.Where([]*Chosen{r.Survivor, r.Luckiest}, func(c *Chosen) bool { return c != nil })
	return append([]*Chosen{&r.Best}, others...)
}

// Losses are training losses, NaN where all clients were dropped; that is null in JSON.
type Losses []float64

// MarshalJSON writes NaN as null.
func (l Losses) MarshalJSON() ([]byte, error) {
	reals := list.Made(len(l), func(i int) record.Real { return record.Real(l[i]) })
	return json.Marshal(reals)
}

// UnmarshalJSON reads what MarshalJSON writes.
func (l *Losses) UnmarshalJSON(text []byte) error {
	var reals []*record.Real // null leaves nil
	if err := json.Unmarshal(text, &reals); err != nil {
		return err
	}
	*l = make(Losses, len(reals))
	for i, x := range reals {
		if (*l)[i] = math.NaN(); x != nil {
			(*l)[i] = float64(*x)
		}
	}
	return nil
}

// RunResult is the end of a plain federated training.
type RunResult struct {
	Study string `json:"study"`
	// TrainLoss is the mean training loss of each round over the clients that were not
	// dropped.
	TrainLoss Losses `json:"train_loss"`
	// Curve holds what eval.every had measured.
	Curve []CurvePoint `json:"curve,omitempty"`
	// Fleet is the simulated time and lost work, nil without a fleet; SecondsToGoal the
	// simulated time at which the test accuracy was first measured at the goal or above.
	Fleet         *Simulated `json:"fleet,omitempty"`
	SecondsToGoal *float64   `json:"seconds_to_goal,omitempty"`
	// Goal is the test accuracy at which the run ends, 0 without one; Patience is
	// eval.patience, which ends it, too.
	Goal     float64 `json:"goal,omitempty"`
	Patience int     `json:"patience,omitempty"`
	Errors
	WeightsSHA256 string `json:"weights_sha256"`
	Rounds        int    `json:"rounds"`
	// Returned is the round after which the returned model was taken, that of the lowest
	// validation error, with eval.patience; 0 is the last round.
	Returned int `json:"returned_round,omitempty"`
	// Privacy is what the run cost, with dp; nil without.
	Privacy *config.Account `json:"privacy,omitempty"`
	// Audit is what was trained twice on a cluster, nil without audits.
	Audit *ClusterAudit `json:"audit,omitempty"`
	// Traffic is what was sent, and what happened to updates on their way.
	Traffic *Traffic `json:"traffic,omitempty"`
	// Dropped counts client results left out because they were not finite.
	Dropped         int     `json:"dropped"`
	Examples        int     `json:"examples"`
	Seconds         float64 `json:"seconds"`
	RoundsPerSecond float64 `json:"rounds_per_second"`
	// DigestShare is the share of the rounds' time that digests took, with config.DigestsAll.
	DigestShare float64 `json:"digest_share,omitempty"`
	// Without compares the model with eval.baselines; nil without them.
	Without []Comparand `json:"without_federation,omitempty"`
	// Weights are the trained ones in the model's packed layout, nil where they are not at hand.
	Weights []float32 `json:"-"`
}

// ClusterAudit is what a Trainer trained twice, to find workers that compute wrongly.
type ClusterAudit struct {
	// Share is the share of the rounds, and of the parts of shared ones, that were.
	Share float64 `json:"share"`
	// Results is how many had the same bits both times, in the process that ended the study.
	Results int `json:"results"`
	// Dismissed are the workers whose results were wrong, one line each.
	Dismissed []string `json:"dismissed,omitempty"`
}
