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

// The suite accuracy trains every method, most models by federated averaging, and tags by
// some methods, on real data: the folders of the environment variable FEDFAST_DATA, LEAF's FEMNIST with the preset of that name and
// others for models of another input; without it every method on the embedded set with
// the quickstart's network.
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

	opened map[uint64]opened // by seed, once one needed it; methods share it
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
	part           int // divides the number of rounds, for models with slow steps
	sets           []string
	models         []string
	methods        []trainedBy // each model; nil is federated averaging alone
}{
	{
		"femnist", "femnist", 1,
		[]string{"cohort=5", "data.max_samples=50", "client.batch=10", "eval.clients=30"},
		[]string{"logistic", "leaf-femnist-cnn", "fedex-femnist-cnn", "fedtune-2conv2dense"},
		nil,
	},
	{
		"cifar10-fedex", "cifar10/cifar-10-batches-bin", 1,
		[]string{"method=fedavg", "tuner.name=none", "cohort=5", "client.lr=0.05", "client.batch=10", "eval.clients=20"},
		[]string{"fedex-cifar-cnn", "mcmahan-cifar-cnn", "fedtune-4conv2dense"},
		nil,
	},
	{
		"cifar10-fedex", "cifar10/cifar-10-batches-bin", 4,
		[]string{"method=fedavg", "tuner.name=none", "cohort=2", "client.lr=0.05", "client.batch=10", "eval.clients=10", "eval.personalized=false"},
		[]string{"resnet18-gn", "mobilenet-small"},
		nil,
	},
	{
		"shakespeare", "shakespeare/leaf_small", 2,
		[]string{"cohort=4", "data.max_samples=100", "eval.clients=4", "eval.personalized=false"},
		[]string{"leaf-char-lstm"},
		nil,
	},
	{
		"shakespeare", "shakespeare/leaf_small", 2,
		[]string{"cohort=4", "data.max_samples=100", "eval.clients=4", "eval.personalized=false", "data.encoding=fedex"},
		[]string{"fedex-char-lstm"},
		nil,
	},
	{
		"stackoverflow-fathom", "stackexchange", 4,
		[]string{
			"data.name=stackexchange", "data.split=80/10/10", "tuner.name=none", "cohort=4", "data.max_samples=64", "eval.clients=5", "eval.every=0",
			"eval.every_clients=0", "eval.goal=0",
		},
		[]string{"so-nwp-lstm"},
		nil,
	},
	{ // with momentum on small batches: steps of the wide layer are deferred
		"femnist", "femnist", 1,
		[]string{"cohort=5", "data.max_samples=50", "client.batch=4", "client.momentum=0.9", "client.lr=0.01", "eval.clients=30"},
		[]string{"leaf-femnist-cnn"},
		nil,
	},
	{
		"cifar10", "cifar10/cifar-10-batches-bin", 2,
		[]string{"cohort=5", "client.optimizer=adamw", "client.lr=0.001", "client.batch=10", "client.epochs=1", "eval.clients=20", "eval.personalized=false"},
		[]string{"vit-tiny"},
		nil,
	},
	{
		"shakespeare", "shakespeare/leaf_small", 2,
		[]string{"cohort=4", "data.max_samples=100", "client.optimizer=adam", "client.lr=0.001", "eval.clients=4", "eval.personalized=false"},
		[]string{"char-gpt"},
		nil,
	},
	{ // the tags of posts: sigmoid cross-entropy of 500 labels, recall among the 5 largest outputs
		"stackoverflow-tags", "stackexchange", 1,
		[]string{"data.name=stackexchange-tags", "data.split=80/10/10", "eval.clients=200"},
		[]string{"so-tag-lr"},
		[]trainedBy{{"fedavg", []string{"server.lr=1"}}, {"fedadagrad", nil}, {"fedadam", []string{"server.lr=0.1"}}}, // the preset's rate is FedAdagrad's
	},
}

// trainedBy is a method with settings of its own.
type trainedBy struct {
	name string
	sets []string
}

// methodSets are settings with which a method trains on the suite's data.
var methodSets = map[string][]string{
	"fedrolex": {"client.widths=[1, 0.5, 0.25]"}, // sixteenths of the channels, scaled by 16, diverge when they move
}

// accuracyRows lists the methods and the models.
func accuracyRows(ctx context.Context, cfg Config) ([]row, error) {
	shared := map[uint64]opened{}
	trainings, err := trainings(cfg, shared)
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
	return rows, nil
}

