// Package fedtune is the built-in tuner `fedtune-hrt`: the Hyperparameter Reference
// Table of FedTune (Demystifying Hyperparameter Optimization in Federated Learning,
// ICLR 2022 submission). Before the first trial it tunes the clients' learning
// rate, batch and local epochs for every cell of a table, by how heterogeneous a
// client is and by how many samples it has, on small proxy federations that are
// drawn from proxy samples. Then every client looks its own cell up, by facts that
// it tells nobody.
//
// It is a client tuner: put it under `random` or `sha`, which draw the server's
// hyperparameters; alone it runs one trial of budget.trial_rounds rounds. The study
// must set samples apart for the proxy federations (data.proxy).
//
// Several studies, such as one of several seeds, can look up one table: the option
// "table" holds one that is ready, and TableOf writes that of a study that filled
// its own. A study that is given the table which it would fill trains the same
// weights.
package fedtune

import (
	"context"
	"fmt"

	"github.com/fedfast/fedfast/plugins/internal/batch"
	"github.com/fedfast/fedfast/tuners"
)

// The params that the table holds.
const (
	lr     = "client.lr"
	epochs = "client.epochs"
	size   = "client.batch"
)

// The ways to search a cell.
const (
	Bayes  = "bo"     // Bayesian optimization: a Gaussian process, and the point of largest expected improvement next
	Random = "random" // random points, none twice
	Grid   = "grid"   // points spread evenly over the list of all
)

// Tuner is fedtune-hrt. The zero value is ready to use.
type Tuner struct{}

var _ tuners.Tuner = Tuner{}

// Describe says what fedtune-hrt is.
func (Tuner) Describe(context.Context) (tuners.Description, error) { return description, nil }

var description = tuners.Description{
	Name:    "fedtune-hrt",
	Version: "1.0.0",
	Doc:     "FedTune's reference table: learning rate, batch and epochs tuned on proxy federations per heterogeneity and size, looked up by each client.",
	Options: []tuners.Option{
		{Name: "hi", Default: tuners.Str("0.2, 0.4, 0.6, 0.8"), Doc: "heterogeneity indices of the table's columns, 0..1"},
		{Name: "samples", Default: tuners.Str("100, 200, 400, 600, 800, 1000"), Doc: "all samples that a client of the table's rows holds, not only those that it trains on"},
		{Name: "lr_min", Default: tuners.Num(0.002), Doc: "lowest learning rate"},
		{Name: "lr_max", Default: tuners.Num(0.8), Doc: "highest learning rate"},
		{Name: "lr_step", Default: tuners.Num(0.002), Doc: "distance of neighbouring learning rates"},
		{Name: "batches", Default: tuners.Str("4, 8, 16"), Doc: "batch sizes"},
		{Name: "epochs", Default: tuners.Str("5, 10, 15"), Doc: "local epochs"},
		{Name: "clients", Default: tuners.Num(5), Doc: "clients of a proxy federation; all of them train in every round"},
		{Name: "rounds", Default: tuners.Num(20), Doc: "rounds of a proxy federation"},
		{Name: "scale", Default: tuners.Num(1), Doc: "shrinks rounds and samples of the proxy federations by this factor, above 0 to 1; clients look up the unshrunk sizes", Scaled: true},
		{Name: "search", Default: tuners.Str(Bayes), Doc: "how a cell is searched: bo, random or grid"},
		{Name: "init", Default: tuners.Num(5), Doc: "random points of a cell before the search proposes"},
		{Name: "patience", Default: tuners.Num(5), Doc: "proposals without improvement after which a cell is done; 0 goes on to the cap"},
		{Name: "proposals", Default: tuners.Num(0), Doc: "most proposals of a cell after the random points; 0 has no cap"},
		{Name: "table", Default: tuners.Str(""), Doc: "a ready table, \"HI SAMPLES LR BATCH EPOCHS; HI ...\": then no proxy federation is trained, and the options before decide nothing"},
	},
	Trials:   true,
	Rounds:   true,
	Tables:   true,
	Prepare:  true,
	Free:     true,
	Controls: []string{size, epochs, lr},
}

// Validate checks the options.
func (Tuner) Validate(_ context.Context, req tuners.ValidateRequest) ([]tuners.Problem, error) {
	_, problems := readPlan(req.Options)
	return problems, nil
}

// Work returns the trials on proxy federations and the points of their cells.
func (Tuner) Work(_ context.Context, req tuners.ValidateRequest) (tuners.Work, error) {
	p, problems := readPlan(req.Options)
	if len(problems) > 0 {
		return tuners.Work{}, fmt.Errorf("fedtune-hrt: %s: %s", problems[0].Key, problems[0].Message)
	}
	return p.work(), nil
}

// Open starts the session that fills the table, the session of one trial, or, for
// fedtune-hrt alone, that of the study.
func (Tuner) Open(_ context.Context, req tuners.OpenRequest) (tuners.Session, error) {
	p, problems := readPlan(req.Options)
	if len(problems) > 0 {
		return nil, fmt.Errorf("fedtune-hrt: %s: %s", problems[0].Key, problems[0].Message)
	}
	switch req.Trial {
	case tuners.PrepareSession:
		return newSearch(req, p)
	case tuners.StudySession:
		return batch.Lone("fedtune-hrt", req)
	}
	return newLookup(req, p)
}
