package command

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/pflag"

	"github.com/fedfast/fedfast/fl/study"
	"github.com/fedfast/fedfast/fl/study/cluster"
	"github.com/fedfast/fedfast/fl/study/config"
	"github.com/fedfast/fedfast/fl/study/workdir"
)

// clusterFlag are the flags of a study with workers: where these join, empty for a
// study in this process, and the coordinator's options.
type clusterFlag struct {
	address     string
	options     cluster.Options
	coordinator *cluster.Coordinator // nil before it is opened
}

func (c *clusterFlag) addFlags(f *pflag.FlagSet) {
	f.StringVar(&c.address, "cluster", "", "train on workers (see fedfast worker); listen for them on `HOST:PORT` (port "+
		"0: any free port), or use the running NATS server with JetStream at nats://HOST:PORT or tls://HOST:PORT")
	c.addFiles(f)
	f.Var(&c.options.Rounds, "cluster-rounds", "with --cluster, split rounds among workers: auto (where it is faster), always or never; does not change results")
	f.Float64Var(&c.options.Audit, "audit", 0, "with --cluster, train this `SHARE` of the rounds twice, on different workers, and dismiss workers that compute wrongly; does not change results")
}

// addFiles adds the flags that name files of servers.
func (c *clusterFlag) addFiles(f *pflag.FlagSet) {
	c.options.Rounds = cluster.RoundsAuto
	f.StringVar(&c.options.Credentials, "creds", "", "NATS credentials `FILE`")
	f.StringVar(&c.options.CA, "ca", "", "CA certificate `FILE` of the NATS server, if not in the system store")
	f.StringVar(&c.options.Certificate, "cert", "", "with --cluster HOST:PORT, the certificate of this coordinator in a "+
		"PEM `FILE`, which names its hosts; workers reach it there, with the same join file after each start (default: a "+
		"new one each time)")
	f.StringVar(&c.options.Key, "key", "", "the private key of --cert in a PEM `FILE`")
	f.StringVar(&c.options.Metrics, "metrics", "", "with --cluster, tell Prometheus at `HOST:PORT` what waits and runs")
}

// validate checks the address and what it is given with.
func (c *clusterFlag) validate(seeds bool) error {
	o, own := &c.options, c.address != "" && !strings.Contains(c.address, "://")
	switch {
	case c.address == "" && o.Credentials != "":
		return usageError{errors.New("--creds requires --cluster")}
	case o.CA != "" && !strings.HasPrefix(c.address, "tls://"):
		return usageError{errors.New("--ca requires --cluster tls://HOST:PORT")}
	case (o.Certificate != "") != (o.Key != "") || o.Key != "" && !own:
		return usageError{errors.New("--cert and --key require each other and --cluster HOST:PORT")}
	case c.address == "" && (o.Rounds != cluster.RoundsAuto || o.Audit != 0 || o.Metrics != ""):
		return usageError{errors.New("--audit, --cluster-rounds and --metrics require --cluster HOST:PORT")}
	case !(o.Audit >= 0 && o.Audit <= 1):
		return usageError{fmt.Errorf("--audit %v: must be a share of the rounds from 0 to 1, such as 0.02", o.Audit)}
	case c.address == "":
		return nil
	case seeds:
		return usageError{errors.New("--cluster: cannot be combined with --seeds; start one study per seed")}
	}
	return cluster.CheckAddress(c.address)
}

// open opens the cluster when a study can begin.
func (c *clusterFlag) open(a *app, o *workdir.Options, mode string) {
	if c.address == "" {
		return
	}
	ready := o.Ready
	o.Ready = func(ctx context.Context, s *study.Setup) error {
		if err := ready(ctx, s); err != nil {
			return err
		}
		s.Unscored = mode == config.ModeRun
		var err error
		if c.coordinator, err = cluster.Open(ctx, s, c.address, c.of(a)); err != nil {
			return err
		}
		s.Trainer = c.coordinator
		return nil
	}
}

// of returns the options of a coordinator in a program.
func (c *clusterFlag) of(a *app) cluster.Options {
	o := c.options
	o.Version, o.Notice = buildVersion(), a.notice
	return o
}

// finish ends the cluster after a study's work, with the work's error: with a study
// that has ended, or that was refused before it began, and else leaves the workers
// waiting for its resumption.
func (c *clusterFlag) finish(ctx context.Context, s *opened, err error) {
	if c.coordinator == nil {
		return
	}
	refused := err != nil && ctx.Err() == nil && s.New() && !c.coordinator.Begun()
	c.close(err == nil || refused)
}

// close ends the cluster with its study, or leaves the workers waiting.
func (c *clusterFlag) close(ended bool) {
	if c.coordinator != nil {
		c.coordinator.Close(ended)
		c.coordinator = nil
	}
}
