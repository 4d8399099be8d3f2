package command

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/fedfast/fedfast/cmd/fedfast/internal/ui/table"
	"github.com/fedfast/fedfast/data"
	"github.com/fedfast/fedfast/fl"
	"github.com/fedfast/fedfast/fl/study/config"
	"github.com/fedfast/fedfast/internal/key"
	"github.com/fedfast/fedfast/internal/list"
	"github.com/fedfast/fedfast/internal/sys/oneline"
	"github.com/fedfast/fedfast/nn"
	"github.com/fedfast/fedfast/nn/models"
	"github.com/fedfast/fedfast/plugins"
)

// listing is one of the lists of what fedfast knows.
type listing struct {
	name, short string
	// all prints the list, one what is known of an entry; nil prints no entry
	// alone.
	all func(ctx context.Context) error
	one func(ctx context.Context, name string) error
	// names are the names of the entries.
	names func() []string
}

func newList(a *app) *cobra.Command {
	var commands []*cobra.Command
	for _, l := range []listing{
		{
			"keys", "List the keys of a study file: types, defaults, ranges and descriptions", a.listKeys, a.listKeysBelow,
			func() []string { return list.Of(config.Reference(), func(k config.KeyInfo) string { return k.Key }) },
		},
		{"layers", "List the layers of [[model.layers]] and their keys", a.listLayers, a.showLayer, models.LayerNames},
		{"losses", "List losses, or show one with its options", a.listLosses, a.showLoss, lossNames},
		{"methods", "List federated methods, or show one with its hyperparameters", a.listMethods, a.showMethod, fl.Methods},
		{"models", "List models, or show one with its parameters", a.listModels, a.showModel, models.Names},
		{"tuners", "List built-in and external tuners, or show one with its options", a.listTuners, a.showTuner, builtinNames},
		{
			"updates", "List what can happen to clients' updates: attacks and compression, or show one", a.listUpdates,
			a.showUpdate, func() []string { return list.Of(updateEntries(), updateEntry.name) },
		},
		{"aggregators", "List how the server can combine updates, or show one", a.listAggregators, a.showAggregator, fl.AggregatorNames},
		{"probes", "List the measurements that a tuner can request of a round", a.listProbes, nil, nil},
		{"data", "List datasets", func(context.Context) error { return a.listData() }, nil, nil},
		{"presets", "List built-in study files, or print one", a.listPresets, a.showPreset, presetNames},
	} {
		commands = append(commands, l.command(a))
	}
	return group("list", "List available methods, models, datasets, tuners, presets, keys, layers, losses, updates, aggregators and probes", commands...)
}

func (l listing) command(a *app) *cobra.Command {
	cmd := &cobra.Command{Use: l.name, Short: l.short, Args: cobra.NoArgs}
	if l.one != nil {
		cmd.Use, cmd.Args, cmd.ValidArgsFunction = l.name+" [NAME]", cobra.MaximumNArgs(1), completeFirst(l.names)
	}
	cmd.RunE = a.work(func(cmd *cobra.Command, args []string) error {
		if len(args) == 0 {
			return l.all(cmd.Context())
		}
		return l.one(cmd.Context(), args[0])
	})
	return cmd
}

// printList prints entries: as JSON, or as a table with a row for each.
func printList[T any](a *app, entries []T, columns []string, row func(T) []string) error {
	if a.json {
		return a.printJSON(entries)
	}
	t := table.New(a.out, columns...)
	for _, e := range entries {
		t.Row(row(e)...)
	}
	return t.Flush()
}

// printNamed prints the entry that has a name: as JSON, or as show does.
func printNamed[T any](a *app, what, name string, entries []T, nameOf func(T) string, show func(T) error) error {
	known := list.Of(entries, nameOf)
	i := slices.Index(known, name)
	switch {
	case i < 0:
		return unknown(what, name, known)
	case a.json:
		return a.printJSON(entries[i])
	}
	return show(entries[i])
}

// unknown is the error for a name that a list does not have.
func unknown(what, name string, known []string) error {
	return usageError{fmt.Errorf("unknown %s %q%s; available: %s", what, name, key.DidYouMean(name, key.Names(known...)), strings.Join(known, ", "))}
}

func builtinNames() []string { return slices.Sorted(maps.Keys(plugins.Builtin())) }

func presetNames() []string {
	return list.Of(config.Presets(), func(p config.Preset) string { return p.Name })
}

func setNames() []string { return list.Of(data.Sets(), func(s data.SetInfo) string { return s.Name }) }

