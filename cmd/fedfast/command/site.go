package command

import (
	"context"
	"errors"

	"github.com/spf13/cobra"

	"github.com/fedfast/fedfast/bench/repro"
	"github.com/fedfast/fedfast/fl/study/cluster"
	"github.com/fedfast/fedfast/fl/study/workdir"
)

// site are the flags of a cluster whose workers train several studies, which share no rounds.
type site struct{ clusterFlag }

// addFlags adds them; where says in which directory the join file is.
func (s *site) addFlags(cmd *cobra.Command, where string) {
	f := cmd.Flags()
	f.StringVar(&s.address, "cluster", "", "train on workers; listen for them on `HOST:PORT` (port 0: any free port); the join file is in "+where)
	s.addFiles(f)
}

// open opens the cluster, with its join file below a directory.
func (s *site) open(ctx context.Context, a *app, dir string) (*cluster.Hub, error) {
	return cluster.OpenHub(ctx, dir, s.address, s.of(a))
}

// run runs jobs with the workers of a cluster and calls done for each that has ended.
func (s *site) run(ctx context.Context, a *app, dir string, jobs []*repro.Job, done func(*repro.Job, *repro.Metrics) error) error {
	hub, err := s.open(ctx, a, dir)
	if err != nil {
		return err
	}
	f := &repro.Fleet{
		Hub: hub, Tell: a.notice, Done: done,
		Work: func() workdir.Options {
			return workdir.Options{Workers: a.workers, Log: a.newLog(), Launcher: a.launcher(true)}
		},
	}
	err = f.Run(ctx, jobs)
	hub.Close(err == nil)
	if ctx.Err() != nil && err != nil {
		return errors.New("interrupted; run the same command again to resume")
	}
	return err
}
