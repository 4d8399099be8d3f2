// Package fedex is the built-in tuner `fedex`: FedEx (Khodak et al., Federated
// Hyperparameter Tuning, NeurIPS 2021), which tunes the clients' hyperparameters
// while the federation trains. Each trial holds k configurations near the trial's
// own and a distribution theta over them; every client of a round trains with a
// drawn one, and theta moves by exponentiated gradient steps on the clients'
// validation errors.
//
// FedEx is a client tuner: put it under `sha` or `random`, which draw its centre
// and the server's hyperparameters. Alone it starts one trial of
// budget.trial_rounds rounds.
package fedex

import (
	"context"
	"fmt"

	"github.com/fedfast/fedfast/internal/tuner/internal/batch"
	"github.com/fedfast/fedfast/tuners"
)

// Gamma is the dimension that FedEx adds to the space: the discount of the
// baseline, drawn per trial.
const Gamma = "fedex.gamma"

// The names of the step size schedules: what eta0 is divided by.
const (
	Aggressive = "aggressive" // max |grad|, 1 when the gradient is zero
	Adaptive   = "adaptive"   // sqrt of the sum over rounds of max |grad|^2, 1 while the sum is 0
	Auto       = "auto"       // sqrt of the number of updates
	Constant   = "constant"   // 1
)

// The names of the baselines, which steps subtract from the scores.
const (
	Past = "past" // the discounted mean of the past rounds' mean errors
	Zero = "zero" // 0, as Theorem 4.1 has it
)

// The names of the ways in which a client counts whose result was dropped or lost.
const (
	Worst    = "worst"    // as the worst: an error of 1, or the round's largest loss
	Diverged = "diverged" // so if its result was not finite, not at all if it was lost
	Skip     = "skip"     // not at all
)

// Tuner is FedEx. The zero value is ready to use.
type Tuner struct{}

var _ tuners.Tuner = Tuner{}

// Describe says what FedEx is.
func (Tuner) Describe(context.Context) (tuners.Description, error) { return description, nil }

var description = tuners.Description{
	Name:    "fedex",
	Version: "1.0.0",
	Doc:     "FedEx: tunes client hyperparameters during training, by exponentiated gradient over configurations near the trial's own.",
	Options: []tuners.Option{
		{Name: "configs", Default: tuners.Num(27), Doc: "k, the number of client configurations per trial"},
		{Name: "draw_configs", Default: tuners.Bool(false), Doc: "draw k from 1..configs for each trial"},
		{Name: "independent", Default: tuners.Bool(false), Doc: "draw configurations from the whole space instead of near the first"},
		{Name: "eps", Default: tuners.Num(0.1), Doc: "maximum distance from the first configuration, as a fraction of each range, 0..1"},
		{Name: "schedule", Default: tuners.Str(Aggressive), Doc: "step size: aggressive, adaptive, auto or constant"},
		{Name: "eta0", Default: tuners.Num(0), Doc: "base step size; 0: sqrt(2 ln k)"},
		{Name: "gamma", Default: tuners.Num(-1), Doc: "discount of the baseline, 0..1; -1: the trial's own fedex.gamma"},
		{Name: "baseline", Default: tuners.Str(Past), Doc: "baseline subtracted from errors: past (discounted mean of past rounds) or zero"},
		{Name: "cutoff", Default: tuners.Num(0), Doc: "entropy of theta, in nats, below which theta is frozen and its argmax used"},
		{Name: "dropped", Default: tuners.Str(Worst), Doc: "treatment of clients with NaN/Inf results, and of those whose work is lost on a fleet: worst (error 1, or the round's largest loss), diverged (worst for NaN/Inf, ignore lost work) or skip (ignore both)"},
		{Name: "diff", Default: tuners.Bool(false), Doc: "use the error after minus before local training"},
		{Name: "mle", Default: tuners.Bool(false), Doc: "evaluate with the argmax of theta instead of draws"},
		{Name: "as_paper", Default: tuners.Bool(false), Doc: "integer dimensions: neighbors from c - floor(w) to c + ceil(w), as printed in the paper"},
	},
	Trials:        true,
	Seconds:       true,
	Architectures: true,
	Rounds:        true,
	Jobs:          true,
	Controls:      []string{"client.*"},
	Adds:          []tuners.Dim{{Name: Gamma, Kind: tuners.Uniform, Lo: 0, Hi: 1}},
	Probes:        []string{"val_error_after", "val_error_before", "val_loss_after", "val_loss_before"},
	Scalars:       []string{"examples_val"},
}

