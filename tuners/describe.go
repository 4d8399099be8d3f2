package tuners

// Description says what a tuner is, what it can do and what it needs to see.
type Description struct {
	Name    string // as in --tuner NAME: lower-case letters, digits, '-' and '_'
	Version string // of the tuner, not of the protocol
	Doc     string // one or two sentences for `fedfast tuner list`

	Options []Option // the keys that the study file may set under [tuner.options] or [client_tuner.options]

	Trials        bool // it answers Suggest and Report: it can be a study's tuner
	Rounds        bool // it answers PlanRound and ObserveRound: it can be a client tuner
	Tables        bool // its plans may hold a table that clients look up themselves
	Architectures bool // the choices of a model join its space as dimensions client.arch.NAME, where clients train sub-networks
	Fork          bool // it may fork trials
	Seconds       bool // its budget may be one in simulated seconds or in updates, see Budget.Seconds
	Jobs          bool // as a client tuner it follows jobs from one round to another, see Slot.Job
	Prepare       bool // as a client tuner it gets its own Suggest / Report loop before the first trial
	Multi         bool // it takes several objectives
	Constraints   bool // it takes constraints
	Priors        bool // it takes trials of finished studies
	NeedsPriors   bool // it suggests nothing without such trials that ran all their rounds, see Prior.Whole
	Conditions    bool // it takes dimensions with a condition, see Dim.When
	Local         bool // it may have clients train by themselves, see LocalSearch

	// Free says that a client tuner's plans may set controlled params to values
	// outside of the study's space, which then only says where trials start: it
	// moves them as FATHOM does, by steps that know no grid.
	Free bool

	Controls []string // the params that a client tuner sets per round; a trailing ".*" takes every name with that prefix
	Adds     []Dim    // dimensions of its own that join the study's space, e.g. "fedex.gamma"
	Probes   []string // per-slot probes that it can use; a session that needs fewer says so, see Prober
	Scalars  []string // per-slot scalars about clients that it needs: "examples_train", "examples_val", "client_key"
}

// ScalarClientKey is the scalar that tells who a client is: a number that stays the same
// in all rounds. It comes with plans, too, see PlanRequest.
const ScalarClientKey = "client_key"

// Option is one key of a tuner's options.
type Option struct {
	Name    string
	Default Value // its kind is the option's kind
	Doc     string
	Scaled  bool // a number that `--scale` multiplies, with the study's rounds
}

// Direction says whether lower or higher scores are better.
type Direction uint8

// The directions of an objective.
const (
	Minimize Direction = iota
	Maximize
)

// String returns "minimize" or "maximize".
func (d Direction) String() string {
	if d == Maximize {
		return "maximize"
	}
	return "minimize"
}

// The metrics and targets of an objective.
const (
	MetricError    = "error"    // share of examples classified wrongly, 0..1; 1 - recall or RMSE of other losses
	MetricLoss     = "loss"     // mean loss per example
	MetricAccuracy = "accuracy" // share of examples classified rightly, maximized
	MetricRecall   = "recall"   // share of labels among the outputs that count, maximized
	MetricRMSE     = "rmse"     // root of the mean squared error of a regression
	MetricMAE      = "mae"      // mean absolute error of a regression
	MetricR2       = "r2"       // coefficient of determination of a regression, maximized
	// These are taken of the probabilities of all scored samples together. All but the last are maximized.
	MetricROCAUC   = "roc_auc"           // area under the ROC curve, of more than two classes the mean over them
	MetricPRAUC    = "pr_auc"            // average precision, likewise
	MetricF1       = "f1"                // of the second of two classes, of more the mean over them
	MetricBalanced = "balanced_accuracy" // mean recall of the classes
	MetricMeanAP   = "mean_ap"           // mean of the average precision over tags
	MetricLogLoss  = "log_loss"          // mean negative logarithm of the probability of the true class
	// MetricSecondsToGoal is the simulated seconds after which a trial reaches eval.goal. One
	// that does not scores M (1 + its error), where M is budget.trial_seconds: after all
	// that do, and in the order of their errors.
	MetricSecondsToGoal = "seconds_to_goal"
	TargetPersonalized  = "personalized" // the client's model after its local training, on the client's validation examples
	TargetGlobal        = "global"       // the broadcast model on the client's validation examples
)

// Objective says what the scores of a study measure.
type Objective struct {
	Metric    string // MetricError (also when empty) or another of those above
	Target    string // TargetPersonalized (also when empty) or TargetGlobal
	Direction Direction
}

// ObjectiveOf returns the objective of a metric and a target, in the direction in
// which the metric is better.
func ObjectiveOf(metric, target string) Objective {
	o := Objective{Metric: metric, Target: target}
	switch metric {
	case MetricAccuracy, MetricRecall, MetricR2, MetricJain:
		o.Direction = Maximize
	default:
		if OfAnswers(metric) && metric != MetricLogLoss {
			o.Direction = Maximize
		}
	}
	return o
}

// OfAnswers reports whether a metric is taken of the probabilities of all scored samples
// together, and not of the errors or losses of clients.
func OfAnswers(metric string) bool {
	switch metric {
	case MetricROCAUC, MetricPRAUC, MetricF1, MetricBalanced, MetricMeanAP, MetricLogLoss:
		return true
	}
	return false
}

// Better says whether score a beats score b strictly. NaN beats nothing and is
// beaten by every number.
func (o Objective) Better(a, b float64) bool {
	switch {
	case a != a:
		return false
	case b != b:
		return true
	case o.Direction == Maximize:
		return a > b
	}
	return a < b
}

// Compare returns -1 if score a comes before score b in the order of the best first,
// 1 if it comes after it, else 0. NaN comes last.
func (o Objective) Compare(a, b float64) int {
	switch {
	case o.Better(a, b):
		return -1
	case o.Better(b, a):
		return 1
	}
	return 0
}

// Budget is what a study may spend.
type Budget struct {
	Rounds      int // all trials together (T of the FedEx paper)
	TrialRounds int // one trial at most (M)
	// Seconds says that both, Decision.ToRound and TrialReport.Round count simulated
	// seconds in place of rounds: a trial reports after the first round that ends at or
	// after ToRound. Only a tuner with Description.Seconds receives such a budget.
	Seconds bool
	// Updates says so of updates that the server takes from clients. Seconds is false.
	Updates bool
}

// Unit returns what the budget counts: "round", "second" or "update".
func (b Budget) Unit() string {
	switch {
	case b.Seconds:
		return "second"
	case b.Updates:
		return "update"
	}
	return "round"
}

// InRounds reports whether the budget counts rounds.
func (b Budget) InRounds() bool { return !b.Seconds && !b.Updates }
