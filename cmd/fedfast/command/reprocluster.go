package command

import (
	"context"
	"errors"

	"github.com/spf13/cobra"

	"github.com/fedfast/fedfast/fl/study/cluster"
	"github.com/fedfast/fedfast/fl/study/workdir"
	"github.com/fedfast/fedfast/internal/repro"
)

// reproSite is the cluster of `fedfast repro --cluster`.
type reproSite struct{ clusterFlag }

func (s *reproSite) addFlags(cmd *cobra.Command) {
	f := cmd.Flags()
	s.rounds = cluster.RoundsAuto // a site's are not shared
	f.StringVar(&s.address, "cluster", "", "train on workers; listen for them on `HOST:PORT` (port 0: any free port); the join file is in --out")
	f.StringVar(&s.credentials, "creds", "", "NATS credentials `FILE`")
	f.StringVar(&s.authority, "ca", "", "CA certificate `FILE` of the NATS server, if not in the system store")
}

// run runs jobs with the workers of a cluster and calls done for each that has ended.
func (s *reproSite) run(ctx context.Context, a *app, dir string, jobs []*repro.Job, done func(*repro.Job, *repro.Metrics) error) error {
	hub, err := cluster.OpenHub(ctx, dir, s.address, cluster.Options{Version: buildVersion(), Notice: a.notice, Credentials: s.credentials, CA: s.authority})
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
