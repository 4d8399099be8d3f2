package command

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/fedfast/fedfast/cmd/fedfast/internal/ui/table"
	"github.com/fedfast/fedfast/fl"
	"github.com/fedfast/fedfast/fl/hyper"
	"github.com/fedfast/fedfast/fl/study/config"
	"github.com/fedfast/fedfast/internal/list"
)

// methodEntry is a line of `list methods --json`.
type methodEntry struct {
	Name  string `json:"name"`
	Doc   string `json:"doc"`
	Paper string `json:"paper"`
	// Differs says how the method differs from its paper, empty where it does not say.
	Differs string `json:"differs,omitempty"`
	// Synchronous says why an asynchronous server cannot use the method, empty if it can.
	Synchronous string `json:"synchronous,omitempty"`
	// Settings are other keys of a study file that the method reads.
	Settings []string `json:"settings"`
	// Hyperparameters are the hyperparameters of `list methods NAME` only.
	Hyperparameters []hyperEntry `json:"hyperparameters,omitempty"`
	// Tuned are the values of `list methods NAME` that the tuned board found.
	Tuned []config.TunedValue `json:"tuned,omitempty"`
}

// hyperEntry is a hyperparameter as a method uses it.
type hyperEntry struct {
	Key     string `json:"key"`
	Side    string `json:"side"` // client or server
	Type    string `json:"type"`
	Default any    `json:"default"`
	Allowed string `json:"allowed"`
	Tunable bool   `json:"tunable"`
	Doc     string `json:"doc"`
}

func newMethodEntry(m fl.Method) methodEntry {
	return methodEntry{Name: m.Name, Doc: m.Doc, Paper: m.Paper, Differs: m.Differs, Synchronous: m.Synchronous, Settings: append([]string{}, m.Settings()...)}
}

func (a *app) listMethods(context.Context) error {
	entries := []methodEntry{}
	for _, name := range fl.Methods() {
		m, err := fl.MethodByName(name)
		if err != nil {
			return err
		}
		entries = append(entries, newMethodEntry(m))
	}
	return printList(a, entries, []string{"name", "description", "paper"}, func(e methodEntry) []string {
		authors, _, _ := strings.Cut(e.Paper, ",") // and the year
		return []string{e.Name, e.Doc, authors}
	})
}

// describeMethod tells all about a method.
func describeMethod(m fl.Method) methodEntry {
	e := newMethodEntry(m)
	e.Tuned = config.TunedValues(m.Name)
	c, s := m.Defaults()
	defaults := hyper.Values{Client: c, Server: s}
	for _, p := range hyper.Table() {
		for _, u := range m.Uses {
			if u.Key != p.Name || u.Fixed() {
				continue
			}
			if u.In.String() != "" {
				p.In = u.In
			}
			if u.Words != nil {
				p.Words = u.Words
			}
			side, _, _ := strings.Cut(p.Name, ".")
			e.Hyperparameters = append(e.Hyperparameters, hyperEntry{p.Name, side, p.Type(), p.Value(&defaults), p.Allowed(), p.Tunable, p.Doc})
		}
	}
	return e
}

// showMethod prints a method with its hyperparameters.
func (a *app) showMethod(_ context.Context, name string) error {
	m, err := fl.MethodByName(name)
	if err != nil {
		return usageError{err}
	}
	e := describeMethod(m)
	if a.json {
		return a.printJSON(e)
	}
	t := table.New(a.out)
	t.Row(e.Name, e.Doc)
	t.Row("paper", e.Paper)
	if e.Differs != "" {
		t.Row("differs", e.Differs)
	}
	if e.Synchronous != "" {
		t.Row("synchronous", "refuses the modes buffered, async and window of [time]: "+e.Synchronous)
	}
	if len(e.Settings) > 0 {
		t.Row("also reads", strings.Join(e.Settings, ", "))
	}
	if err := t.Flush(); err != nil {
		return err
	}
	fmt.Fprintln(a.out)
	t = table.New(a.out, "hyperparameter", "default", "allowed", "tunable", "description")
	for _, h := range e.Hyperparameters {
		t.Row(h.Key, fmt.Sprint(h.Default), dash(h.Allowed), yes(h.Tunable), h.Doc)
	}
	if err := t.Flush(); err != nil || len(e.Tuned) == 0 {
		return err
	}
	fmt.Fprintf(a.out, "\ntuned values, and the range of these and the best tenth of trials; --preset tuned/%s begins with them, space = \"auto\" searches around them\n", e.Name)
	sets := list.Of(e.Tuned, func(v config.TunedValue) string { return v.Set })
	t = table.New(a.out, append([]string{"tuned on"}, slices.Compact(sets)...)...)
	rows := map[string][]string{}
	for _, v := range e.Tuned {
		rows[v.Key] = append(rows[v.Key], v.String())
	}
	for _, key := range slices.Sorted(maps.Keys(rows)) {
		t.Row(append([]string{key}, rows[key]...)...)
	}
	return t.Flush()
}