// accuracyData returns the preset of the methods, and the settings
// of its data.
func accuracyData(cfg Config) (preset string, sets []string, err error) {
	root := os.Getenv("FEDFAST_DATA")
	switch {
	case cfg.Quick:
		return "quickstart", []string{"data.clients=20", "data.samples=40", "client.lr=0.03"}, nil
	case root == "":
		return "quickstart", nil, nil
	}
	path, err := realData(root, "femnist")
	return "femnist", []string{path, "cohort=5", "data.max_samples=50", "client.batch=10", "eval.clients=30"}, err
}

// trainings lists what is trained: the methods and, on real data, the models.
// Methods that train the preset's network share what they open.
func trainings(cfg Config, shared map[uint64]opened) ([]training, error) {
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
	for _, method := range fl.Methods() {
		m, err := fl.MethodByName(method)
		if err != nil {
			return nil, err
		}
		t := training{name: method, preset: preset, sets: slices.Concat(base, single(rounds), []string{"method=" + method}), opened: shared}
		if len(m.Models) > 0 { // it cannot train the preset's network
			if cfg.Quick { // its steps take a hundred times as long
				t.sets = slices.Concat([]string{"data.clients=6", "data.samples=20", "data.min_samples=1", "cohort=3", "eval.clients=3", "client.lr=0.01"}, single(rounds/2), []string{"method=" + method})
			}
			t.sets, t.opened = append(t.sets, "model="+m.Models[0]), map[uint64]opened{}
		}
		t.sets = append(t.sets, methodSets[method]...)
		all = append(all, t)
	}
	if preset == "femnist" {
		for _, d := range modelData {
			path, err := realData(os.Getenv("FEDFAST_DATA"), d.folder)
			if err != nil {
				return nil, err
			}
			for _, model := range d.models {
				sets := slices.Concat(d.sets, single(rounds/d.part), []string{"model=" + model, path})
				if d.methods == nil {
					all = append(all, training{name: "fedavg", preset: d.preset, sets: sets, opened: map[uint64]opened{}})
				}
				for _, m := range d.methods {
					all = append(all, training{name: m.name, preset: d.preset, sets: slices.Concat(sets, []string{"method=" + m.name}, m.sets), opened: map[uint64]opened{}})
				}
			}
		}
	}
	for i := range all {
		if err := all[i].describe(); err != nil {
			return nil, err
		}
	}
	return all, nil
}

// describe fills in the shape: what tells the training from others in a row.
func (t *training) describe() error {
	c, err := t.config(nn.FP32, 1)
	if err != nil {
		return err
	}
	set, model := c.Data.Name, c.Model.Name
	if model == "" {
		model = "composed"
	}
	t.shape = fmt.Sprintf("data=%s,model=%s,rounds=%d", set, model, c.Rounds)
	if c.Loss.Name != "" {
		t.shape += ",loss=" + c.Loss.Name
	}
	if c.Client.Adaptive() {
		t.shape += ",optimizer=" + c.Client.Optimizer
	} else if c.Client.Momentum > 0 {
		t.shape += ",momentum=" + strconv.FormatFloat(c.Client.Momentum, 'g', -1, 64)
	}
	return nil
}

// single returns the settings of a single training with the given number of rounds.
func single(rounds int) []string {
	return []string{"client_tuner.name=none", "rounds=" + strconv.Itoa(max(rounds, 2))}
}

// realData returns the setting of a folder below that of all data.
func realData(root, folder string) (string, error) {
	path := filepath.Join(root, folder)
	if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
		return "", fmt.Errorf("FEDFAST_DATA: %s not found; see data/README.md for its contents", path)
	}
	return "data.path=" + strconv.Quote(path), nil
}

// config returns the configuration of one precision and seed.
func (t *training) config(p nn.Precision, seed int) (*config.Config, error) {
	s := uint64(seed)
	c, err := config.Load(config.Source{Preset: t.preset, Sets: append(slices.Clone(t.sets), "precision="+p.String()), Seed: &s})
	if err == nil {
		c.Eval.DropAuto()
	}
	return c, err
}

// prepare opens the data, once a seed, and binds the model to a precision.
func (t *training) prepare(ctx context.Context, c *config.Config) (*data.Federation, *nn.Model, error) {
	o, ok := t.opened[c.Seed]
	if !ok {
		var err error
		if o.fed, err = config.OpenData(ctx, c); err != nil {
			return nil, nil, err
		}
		if o.model, err = config.PrepareModel(c, o.fed); err != nil {
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
		return &outcome{
			Data: c.Data.Name, Batch: c.Client.Batch, Rounds: r.Rounds, Examples: r.Examples, Losses: r.TrainLoss, Dropped: r.Dropped,
			Measure: r.Measure, GlobalError: *r.GlobalTest, PersonalizedError: r.PersonalizedTest,
			RoundSeconds: 1 / r.RoundsPerSecond,
		}, nil
	})
}
