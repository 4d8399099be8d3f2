package bench

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"

	"github.com/fedfast/fedfast/data"
	"github.com/fedfast/fedfast/fl"
	"github.com/fedfast/fedfast/fl/study"
	"github.com/fedfast/fedfast/fl/study/config"
	"github.com/fedfast/fedfast/nn"
)

// The suite accuracy trains every method, every model by federated averaging, and
// plays two studies, on real data: the folders of the environment variable
// FEDFAST_DATA, LEAF's FEMNIST with the preset of that name and others for models of
// another input; without it every method on the embedded set with the quickstart's
// network.
const (
	accuracyRounds, quickAccuracy = 40, 4
	accuracySeeds                 = 3
	accuracyTail                  = 5 // rounds whose losses the end is the mean of
)

// training is one thing to train in every precision and from every seed.
type training struct {
	name   string
	shape  string
	preset string
	sets   []string

	opened map[uint64]opened // by seed, once one needed it; methods and studies share it
}

// opened is the data and the network of trainings.
type opened struct {
	fed   *data.Federation
	model *nn.Model
}

// modelData says on what the models train: a preset with settings, and a folder
// below FEDFAST_DATA.
var modelData = []struct {
	preset, folder string
	part           int // one of so many rounds: a step takes long
	sets           []string
	models         []string
}{
	{
		"femnist", "femnist", 1,
		[]string{"cohort=5", "data.max_samples=50", "client.batch=10", "eval.clients=30"},
		[]string{"logistic", "leaf-femnist-cnn", "fedex-femnist-cnn", "fedtune-2conv2dense"},
	},
	{
		"cifar10-fedex", "cifar10/cifar-10-batches-bin", 1,
		[]string{"method=fedavg", "tuner.name=none", "cohort=5", "client.lr=0.05", "client.batch=10", "eval.clients=20"},
		[]string{"fedex-cifar-cnn", "mcmahan-cifar-cnn", "fedtune-4conv2dense"},
	},
	{
		"cifar10-fedex", "cifar10/cifar-10-batches-bin", 4,
		[]string{"method=fedavg", "tuner.name=none", "cohort=2", "client.lr=0.05", "client.batch=10", "eval.clients=10", "eval.personalized=false"},
		[]string{"resnet18-gn", "mobilenet-small"},
	},
	{
		"shakespeare", "shakespeare/leaf_small", 2,
		[]string{"cohort=4", "data.max_samples=100", "eval.clients=4", "eval.personalized=false"},
		[]string{"leaf-char-lstm"},
	},
	{
		"shakespeare", "shakespeare/leaf_small", 2,
		[]string{"cohort=4", "data.max_samples=100", "eval.clients=4", "eval.personalized=false", "data.encoding=fedex"},
		[]string{"fedex-char-lstm"},
	},
	{
		"stackoverflow-fathom", "stackexchange", 4,
		[]string{
			"data.name=stackexchange", "data.split=80/10/10", "tuner.name=none", "cohort=4", "data.max_samples=64", "eval.clients=5", "eval.every=0",
			"eval.every_clients=0", "eval.goal=0",
		},
		[]string{"so-nwp-lstm"},
	},
}

// ownModels are those of methods that cannot train any network.
var ownModels = map[string]string{"fedtp": "vit-tiny", "supernet": "mbv3-cifar", "fednas": "darts-cifar"}

// accuracyRows lists the methods, the models and the studies.
func accuracyRows(ctx context.Context, cfg Config) ([]row, error) {
	trainings, err := trainings(cfg)
	if err != nil {
		return nil, err
	}
	var rows []row
	for i := range trainings {
		t := &trainings[i]
		rows = append(rows, row{name: t.name, shape: t.shape, run: func(ctx context.Context, _ *meter) ([]Result, error) {
			results, err := t.run(ctx, cfg)
			if t.preset != trainings[0].preset {
				clear(t.opened) // nobody else's, and the next row's may need the memory
			}
			return results, err
		}})
	}
	decisions, err := decisionRows(cfg, trainings[0].opened)
	return append(rows, decisions...), err
}

// accuracyData returns the preset of the methods and the studies, and the settings
// of its data.
func accuracyData(cfg Config) (preset string, sets []string, err error) {
	root := os.Getenv("FEDFAST_DATA")
	switch {
	case cfg.Quick:
		return "quickstart", []string{"data.clients=20", "data.samples=40"}, nil
	case root == "":
		return "quickstart", nil, nil
	}
	path, err := realData(root, "femnist")
	return "femnist", []string{path, "cohort=5", "data.max_samples=50", "client.batch=10", "eval.clients=30"}, err
}

