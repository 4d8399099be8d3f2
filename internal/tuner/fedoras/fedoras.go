// Package fedoras is the built-in tuner `fedoras`: after FedorAS (Dudziak, Laskaridis and
// Fernandez-Marques 2022, arXiv:2205.05101), it trains a supernet by sub-networks that are
// drawn at random, searches among them without training any, and trains those that it
// found on. The search is NSGA-II (Deb et al. 2002) over score and operations; what it
// found is the best sub-network of each tier of operations.
//
// It is a tuner and its own client tuner, for the method `supernet`; with
// server.holders and server.weighted that merges as FedorAS's aggregation per operation
// does: a parameter is the mean over the clients that trained it, by their examples.
//
// It differs from the paper in that a client trains one sub-network in a round, where
// there each batch has its own, that clients have no tiers of their own, whose larger
// sub-networks they leave out, and that what was found is trained on by all clients.
package fedoras

import (
	"context"
	"fmt"
	"math"

	"github.com/fedfast/fedfast/internal/tuner/internal/options"
	"github.com/fedfast/fedfast/tuners"
)

// picks are the dimensions that the tuner controls.
const picks = tuners.ArchPrefix + "*"

// Tuner is FedorAS. The zero value is ready to use.
type Tuner struct{}

var _ tuners.Tuner = Tuner{}

// Describe says what FedorAS is.
func (Tuner) Describe(context.Context) (tuners.Description, error) { return description, nil }

var description = tuners.Description{
	Name:    "fedoras",
	Version: "1.0.0",
	Doc:     "FedorAS: trains a supernet with random sub-networks, searches them by evolution without training, and fine-tunes the best of each tier of operations.",
	Options: []tuners.Option{
		{Name: "tune_rounds", Default: tuners.Num(0), Scaled: true, Doc: "fine-tuning rounds of each network found, the last of budget.trial_rounds; 0: a fifth of them"},
		{Name: "tiers", Default: tuners.Num(4), Doc: "number of networks to fine-tune, one per share of the operations on a logarithmic scale"},
		{Name: "population", Default: tuners.Num(32), Doc: "sub-networks per generation, at least 4"},
		{Name: "generations", Default: tuners.Num(8), Doc: "generations of the search; the first is random"},
		{Name: "mutation", Default: tuners.Num(0.1), Doc: "probability that a choice of a child mutates, 0..1"},
	},
	Trials: true, Rounds: true, Architectures: true, Fork: true,
	Controls: []string{picks},
}

// Validate checks the options, that the budget pays for them and that there is something
// to pick.
func (Tuner) Validate(_ context.Context, req tuners.ValidateRequest) ([]tuners.Problem, error) {
	set, problems := readSettings(req.Options, req.Budget)
	dims := req.Space.Matching(picks)
	if len(dims) == 0 {
		problems = append(problems, tuners.Problem{Key: "method", Message: "fedoras needs choices: use method \"supernet\" and a model with choices, such as mbv3-cifar"})
	}
	for _, d := range dims {
		if d.Kind != tuners.Choice {
			problems = append(problems, tuners.Problem{Key: "space." + d.Name, Message: "fedoras supports only choices"})
		}
	}
	if len(problems) > 0 {
		return problems, nil
	}
	b := req.Budget
	switch cost := set.supernet + set.tiers*set.tune; {
	case set.supernet < 1:
		problems = append(problems, tuners.Problem{Key: "options.tune_rounds", Message: fmt.Sprintf("%d of the %d rounds of a trial (budget.trial_rounds) leave none for the supernet", set.tune, b.TrialRounds)})
	case b.Rounds > 0 && cost > b.Rounds:
		problems = append(problems, tuners.Problem{Key: "budget.rounds", Message: fmt.Sprintf("%d rounds for the supernet and %d for each of %d networks are %d, more than %d", set.supernet, set.tune, set.tiers, cost, b.Rounds)})
	}
	return problems, nil
}

// Open starts the session of the study or of one trial.
func (t Tuner) Open(ctx context.Context, req tuners.OpenRequest) (tuners.Session, error) {
	problems, err := t.Validate(ctx, tuners.ValidateRequest{Space: req.Space, Options: req.Options, Budget: req.Budget})
	if err != nil {
		return nil, err
	}
	if err := options.First("fedoras", problems); err != nil {
		return nil, err
	}
	set, _ := readSettings(req.Options, req.Budget) // checked above
	if req.Trial == tuners.StudySession {
		return openStudy(req, set)
	}
	return &rounds{req: req, set: set, dims: req.Space.Matching(picks)}, nil
}

// settings are the checked options.
type settings struct {
	supernet, tune                 int // rounds
	tiers, population, generations int
	mutation                       float64
}

// readSettings fills in the defaults and returns everything that is wrong.
func readSettings(given tuners.Params, b tuners.Budget) (settings, []tuners.Problem) {
	r := options.Read(description, given)
	s := settings{
		tune: r.Whole("tune_rounds", 0, math.MaxInt32), tiers: r.Whole("tiers", 1, 64), population: r.Whole("population", 4, tuners.MaxPoints), generations: r.Whole("generations", 1, 1000),
		mutation: r.Real("mutation", "from 0 to 1", func(x float64) bool { return x >= 0 && x <= 1 }),
	}
	if s.tune == 0 {
		s.tune = max(1, b.TrialRounds/5)
	}
	s.supernet = b.TrialRounds - s.tune
	return s, r.Problems
}
