package command

import (
	"context"
	"fmt"

	"github.com/fedfast/fedfast/cmd/fedfast/internal/ui/table"
	"github.com/fedfast/fedfast/fl/study/config"
	"github.com/fedfast/fedfast/internal/list"
	"github.com/fedfast/fedfast/nn"
)

// lossEntry is a line of `list losses --json`.
type lossEntry struct {
	Name    string          `json:"name"`
	Target  string          `json:"target"`
	Doc     string          `json:"doc"`
	Options []layerKeyEntry `json:"options"`
}

func lossNames() []string {
	return list.Of(nn.LossTypes(), func(t nn.LossType) string { return string(t.Name) })
}

func lossEntries() []lossEntry {
	targets := map[nn.Target]string{nn.OneLabel: "a class", nn.ManyLabels: "several labels", nn.Numbers: "numbers"}
	var entries []lossEntry
	for _, t := range nn.LossTypes() {
		entries = append(entries, lossEntry{
			Name: string(t.Name), Target: targets[t.Target], Doc: t.Doc,
			Options: keyEntries(config.OptionKeys("loss.options", t.Options), nil),
		})
	}
	return entries
}

func (a *app) listLosses(context.Context) error {
	return printList(a, lossEntries(), []string{"name", "of", "what it is"}, func(e lossEntry) []string {
		return []string{e.Name, e.Target, e.Doc}
	})
}

// showLoss prints a loss with its options.
func (a *app) showLoss(_ context.Context, name string) error {
	return printNamed(a, "loss", name, lossEntries(), func(e lossEntry) string { return e.Name }, func(e lossEntry) error {
		fmt.Fprintf(a.out, "%s: %s\n", e.Name, e.Doc)
		if len(e.Options) == 0 {
			return nil
		}
		fmt.Fprintln(a.out)
		t := table.New(a.out, "option", "type", "allowed", "what it means")
		for _, k := range e.Options {
			t.Row(k.Key, k.Type, dash(k.Allowed), k.Doc)
		}
		return t.Flush()
	})
}
