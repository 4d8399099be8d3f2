package command

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/fedfast/fedfast/fl"
	"github.com/fedfast/fedfast/internal/list"
)

// updateEntry is a line of `list updates --json` and of `list aggregators --json`.
type updateEntry struct {
	Key   string   `json:"key"`
	Name  string   `json:"name"`
	Doc   string   `json:"doc"`
	Paper string   `json:"paper"`
	Uses  []string `json:"uses"`
}

// updateEntries are what can happen to clients' updates, in the order in which it does.
func updateEntries() []updateEntry {
	var entries []updateEntry
	for _, s := range []fl.Stage{fl.StageAttack, fl.StageSparsify, fl.StageQuantize} {
		for _, t := range fl.Transforms(s) {
			uses := slices.Clone(t.Uses)
			if s == fl.StageAttack {
				uses = append(uses, "update.attackers")
			}
			if t.Biased {
				uses = append(uses, "update.feedback")
			}
			entries = append(entries, updateEntry{s.String(), t.Name, t.Doc, t.Paper, append([]string{}, uses...)})
		}
	}
	return entries
}

func aggregatorEntries() []updateEntry {
	return list.Of(fl.Aggregators(), func(a fl.Aggregator) updateEntry {
		return updateEntry{"aggregator.name", a.Name, a.Doc, a.Paper, append([]string{}, a.Uses...)}
	})
}

func (a *app) listUpdates(context.Context) error { return a.printUpdates(updateEntries()) }

func (a *app) listAggregators(context.Context) error { return a.printUpdates(aggregatorEntries()) }

func (a *app) printUpdates(entries []updateEntry) error {
	return printList(a, entries, []string{"key", "value", "what it is"}, func(e updateEntry) []string { return []string{e.Key, e.Name, e.Doc} })
}

// showUpdate prints what can happen to updates by its name, showAggregator an aggregator.
func (a *app) showUpdate(_ context.Context, name string) error {
	return a.showEntry("update", name, updateEntries())
}

func (a *app) showAggregator(_ context.Context, name string) error {
	return a.showEntry("aggregator", name, aggregatorEntries())
}

func (a *app) showEntry(what, name string, entries []updateEntry) error {
	return printNamed(a, what, name, entries, updateEntry.name, func(e updateEntry) error {
		fmt.Fprintf(a.out, "%s = %q: %s\n", e.Key, e.Name, e.Doc)
		if e.Paper != "" {
			fmt.Fprintln(a.out, e.Paper)
		}
		if len(e.Uses) > 0 {
			fmt.Fprintln(a.out, "uses "+strings.Join(e.Uses, ", "))
		}
		return nil
	})
}

func (e updateEntry) name() string { return e.Name }
