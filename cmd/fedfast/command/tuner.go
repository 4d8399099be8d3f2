package command

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/fedfast/fedfast/fl/study/workdir"
	"github.com/fedfast/fedfast/internal/key"
	"github.com/fedfast/fedfast/plugins"
	"github.com/fedfast/fedfast/tuners"
	"github.com/fedfast/fedfast/tuners/host"
)

func newTuner(a *app) *cobra.Command {
	serve := &cobra.Command{
		Use:   "serve NAME",
		Short: "Serve a built-in tuner over gRPC (started by fedfast itself)",
		Args:  cobra.ExactArgs(1),
		RunE:  a.work(func(_ *cobra.Command, args []string) error { return serve(args[0]) }),
	}
	return group("tuner", "List, create, check and install tuners",
		newTunerList(a), newTunerNew(a), newTunerCheck(a), newTunerInstall(a), newTunerRemove(a), serve, newTunerAbandon(a))
}

// serve answers the host over the plugin protocol until the host ends.
func serve(name string) error {
	builtin := plugins.Builtin()
	t, ok := builtin[name]
	if !ok {
		return usageError{fmt.Errorf("unknown built-in tuner %q; available: %s", name, strings.Join(slices.Sorted(maps.Keys(builtin)), ", "))}
	}
	tuners.Serve(t)
	return nil
}

// paths says where tuners are looked for.
func (a *app) paths() (host.Paths, error) {
	paths, err := host.DefaultPaths(slices.Collect(maps.Keys(plugins.Builtin())), a.tunerPaths...)
	if err != nil {
		return paths, err
	}
	for _, dir := range a.tunerPaths {
		if info, err := os.Stat(dir); err != nil || !info.IsDir() {
			return paths, usageError{fmt.Errorf("--tuner-path %s: must be an existing directory of files named %sNAME", dir, host.Prefix)}
		}
	}
	for _, given := range []struct{ by, text string }{{"--tuner-reattach", a.tunerReattach}, {host.AttachEnv, os.Getenv(host.AttachEnv)}} {
		attach, err := host.ParseAttach(given.text)
		if err != nil {
			return paths, usageError{fmt.Errorf("%s: %w", given.by, err)}
		}
		paths.Attach = append(paths.Attach, attach...)
	}
	return paths, nil
}

// launcher returns how studies launch their tuners: as processes, and only as the
// very program that a study recorded, unless another one is allowed.
func (a *app) launcher(allowChange bool) workdir.Launcher {
	return func(ctx context.Context, l workdir.Launch) (workdir.Tuner, error) {
		return a.launchPinned(ctx, l.Key, l.Name, l.Start, func(r host.Ref) (host.Ref, error) {
			if l.Pin == nil || allowChange {
				return r, nil
			}
			return r.Pinned(l.Study, *l.Pin, "--allow-tuner-change")
		})
	}
}

// launchPinned finds a tuner and starts it, after pin has looked at what was found. A name
// that nothing has is wrong usage. The tuner outlives ctx until it is closed: a round that
// has begun needs it.
func (a *app) launchPinned(ctx context.Context, role, name string, start time.Duration,
	pin func(host.Ref) (host.Ref, error),
) (*host.Plugin, error) {
	paths, err := a.paths()
	if err != nil {
		return nil, err
	}
	ref, err := host.Find(name, paths)
	if errors.Is(err, host.ErrNotFound) && plugins.Namesakes(name) != "" {
		err = errors.New(plugins.Namesakes(name))
	}
	if errors.Is(err, host.ErrNotFound) {
		err = fmt.Errorf("%w%s", err, key.DidYouMean(name, key.Names(paths.Builtin...)))
	}
	if err != nil {
		return nil, usageError{fmt.Errorf("%s: %w", role, err)}
	}
	if ref, err = pin(ref); err != nil {
		return nil, fmt.Errorf("%s: %w", role, err)
	}
	return host.Launch(context.WithoutCancel(ctx), ref, host.Options{StartTimeout: start, Logger: a.newLog()})
}
