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
	"strings"

	"github.com/fedfast/fedfast/data"
	"github.com/fedfast/fedfast/fl"
	"github.com/fedfast/fedfast/fl/study"
	"github.com/fedfast/fedfast/fl/study/config"
	"github.com/fedfast/fedfast/nn"
)

// The suite accuracy trains every method on real data: the folder femnist of the
// environment variable FEDFAST_DATA, LEAF's FEMNIST with the preset of that name,
// else the embedded set with the quickstart's network.
const (
	accuracyRounds, quickAccuracy = 40, 4
	accuracySeed                  = 1
	accuracyTail                  = 5 // rounds whose losses the end is the mean of
)

// Accuracy is what a row of the suite accuracy reached.
type Accuracy struct {
	Data   string `json:"data"`
	Rounds int    `json:"rounds"`
	// FirstLoss and LastLoss are the training losses of the first and the mean of
	// those of the last rounds.
	FirstLoss float64 `json:"first_loss"`
	LastLoss  float64 `json:"last_loss"`
	// Errors on the test examples: of the global and of the personalized models.
	GlobalError       float64 `json:"global_test_error"`
	PersonalizedError float64 `json:"personalized_test_error"`
	Dropped           int     `json:"dropped,omitempty"` // client results that were not finite
}

// String says it in a cell.
func (a *Accuracy) String() string {
	s := fmt.Sprintf("loss %.3f to %.3f, test error %s, personalized %s", a.FirstLoss, a.LastLoss, percent(a.GlobalError), percent(a.PersonalizedError))
	if a.Dropped > 0 {
		s += fmt.Sprintf(", %d results dropped", a.Dropped)
	}
	return s
}

// accuracyRows lists the methods.
func accuracyRows(ctx context.Context, cfg Config) ([]row, error) {
	preset, sets := "quickstart", []string{}
	if path := filepath.Join(os.Getenv("FEDFAST_DATA"), "femnist"); os.Getenv("FEDFAST_DATA") != "" && !cfg.Quick {
		if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
			return nil, fmt.Errorf("FEDFAST_DATA: %s is not there; it must hold LEAF's files of FEMNIST", path)
		}
		preset, sets = "femnist", []string{"data.path=" + strconv.Quote(path)}
	}
	rounds := accuracyRounds
	if cfg.Quick {
		rounds = quickAccuracy
		sets = append(sets, "data.clients=20", "data.samples=40")
	}
	sets = append(sets, "rounds="+strconv.Itoa(rounds), "client_tuner.name=none")
	seed := uint64(accuracySeed)
	load := func(method string) (*config.Config, error) {
		return config.Load(config.Source{Preset: preset, Sets: append(slices.Clone(sets), "method="+method), Seed: &seed})
	}
	c, err := load("fedavg")
	if err != nil {
		return nil, err
	}
	fed, model, err := config.Prepare(ctx, c)
	if err != nil {
		return nil, err
	}
	var rows []row
	for _, method := range fl.Methods() {
		shape := fmt.Sprintf("data=%s,model=%s,rounds=%d", c.Data.Name, strings.ReplaceAll(model.Name(), " ", "-"), rounds)
		rows = append(rows, row{name: method, shape: shape, run: func(ctx context.Context, _ *meter) ([]Result, error) {
			c, err := load(method)
			if err != nil {
				return nil, err
			}
			return train(ctx, *c, fed, model, shape, cfg.workers())
		}})
	}
	return rows, nil
}

// train runs one method; the time is that of a round.
func train(ctx context.Context, c config.Config, fed *data.Federation, model *nn.Model, shape string, workers int) ([]Result, error) {
	r, err := study.Run(ctx, study.Setup{Config: c, Data: fed, Model: model, Workers: workers})
	if err != nil {
		return nil, err
	}
	a := &Accuracy{Data: c.Data.Name, Rounds: r.Rounds, FirstLoss: r.TrainLoss[0], GlobalError: *r.GlobalTest, PersonalizedError: *r.PersonalizedTest, Dropped: r.Dropped}
	tail := r.TrainLoss[max(0, len(r.TrainLoss)-accuracyTail):]
	for _, loss := range tail {
		a.LastLoss += loss / float64(len(tail))
	}
	seconds := 1 / r.RoundsPerSecond
	return []Result{{
		Name: c.Method, Shape: shape, Level: machine().Level, Threads: workers, Batch: c.Client.Batch,
		Seconds: seconds, SamplesPerSecond: float64(r.Examples) / float64(r.Rounds) / seconds, Accuracy: a,
	}}, nil
}