func (a *app) listPresets(context.Context) error {
	return printList(a, config.Presets(), []string{"name", "description"}, func(p config.Preset) []string { return []string{p.Name, p.Doc} })
}

// showPreset prints the study file of a preset.
func (a *app) showPreset(_ context.Context, name string) error {
	text, err := config.PresetText(name)
	if err != nil {
		return usageError{err}
	}
	if a.json {
		return a.printJSON(struct {
			Name string `json:"name"`
			Text string `json:"text"`
		}{name, text})
	}
	_, err = fmt.Fprint(a.out, text)
	return err
}

// probeEntry is a line of `list probes --json`.
type probeEntry struct {
	Name string `json:"name"`
	Doc  string `json:"doc"`
	Of   string `json:"of"`   // slot or round
	Cost string `json:"cost"` // empty for nothing
}

func probeEntries() []probeEntry {
	return list.Of(fl.Probes(), func(p fl.Probe) probeEntry {
		return probeEntry{p.Name, p.Doc, map[bool]string{true: "round", false: "slot"}[p.Round], p.Cost}
	})
}

func (a *app) listProbes(context.Context) error {
	return printList(a, probeEntries(), []string{"name", "per", "description", "cost"}, func(e probeEntry) []string {
		return []string{e.Name, e.Of, e.Doc, dash(e.Cost)}
	})
}

// modelEntry is a line of `list models --json`.
type modelEntry struct {
	Name       string `json:"name"`
	Doc        string `json:"doc"`
	Parameters int    `json:"parameters"`
	Input      string `json:"input"`
	Classes    int    `json:"classes"`
	// FLOPs of one sample, forward and for a whole step.
	FLOPs      int64 `json:"flops"`
	TrainFLOPs int64 `json:"train_flops"`
	// Tensors are its parameters, of `list models NAME` only.
	Tensors []tensorEntry `json:"tensors,omitempty"`
}

// tensorEntry is one tensor of a model's parameters.
type tensorEntry struct {
	Name  string `json:"name"`
	Shape []int  `json:"shape"`
}

func newModelEntry(name string) (modelEntry, *nn.Model, error) {
	m, err := models.New(name, models.Options{})
	if err != nil {
		return modelEntry{}, nil, err
	}
	forward, train := m.FLOPs()
	return modelEntry{Name: name, Doc: m.Doc(), Parameters: m.NumParams(), Input: m.Input().String(), Classes: m.Classes(), FLOPs: forward, TrainFLOPs: train}, m, nil
}

func (a *app) listModels(context.Context) error {
	entries := []modelEntry{}
	for _, name := range models.Names() {
		e, _, err := newModelEntry(name)
		if err != nil {
			return err
		}
		entries = append(entries, e)
	}
	return printList(a, entries, []string{"name", "parameters", "input", "classes", "MFLOP per step and sample", "description"}, func(e modelEntry) []string {
		return []string{e.Name, oneline.Digits(e.Parameters), e.Input, strconv.Itoa(e.Classes), megaflops(e.TrainFLOPs), e.Doc}
	})
}

// showModel prints a network with its parameters.
func (a *app) showModel(_ context.Context, name string) error {
	if !slices.Contains(models.Names(), name) {
		return unknown("model", name, models.Names())
	}
	e, m, err := newModelEntry(name)
	if err != nil {
		return err
	}
	for _, t := range m.Export(m.NewParams()) {
		e.Tensors = append(e.Tensors, tensorEntry{t.Name, t.Shape})
	}
	if a.json {
		return a.printJSON(e)
	}
	t := table.New(a.out)
	t.Row(e.Name, e.Doc)
	t.Row("input", e.Input)
	t.Row("classes", strconv.Itoa(e.Classes))
	t.Row("parameters", oneline.Digits(e.Parameters))
	t.Row("MFLOP per step and sample", megaflops(e.TrainFLOPs))
	if err := t.Flush(); err != nil {
		return err
	}
	fmt.Fprintln(a.out)
	t = table.New(a.out, "tensor", "shape")
	for _, tensor := range e.Tensors {
		t.Row(tensor.Name, strings.ReplaceAll(strings.Trim(fmt.Sprint(tensor.Shape), "[]"), " ", " x "))
	}
	return t.Flush()
}

func megaflops(n int64) string { return fmt.Sprintf("%.1f", float64(n)/1e6) }

func dash(text string) string { return cmp.Or(text, "-") }
