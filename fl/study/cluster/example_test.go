package cluster_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/fedfast/fedfast/fl/study"
	"github.com/fedfast/fedfast/fl/study/cluster"
	"github.com/fedfast/fedfast/fl/study/config"
	"github.com/fedfast/fedfast/fl/study/workdir"
)

// A coordinator waits for workers, which need nothing but the join file and the data: here
// a single one, of the same process. Its weights have the bits of a training without a
// cluster.
func Example() {
	folder, err := os.MkdirTemp("", "cluster")
	if err != nil {
		panic(err)
	}
	defer func() { _ = os.RemoveAll(folder) }()
	c, err := config.Load(config.Source{Preset: "fashion-fedex", Sets: []string{
		"model=logistic", "data.clients=8", "data.samples=30", "cohort=3", "rounds=4",
	}})
	if err != nil {
		panic(err)
	}
	ctx, path := context.Background(), filepath.Join(folder, "away")
	worked := make(chan error, 1)
	go func() {
		worked <- cluster.Work(ctx, cluster.WorkerOptions{Join: filepath.Join(path, cluster.Folder, cluster.JoinFile)})
	}()
	var coordinator *cluster.Coordinator
	away, err := workdir.Run(ctx, path, c, workdir.Options{Ready: func(ctx context.Context, s *study.Setup) (err error) {
		coordinator, err = cluster.Open(ctx, s, "127.0.0.1:0", cluster.Options{})
		s.Trainer = coordinator
		return err
	}})
	if err != nil {
		panic(err)
	}
	coordinator.Close(true)
	if err := <-worked; err != nil {
		panic(err)
	}
	here, err := workdir.Run(ctx, filepath.Join(folder, "here"), c, workdir.Options{})
	if err != nil {
		panic(err)
	}
	fmt.Println(away.Rounds, "rounds, the same bits:", away.WeightsSHA256 == here.WeightsSHA256)
	// Output: 4 rounds, the same bits: true
}
