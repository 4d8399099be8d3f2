package export_test

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/fedfast/fedfast/cmd/fedfast/internal/export"
	"github.com/fedfast/fedfast/fl/study"
	"github.com/fedfast/fedfast/fl/study/config"
	"github.com/fedfast/fedfast/fl/study/workdir"
	"github.com/fedfast/fedfast/nn/safetensors"
	"github.com/fedfast/fedfast/plugins"
)

// tuned tunes a small study in a new directory below dir.
func tuned(dir string) (path string, c *config.Config) {
	c, err := config.Load(config.Source{Preset: "fashion-fedex", Tuner: "random", Sets: []string{
		"model=logistic", "data.clients=8", "data.samples=30", "cohort=3", "budget.rounds=6", "budget.trial_rounds=3",
	}})
	if err != nil {
		panic(err)
	}
	path = filepath.Join(dir, "study")
	if _, err := workdir.Tune(context.Background(), path, c,
		workdir.Options{Launcher: workdir.InProcess(plugins.Builtin())}); err != nil {
		panic(err)
	}
	return path, c
}

func temporary() string {
	dir, err := os.MkdirTemp("", "export")
	if err != nil {
		panic(err)
	}
	return dir
}

// A study of random search becomes files that TensorBoard shows.
func ExampleStudy() {
	dir := temporary()
	defer func() { _ = os.RemoveAll(dir) }()
	path, _ := tuned(dir)
	files, err := export.Study(context.Background(), []string{path}, filepath.Join(dir, "out"), export.TensorBoard)
	if err != nil {
		panic(err)
	}
	for _, file := range files {
		fmt.Println(filepath.Base(filepath.Dir(file)))
	}
	// Output: trial-000
	// trial-001
}

func ExampleTable() {
	dir := temporary()
	defer func() { _ = os.RemoveAll(dir) }()
	path, _ := tuned(dir)
	var csv bytes.Buffer
	if err := export.Table(context.Background(), &csv, []string{path}, "trials", "csv", 0, 0); err != nil {
		panic(err)
	}
	fmt.Println(strings.Count(csv.String(), "\n")-1, "trials")
	// Output: 2 trials
}

// What the returned model predicts of the test samples of all clients.
func ExamplePredictions() {
	dir := temporary()
	defer func() { _ = os.RemoveAll(dir) }()
	path, c := tuned(dir)
	fed, model, err := config.Prepare(context.Background(), c)
	if err != nil {
		panic(err)
	}
	weights, err := safetensors.Read(filepath.Join(path, workdir.ModelFile), model)
	if err != nil {
		panic(err)
	}
	setup := study.Setup{Config: *c, Data: fed, Model: model}
	file := filepath.Join(dir, "test.csv")
	if err := export.Predictions(context.Background(), setup, weights, []string{"test"}, file); err != nil {
		panic(err)
	}
	text, err := os.ReadFile(file)
	if err != nil {
		panic(err)
	}
	fmt.Println(strings.SplitN(string(text), "\n", 2)[0])
	// Output: client,split,example,step,label,predicted,probability,p0,p1,p2,p3,p4,p5,p6,p7,p8,p9
}
