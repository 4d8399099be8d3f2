package main

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/fedfast/fedfast/cmd/fedfast/internal/table"
	"github.com/fedfast/fedfast/plugins"
	"github.com/fedfast/fedfast/tuners"
	"github.com/fedfast/fedfast/tuners/host"
)

func newTuner(a *app) *cobra.Command {
	list := &cobra.Command{
		Use:   "list",
		Short: "List the tuners that can be used, built in and external",
		Args:  cobra.NoArgs,
		RunE:  a.work(func(cmd *cobra.Command, _ []string) error { return a.listTuners(cmd.Context()) }),
	}
	serve := &cobra.Command{
		Use:   "serve NAME",
		Short: "Serve a built-in tuner to the program that started this one",
		Long:  "Serve a built-in tuner to the program that started this one. fedfast starts itself so; there is nothing for a person to do.",
		Args:  cobra.ExactArgs(1),
		RunE:  a.work(func(_ *cobra.Command, args []string) error { return serve(args[0]) }),
	}
	return group("tuner", "Tuners: list, serve", list, serve)
}

// serve answers the host over the plugin protocol until the host ends.
func serve(name string) error {
	builtin := plugins.Builtin()
	t, ok := builtin[name]
	if !ok {
		return usageError{fmt.Errorf("no built-in tuner is called %q; there are %s", name, strings.Join(slices.Sorted(maps.Keys(builtin)), ", "))}
	}
	tuners.Serve(t)
	return nil
}

// paths says where tuners are looked for.
func (a *app) paths() (host.Paths, error) {
	return host.DefaultPaths(slices.Collect(maps.Keys(plugins.Builtin())), a.tunerPaths...)
}

// launch finds a tuner and starts it. A name that nothing has is wrong usage.
// The tuner outlives ctx until it is closed: a round that has begun needs it.
func (a *app) launch(ctx context.Context, key, name string) (*host.Plugin, error) {
	paths, err := a.paths()
	if err != nil {
		return nil, err
	}
	ref, err := host.Find(name, paths)
	if err != nil {
		return nil, usageError{fmt.Errorf("%s: %w", key, err)}
	}
	return host.Launch(context.WithoutCancel(ctx), ref, host.Options{Logger: a.newLog()})
}

// tunerEntry is a line of `list tuners --json`.
type tunerEntry struct {
	tunerRef
	Version string   `json:"version,omitempty"`
	Doc     string   `json:"doc,omitempty"`
	Trials  bool     `json:"trials"`
	Rounds  bool     `json:"rounds"`
	Options []option `json:"options,omitempty"`
	Skipped string   `json:"skipped,omitempty"` // why it cannot be used
}

// option is one of a tuner's options.
type option struct {
	Name    string       `json:"name"`
	Default tuners.Value `json:"default"`
	Doc     string       `json:"doc"`
}

// listTuners starts every tuner once for its description.
func (a *app) listTuners(ctx context.Context) error {
	paths, err := a.paths()
	if err != nil {
		return err
	}
	entries := []tunerEntry{}
	for _, e := range host.List(ctx, paths, host.Options{Logger: a.newLog()}) {
		d := e.Description
		entry := tunerEntry{tunerRef: refOf(e.Ref), Version: d.Version, Doc: d.Doc, Trials: d.Trials, Rounds: d.Rounds, Skipped: e.Skipped}
		for _, o := range d.Options {
			entry.Options = append(entry.Options, option(o))
		}
		entries = append(entries, entry)
	}
	if a.json {
		return a.printJSON(entries)
	}
	t := table.New(a.out, "name", "version", "use as", "from", "what it does")
	for _, e := range entries {
		from, doc := "built in", e.Doc
		if !e.Builtin {
			from = e.Path
		}
		if e.Skipped != "" {
			doc = "cannot be used: " + e.Skipped
		}
		t.Row(e.Name, e.Version, e.roles(), from, doc)
	}
	return t.Flush()
}

// roles says which keys of a study may name the tuner.
func (e tunerEntry) roles() string {
	var roles []string
	if e.Trials {
		roles = append(roles, "tuner")
	}
	if e.Rounds {
		roles = append(roles, "client tuner")
	}
	return strings.Join(roles, ", ")
}