// trainings lists what is trained: the methods and, on real data, the models.
func trainings(cfg Config) ([]training, error) {
	preset, base, err := accuracyData(cfg)
	if err != nil {
		return nil, err
	}
	rounds := accuracyRounds
	switch {
	case cfg.Rounds > 0:
		rounds = cfg.Rounds
	case cfg.Quick:
		rounds = quickAccuracy
	}
	var all []training
	shared := map[uint64]opened{}
	for _, method := range fl.Methods() {
		t := training{name: method, preset: preset, sets: slices.Concat(base, single(rounds), []string{"method=" + method}), opened: shared}
		if model := ownModels[method]; model != "" {
			t.sets, t.opened = append(t.sets, "model="+model), map[uint64]opened{}
		}
		if method == "fedrolex" { // sixteenths of the channels, scaled by 16, diverge when they move
			t.sets = append(t.sets, "client.widths=[1, 0.5, 0.25]")
		}
		all = append(all, t)
	}
	if preset == "femnist" {
		for _, d := range modelData {
			path, err := realData(os.Getenv("FEDFAST_DATA"), d.folder)
			if err != nil {
				return nil, err
			}
			for _, model := range d.models {
				all = append(all, training{name: "fedavg", preset: d.preset, sets: slices.Concat(d.sets, single(rounds/d.part), []string{"model=" + model, path}), opened: map[uint64]opened{}})
			}
		}
	}
	for i := range all {
		c, err := all[i].config(nn.FP32, 1)
		if err != nil {
			return nil, err
		}
		model := c.Model.Name
		if model == "" {
			model = "composed"
		}
		all[i].shape = fmt.Sprintf("data=%s,model=%s,rounds=%d", c.Data.Name, model, c.Rounds)
	}
	return all, nil
}

// single is the settings of one training of so many rounds.
func single(rounds int) []string {
	return []string{"client_tuner.name=none", "rounds=" + strconv.Itoa(max(rounds, 2))}
}

// realData returns the setting of a folder below that of all data.
func realData(root, folder string) (string, error) {
	path := filepath.Join(root, folder)
	if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
		return "", fmt.Errorf("FEDFAST_DATA: %s is not there; data/README.md says what it holds", path)
	}
	return "data.path=" + strconv.Quote(path), nil
}

// config returns the configuration of one precision and seed.
func (t *training) config(p nn.Precision, seed int) (*config.Config, error) {
	s := uint64(seed)
	return config.Load(config.Source{Preset: t.preset, Sets: append(slices.Clone(t.sets), "precision="+p.String()), Seed: &s})
}

// prepare opens the data, once a seed, and binds the model to a precision.
func (t *training) prepare(ctx context.Context, c *config.Config) (*data.Federation, *nn.Model, error) {
	o, ok := t.opened[c.Seed]
	if !ok {
		var err error
		if o.fed, o.model, err = config.Prepare(ctx, c); err != nil {
			return nil, nil, err
		}
		t.opened[c.Seed] = o
	}
	m, err := c.WithPrecision(o.model)
	return o.fed, m, err
}

// run trains in every precision and from every seed, and pairs what the precisions
// came to.
func (t *training) run(ctx context.Context, cfg Config) ([]Result, error) {
	var results []Result
	var first []outcome
	for _, p := range cfg.precisions() {
		var all []outcome
		for seed := 1; seed <= cfg.seeds(); seed++ {
			o, err := t.train(ctx, cfg, p, seed)
			if err != nil {
				return nil, err
			}
			all = append(all, *o)
		}
		x := Result{
			Name: t.name, Shape: t.shape, Level: machine().Level, Precision: p.String(), Threads: cfg.workers(), Batch: all[0].Batch,
			Accuracy: accuracyOf(all),
		}
		for _, o := range all {
			x.Seconds += o.RoundSeconds / float64(len(all))
		}
		x.SamplesPerSecond = float64(all[0].Examples) / float64(all[0].Rounds) / x.Seconds
		if first == nil {
			first = all
		} else {
			x.Accuracy.pair(first, all)
		}
		results = append(results, x)
	}
	gains(results)
	return results, nil
}

// train trains once, unless that is kept.
func (t *training) train(ctx context.Context, cfg Config, p nn.Precision, seed int) (*outcome, error) {
	c, err := t.config(p, seed)
	if err != nil {
		return nil, err
	}
	return kept(cfg.Keep, c, func() (*outcome, error) {
		fed, model, err := t.prepare(ctx, c)
		if err != nil {
			return nil, err
		}
		r, err := study.Run(ctx, study.Setup{Config: *c, Data: fed, Model: model, Workers: cfg.workers()})
		if err != nil {
			return nil, err
		}
		o := &outcome{
			Data: c.Data.Name, Batch: c.Client.Batch, Rounds: r.Rounds, Examples: r.Examples, Losses: r.TrainLoss, Dropped: r.Dropped,
			GlobalError: *r.GlobalTest, RoundSeconds: 1 / r.RoundsPerSecond,
		}
		if r.PersonalizedTest != nil {
			o.PersonalizedError = *r.PersonalizedTest
		}
		return o, nil
	})
}
