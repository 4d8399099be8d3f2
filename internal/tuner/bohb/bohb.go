// Package bohb is the built-in tuner `bohb` (Falkner et al. 2018): Hyperband's
// brackets, whose new trials are proposed by densities of good and bad ones at the
// largest number of rounds that enough of them have reached. Without a model, and for
// a share of the trials, points are random, and then those of `hyperband`.
package bohb

import (
	"context"
	"slices"

	"github.com/fedfast/fedfast/internal/tuner/hyperband"
	"github.com/fedfast/fedfast/internal/tuner/internal/options"
	"github.com/fedfast/fedfast/internal/tuner/sha"
	"github.com/fedfast/fedfast/tuners"
)

// maxCandidates is the end of an option.
const maxCandidates = 1024

// Tuner is BOHB. The zero value is ready to use.
type Tuner struct{}

var _ tuners.Tuner = Tuner{}

// Describe says what BOHB is.
func (Tuner) Describe(context.Context) (tuners.Description, error) { return description, nil }

var description = tuners.Description{
	Name:    "bohb",
	Version: "1.0.0",
	Doc:     "BOHB: Hyperband whose new trials come from a density of the good trials at the largest number of rounds that enough have reached.",
	Options: slices.Concat(hyperband.Options, []tuners.Option{
		{Name: "random", Default: tuners.Num(1.0 / 3), Doc: "share of trials with random points, from 0 to 1; 1: hyperband"},
		{Name: "candidates", Default: tuners.Num(64), Doc: "number of points that are drawn and compared for each trial"},
	}),
	Trials:        true,
	Seconds:       true,
	Architectures: true,
	Priors:        true,
}

// Validate checks the options and that the budget pays for a bracket.
func (Tuner) Validate(_ context.Context, req tuners.ValidateRequest) ([]tuners.Problem, error) {
	r := options.Read(description, req.Options)
	read(r, req.Budget, &model{})
	return r.Problems, nil
}

// Open starts a study's session.
func (Tuner) Open(_ context.Context, req tuners.OpenRequest) (tuners.Session, error) {
	r := options.Read(description, req.Options)
	m := newModel(req)
	schedule := read(r, req.Budget, m)
	if err := options.Open("bohb", req.Trial, r.Problems); err != nil {
		return nil, err
	}
	if req.State == nil {
		m.recall(schedule)
	}
	return sha.Open("bohb", req, schedule, m)
}

// read reads the options, the model's into it.
func read(r *options.Reader, b tuners.Budget, m *model) []sha.Bracket {
	m.random = r.Real("random", "from 0 to 1", func(x float64) bool { return x >= 0 && x <= 1 })
	m.candidates = r.Whole("candidates", 1, maxCandidates)
	return hyperband.Read(r, b)
}
