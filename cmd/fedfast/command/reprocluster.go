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
	f.StringVar(&s.address, "cluster", "", "have workers train that join at `HOST:PORT`, such as 127.0.0.1:0, by the join file in --out; idle ones take up other seeds and cells")
	f.StringVar(&s.credentials, "creds", "", "credentials `FILE`, where --cluster is nats://HOST:PORT or tls://HOST:PORT")
	f.StringVar(&s.authority, "ca", "", "certificate `FILE` of the authority of such a server, where the system does not know it")
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
		return errors.New("interrupted; the same command resumes it")
	}
	return err
}
