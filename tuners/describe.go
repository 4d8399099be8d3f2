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
	Architectures bool // its plans may hold architectures
	Fork          bool // it may fork trials
	Prepare       bool // as a client tuner it gets its own Suggest / Report loop before the first trial

	// Free says that a client tuner's plans may set controlled params to values
	// outside of the study's space, which then only says where trials start: it
	// moves them as FATHOM does, by steps that know no grid.
	Free bool

	Controls []string // the params that a client tuner sets per round; a trailing ".*" takes every name with that prefix
	Adds     []Dim    // dimensions of its own that join the study's space, e.g. "fedex.gamma"
	Probes   []string // per-slot probes that it can use; a session that needs fewer says so, see Prober
	Scalars  []string // per-slot scalars about clients that it needs: "examples_train", "examples_val", "client_key"
}

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
	MetricError        = "error"        // share of examples classified wrongly, 0..1
	MetricLoss         = "loss"         // mean loss per example
	TargetPersonalized = "personalized" // the client's model after its local training, on the client's validation examples
	TargetGlobal       = "global"       // the broadcast model on the client's validation examples
)

// Objective says what the scores of a study measure.
type Objective struct {
	Metric    string // MetricError (also when empty) or MetricLoss
	Target    string // TargetPersonalized (also when empty) or TargetGlobal
	Direction Direction
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

// Budget is what a study may spend.
type Budget struct {
	Rounds      int // all trials together (T of the FedEx paper)
	TrialRounds int // one trial at most (M)
}
