package view_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/fedfast/fedfast/fl/study/config"
	"github.com/fedfast/fedfast/fl/study/view"
	"github.com/fedfast/fedfast/fl/study/workdir"
)

// What a study has come to, read from its directory: here of a finished one, but another
// process may be at work on it as well.
func Example() {
	folder, err := os.MkdirTemp("", "study")
	if err != nil {
		panic(err)
	}
	defer func() { _ = os.RemoveAll(folder) }()
	c, err := config.Load(config.Source{Preset: "fashion-fedex", Sets: []string{
		"model=logistic", "method=fedavg", "data.clients=8", "data.samples=30", "cohort=3", "rounds=4",
	}})
	if err != nil {
		panic(err)
	}
	dir := filepath.Join(folder, "mine")
	if _, err := workdir.Run(context.Background(), dir, c, workdir.Options{}); err != nil {
		panic(err)
	}
	s, o, err := view.Open(context.Background(), dir)
	if err != nil {
		panic(err)
	}
	defer func() { _ = s.Close() }()
	fmt.Printf("%s of %s: %d of %d rounds, finished: %v\n", o.Mode, o.Config.Method, o.Rounds, o.Budget, o.Run != nil)
	// Output: run of fedavg: 4 of 4 rounds, finished: true
}
