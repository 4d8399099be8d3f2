package command

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/fedfast/fedfast/cmd/fedfast/internal/ui/table"
	"github.com/fedfast/fedfast/fl"
	"github.com/fedfast/fedfast/fl/study/config"
	"github.com/fedfast/fedfast/internal/key"
	"github.com/fedfast/fedfast/internal/list"
	"github.com/fedfast/fedfast/nn/models"
)

func (a *app) listKeys(context.Context) error { return a.printKeys(config.Reference()) }

// listKeysBelow prints a key, or those of a table.
func (a *app) listKeysBelow(_ context.Context, name string) error {
	var found []config.KeyInfo
	var known []key.Name
	for _, k := range config.Reference() {
		if k.Key == name || strings.HasPrefix(k.Key, name+".") {
			found = append(found, k)
		}
		known = append(known, key.Name{Name: k.Key, Also: k.Also})
	}
	if len(found) == 0 {
		return usageError{fmt.Errorf("unknown key %q%s; run `fedfast list keys` to see all keys", name, key.DidYouMean(name, known))}
	}
	return a.printKeys(found)
}

func (a *app) printKeys(infos []config.KeyInfo) error {
	return printList(a, infos, []string{"key", "type", "default", "allowed", "description"}, func(k config.KeyInfo) []string {
		return []string{k.Key, k.Type, dash(k.Default), dash(k.Allowed), keyDoc(k)}
	})
}

// keyDoc is what a key means, with those who alone use it, and whether it is tunable.
func keyDoc(k config.KeyInfo) string {
	var notes []string
	if users := keyUsers(k); users != "" {
		notes = append(notes, users)
	}
	if k.Tunable {
		notes = append(notes, "tunable")
	}
	if len(notes) == 0 {
		return k.Doc
	}
	return k.Doc + " (" + strings.Join(notes, "; ") + ")"
}

// keyUsers lists those who use a key, or the methods that do not if they are fewer; empty
// if all do.
func keyUsers(k config.KeyInfo) string {
	others := slices.DeleteFunc(fl.Methods(), func(name string) bool { return slices.Contains(k.UsedBy, name) })
	if len(others) < len(k.UsedBy) && len(others)+len(k.UsedBy) == len(fl.Methods()) {
		return "not " + strings.Join(others, ", ")
	}
	return strings.Join(k.UsedBy, ", ")
}

// layerChoices says how layers get choices.
const layerChoices = "For the method supernet, filters, units, kernel, groups and depth may be { choices = [16, 32] }, or { as = \"NAME\" } to reuse an earlier choice;\n" +
	"optional = true lets sub-networks skip a layer. A choice is named after its layer and key: client.arch.conv1.filters, client.arch.conv1.on."

// layerEntry is a line of `list layers --json`.
type layerEntry struct {
	Name string          `json:"name"`
	Doc  string          `json:"doc"`
	Keys []layerKeyEntry `json:"keys"`
}

// layerKeyEntry is a key of a type of layers.
type layerKeyEntry struct {
	Key      string `json:"key"`
	Type     string `json:"type"`
	Required bool   `json:"required"`
	Allowed  string `json:"allowed"`
	Doc      string `json:"doc"`
}

func layerEntries() []layerEntry {
	var entries []layerEntry
	known := config.LayerKeys()
	for _, t := range models.LayerTypes() {
		var keys []key.Key
		for _, name := range t.Keys {
			if i := slices.IndexFunc(known, func(k key.Key) bool { return k.Name == name }); i >= 0 {
				keys = append(keys, known[i])
			}
		}
		keys = append(keys, config.OptionKeys("options", t.Options)...)
		entries = append(entries, layerEntry{Name: t.Name, Doc: t.Doc, Keys: keyEntries(keys, t.Required)})
	}
	return entries
}

// keyEntries describes keys of a layer or of a loss, of which some are required.
func keyEntries(keys []key.Key, required []string) []layerKeyEntry {
	return append([]layerKeyEntry{}, list.Of(keys, func(k key.Key) layerKeyEntry {
		return layerKeyEntry{k.Name, k.Type(), slices.Contains(required, k.Name), k.Allowed(), k.Doc}
	})...)
}

func (a *app) listLayers(context.Context) error {
	err := printList(a, layerEntries(), []string{"type", "description", "keys (*: required)"}, func(e layerEntry) []string {
		keys := list.Of(e.Keys, func(k layerKeyEntry) string { return k.Key + map[bool]string{true: "*"}[k.Required] })
		return []string{e.Name, e.Doc, dash(strings.Join(keys, ", "))}
	})
	if err != nil || a.json {
		return err
	}
	fmt.Fprintln(a.out, "\nAny layer accepts a name, and input = \"NAME\" to read the output of that layer instead of the previous one.")
	fmt.Fprintln(a.out, layerChoices)
	return nil
}

// showLayer prints a type of layers with its keys.
func (a *app) showLayer(_ context.Context, name string) error {
	return printNamed(a, "type of layers", name, layerEntries(), func(e layerEntry) string { return e.Name }, func(e layerEntry) error {
		fmt.Fprintf(a.out, "%s: %s\n\n", e.Name, e.Doc)
		t := table.New(a.out, "key", "type", "allowed", "required", "description")
		for _, k := range e.Keys {
			t.Row(k.Key, k.Type, dash(k.Allowed), yes(k.Required), k.Doc)
		}
		return t.Flush()
	})
}

func yes(x bool) string { return map[bool]string{true: "yes", false: "no"}[x] }