// Validate checks the options, the objective and that there is something to tune.
func (Tuner) Validate(_ context.Context, req tuners.ValidateRequest) ([]tuners.Problem, error) {
	_, problems := readOptions(req.Options)
	if len(req.Space.Matching(description.Controls...)) == 0 {
		problems = append(problems, tuners.Problem{Key: "space", Message: "fedex tunes client.* dimensions, but the space has none"})
	}
	switch req.Objective.Metric {
	case "", tuners.MetricError, tuners.MetricLoss, tuners.MetricAccuracy, tuners.MetricRecall: // of the last two by the error, which is the rest
	default:
		problems = append(problems, tuners.Problem{Key: "objective", Message: fmt.Sprintf("fedex requires the target %q or %q, or one that is 1 minus the error, not %q", tuners.MetricError, tuners.MetricLoss, req.Objective.Metric)})
	}
	return problems, nil
}

// Open starts the session of one trial, or, for FedEx alone, that of the study.
func (t Tuner) Open(ctx context.Context, req tuners.OpenRequest) (tuners.Session, error) {
	problems, err := t.Validate(ctx, tuners.ValidateRequest{Space: req.Space, Options: req.Options, Budget: req.Budget, Objective: req.Objective})
	if err != nil {
		return nil, err
	}
	if len(problems) > 0 {
		return nil, fmt.Errorf("fedex: %s: %s", problems[0].Key, problems[0].Message)
	}
	if req.Trial == tuners.StudySession {
		return batch.Lone("fedex", req)
	}
	o, _ := readOptions(req.Options) // checked above
	return newSession(req, o)
}

// options are the checked options.
type options struct {
	configs                                      int
	eps, eta0, gamma, cutoff                     float64
	schedule, baseline, dropped                  string
	drawConfigs, independent, diff, mle, asPaper bool
}

// readOptions fills in the defaults and returns everything that is wrong.
func readOptions(p tuners.Params) (options, []tuners.Problem) {
	problems := description.CheckOptions(p)
	if len(problems) > 0 {
		return options{}, problems
	}
	p = description.WithDefaults(p)
	o := options{
		configs: p.Int("configs", 0), drawConfigs: p.Truth("draw_configs", false), independent: p.Truth("independent", false),
		eps: p.Float("eps", 0), schedule: p.Text("schedule", ""), eta0: p.Float("eta0", 0), gamma: p.Float("gamma", 0),
		baseline: p.Text("baseline", ""), dropped: p.Text("dropped", ""), cutoff: p.Float("cutoff", 0), diff: p.Truth("diff", false), mle: p.Truth("mle", false), asPaper: p.Truth("as_paper", false),
	}
	wrong := func(name, want string) {
		problems = append(problems, tuners.Problem{Key: "options." + name, Message: fmt.Sprintf("%s must be %s, not %s", name, want, p[name])})
	}
	if float64(o.configs) != p.Float("configs", 0) || o.configs < 1 || o.configs > 100_000 {
		wrong("configs", "an integer from 1 to 100000")
	}
	if o.eps < 0 || o.eps > 1 {
		wrong("eps", "from 0 to 1")
	}
	if o.eta0 < 0 {
		wrong("eta0", "positive, or 0 for sqrt(2 ln k)")
	}
	if o.gamma != -1 && (o.gamma < 0 || o.gamma > 1) {
		wrong("gamma", "from 0 to 1, or -1 for the trial's own")
	}
	if o.cutoff < 0 {
		wrong("cutoff", "non-negative")
	}
	switch o.schedule {
	case Aggressive, Adaptive, Auto, Constant:
	default:
		wrong("schedule", "aggressive, adaptive, auto or constant")
	}
	if o.baseline != Past && o.baseline != Zero {
		wrong("baseline", Past+" or "+Zero)
	}
	if o.dropped != Worst && o.dropped != Diverged && o.dropped != Skip {
		wrong("dropped", "worst, diverged or skip")
	}
	return o, problems
}
