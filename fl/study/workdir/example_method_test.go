package workdir_test

import (
	"context"
	"fmt"
	"math"
	"os"
	"path/filepath"

	"github.com/fedfast/fedfast/fl"
	"github.com/fedfast/fedfast/fl/methods"
	"github.com/fedfast/fedfast/fl/study/config"
	"github.com/fedfast/fedfast/fl/study/workdir"
	"github.com/fedfast/fedfast/kernels"
	"github.com/fedfast/fedfast/plugins"
)

// clipped is FedAvg in which no client moves the weights further than a length c,
//
//	w_i <- w + min(1, c / |w_i - w|) (w_i - w)
//
// (Zhang et al. 2022, without their noise).
func clipped() fl.Method {
	m := methods.FedAvg()
	train := m.Local
	m.Name = "clipped"
	m.Doc = "FedAvg with clients' changes cut to a length"
	m.Paper = "Zhang et al. 2022, Understanding Clipping for Federated Learning, arXiv:2106.13673"
	m.Local = func(l *fl.Local) error {
		if err := train(l); err != nil {
			return err
		}
		const longest = 0.5
		change := l.Vector(0)
		kernels.Sub(change, l.Weights, l.Broadcast)
		if length := math.Sqrt(kernels.Dot(change, change)); length > longest {
			copy(l.Weights, l.Broadcast)
			kernels.Axpy(l.Weights, float32(longest/length), change)
		}
		return nil
	}
	return m
}

// A federated method of the program's own, whose hyperparameters FedEx tunes.
func ExampleTune_method() {
	if err := fl.Register(clipped()); err != nil {
		panic(err)
	}
	folder, err := os.MkdirTemp("", "study")
	if err != nil {
		panic(err)
	}
	defer func() { _ = os.RemoveAll(folder) }()
	c, err := config.Load(config.Source{Preset: "fashion-fedex", ClientTuner: "fedex", Sets: []string{
		"method=clipped", "space.server.lr=none", "space.server.momentum=none", "space.server.decay=none",
		"model=logistic", "data.clients=8", "data.samples=30", "cohort=3", "budget.rounds=12", "budget.trial_rounds=6",
		"tuner.options.eliminations=1",
	}})
	if err != nil {
		panic(err)
	}
	r, err := workdir.Tune(context.Background(), filepath.Join(folder, "mine"), c, workdir.Options{
		Launcher: workdir.InProcess(plugins.Builtin()),
	})
	if err != nil {
		panic(err)
	}
	fmt.Println("rounds:", r.Rounds, "a better model than a guess:", *r.Best.PersonalizedTest < 60.0/62)
	// Output:
	// rounds: 12 a better model than a guess: true
}
