package main

import (
	"context"
	"errors"

	"github.com/spf13/pflag"

	"github.com/fedfast/fedfast/fl/study"
	"github.com/fedfast/fedfast/fl/study/cluster"
	"github.com/fedfast/fedfast/fl/study/workdir"
)

// clusterFlag is the flag --cluster: where workers join, empty for a study in this
// process.
type clusterFlag struct {
	address     string
	credentials string
	coordinator *cluster.Coordinator // nil before it is opened
}

func (c *clusterFlag) addFlags(f *pflag.FlagSet) {
	f.StringVar(&c.address, "cluster", "", "have workers train that join at `HOST:PORT`, such as 127.0.0.1:0 (port 0 is any free one); see `fedfast worker`; nats://HOST:PORT or tls://HOST:PORT is a NATS server with JetStream that runs already")
	f.StringVar(&c.credentials, "creds", "", "credentials `FILE` for such a server")
}

// validate checks the address and what it is given with.
func (c *clusterFlag) validate(seeds bool) error {
	switch {
	case c.address == "" && c.credentials != "":
		return usageError{errors.New("--creds: goes with --cluster")}
	case c.address == "":
		return nil
	case seeds:
		return usageError{errors.New("--cluster: it is for one study; begin the studies of several seeds one by one")}
	}
	return cluster.CheckAddress(c.address)
}

// open opens the cluster when a study can begin.
func (c *clusterFlag) open(a *app, o *workdir.Options) {
	if c.address == "" {
		return
	}
	ready := o.Ready
	o.Ready = func(ctx context.Context, s *study.Setup) error {
		if err := ready(ctx, s); err != nil {
			return err
		}
		var err error
		if c.coordinator, err = cluster.Open(ctx, s, c.address, cluster.Options{Version: buildVersion(), Notice: a.notice, Credentials: c.credentials}); err != nil {
			return err
		}
		s.Trainer = c.coordinator
		return nil
	}
}

// close ends the cluster with its study, or leaves the workers waiting.
func (c *clusterFlag) close(ended bool) {
	if c.coordinator != nil {
		c.coordinator.Close(ended)
		c.coordinator = nil
	}
}
