package main

import (
	"fmt"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/fedfast/fedfast/cmd/fedfast/internal/table"
	"github.com/fedfast/fedfast/fl"
	"github.com/fedfast/fedfast/fl/study"
	"github.com/fedfast/fedfast/nn"
	"github.com/fedfast/fedfast/nn/models"
)

func newList(a *app) *cobra.Command {
	sub := func(name, short string, run func(cmd *cobra.Command) error) *cobra.Command {
		return &cobra.Command{Use: name, Short: short, Args: cobra.NoArgs, RunE: a.work(func(cmd *cobra.Command, _ []string) error { return run(cmd) })}
	}
	return group("list", "List what fedfast knows: methods, models, tuners, data, presets",
		sub("methods", "Federated methods", func(*cobra.Command) error { return a.listMethods() }),
		sub("models", "Networks by name", func(*cobra.Command) error { return a.listModels() }),
		sub("tuners", "Tuners, built in and external", func(cmd *cobra.Command) error { return a.listTuners(cmd.Context()) }),
		sub("data", "Sets of data", func(*cobra.Command) error { return a.listData() }),
		sub("presets", "Study files that the program carries", func(*cobra.Command) error { return a.listPresets() }),
	)
}

// named is an entry of a list that has nothing but a doc.
type named struct {
	Name string `json:"name"`
	Doc  string `json:"doc"`
}

func (a *app) listNamed(entries []named) error {
	if a.json {
		return a.printJSON(entries)
	}
	t := table.New(a.out, "name", "what it is")
	for _, e := range entries {
		t.Row(e.Name, e.Doc)
	}
	return t.Flush()
}

func (a *app) listMethods() error {
	entries := []named{}
	for _, name := range fl.Methods() {
		m, err := fl.MethodByName(name)
		if err != nil {
			return err
		}
		entries = append(entries, named{m.Name(), m.Doc()})
	}
	return a.listNamed(entries)
}

func (a *app) listPresets() error {
	entries := []named{}
	for _, p := range study.Presets() {
		entries = append(entries, named(p))
	}
	return a.listNamed(entries)
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
}

func (a *app) listModels() error {
	entries := []modelEntry{}
	for _, name := range models.Names() {
		m, err := models.New(name, models.Options{})
		if err != nil {
			return err
		}
		forward, train := m.FLOPs()
		entries = append(entries, modelEntry{name, m.Doc(), m.NumParams(), shape(m.Input()), m.Classes(), forward, train})
	}
	if a.json {
		return a.printJSON(entries)
	}
	t := table.New(a.out, "name", "parameters", "input", "classes", "MFLOP a step and sample", "what it is")
	for _, e := range entries {
		t.Row(e.Name, table.Count(e.Parameters), e.Input, strconv.Itoa(e.Classes), fmt.Sprintf("%.1f", float64(e.TrainFLOPs)/1e6), e.Doc)
	}
	return t.Flush()
}

// shape writes the form of a sample.
func shape(s nn.Shape) string {
	if s.Seq > 0 {
		return fmt.Sprintf("%d of %d tokens", s.Seq, s.Vocab)
	}
	return fmt.Sprintf("%d x %d x %d", s.H, s.W, s.C)
}
