package workdir_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/fedfast/fedfast/fl"
	"github.com/fedfast/fedfast/fl/methods"
	"github.com/fedfast/fedfast/fl/study/config"
	"github.com/fedfast/fedfast/fl/study/workdir"
	"github.com/fedfast/fedfast/kernels"
	"github.com/fedfast/fedfast/plugins"
)

// fedExP is FedAvg whose server extrapolates: the more the clients' changes differ
// from each other, the longer a step it takes along their mean,
//
//	w <- w - max(1, sum_i p_i |w - w_i|^2 / (2 (|g|^2 + tau))) g
//
// with tau = server.tau (Jhunjhunwala et al. 2023, equation 8).
type fedExP struct{ methods.FedAvg }

func (fedExP) Name() string { return "fedexp" }

func (fedExP) Doc() string {
	return "FedExP: the server extrapolates by how much the clients differ"
}

func (fedExP) Paper() string {
	return "Jhunjhunwala et al. 2023, FedExP: Speeding Up Federated Averaging via Extrapolation, arXiv:2301.09604"
}

func (fedExP) Uses() []fl.Use { return append(fl.UsingSGD(), fl.Using("server.tau")...) }

// Local trains as FedAvg and tells how far the client went.
func (m fedExP) Local(l *fl.Local) error {
	if err := m.FedAvg.Local(l); err != nil {
		return err
	}
	change := l.Vector(0)
	kernels.Sub(change, l.Broadcast, l.Weights)
	l.Number = float64(kernels.Dot(change, change))
	return nil
}

func (fedExP) NewServer(int) fl.Server { return extrapolation{} }

type extrapolation struct{}

func (extrapolation) Step(w []float32, u *fl.Update, p fl.ServerParams) {
	length := u.Number / (2 * (float64(kernels.Dot(u.Mean, u.Mean)) + p.Tau))
	kernels.Axpy(w, -float32(max(1, length)), u.Mean)
}

func (extrapolation) State() [][]float32 { return nil }

// A federated method of the program's own, whose hyperparameters FedEx tunes.
func ExampleTune_method() {
	if err := fl.Register(fedExP{}); err != nil {
		panic(err)
	}
	folder, err := os.MkdirTemp("", "study")
	if err != nil {
		panic(err)
	}
	defer func() { _ = os.RemoveAll(folder) }()
	c, err := config.Load(config.Source{Preset: "quickstart", ClientTuner: "fedex", Sets: []string{
		"method=fedexp", "server.tau=1e-4", "space.server.lr=none", "space.server.momentum=none", "space.server.decay=none",
		"model=logistic", "data.clients=8", "data.samples=30", "cohort=3", "budget.rounds=12", "budget.trial_rounds=6", "tuner.options.eliminations=1",
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
