package command

import (
	"context"
	"fmt"

	"github.com/fedfast/fedfast/cmd/fedfast/internal/ui/table"
	"github.com/fedfast/fedfast/fl/study/config"
	"github.com/fedfast/fedfast/nn"
)

// lossEntry is a line of `list losses --json`.
type lossEntry struct {
	Name    string          `json:"name"`
	Target  string          `json:"target"`
	Doc     string          `json:"doc"`
	Hessian bool            `json:"hessian"`
	Options []layerKeyEntry `json:"options"`
}

func lossNames() []string {
	var names []string
	for _, kind := range nn.LossKinds() {
		names = append(names, string(kind))
	}
	return names
}

func lossEntries() []lossEntry {
	targets := map[nn.Target]string{nn.OneLabel: "a class", nn.ManyLabels: "several labels", nn.Numbers: "numbers"}
	var entries []lossEntry
	for _, t := range nn.LossTypes() {
		entries = append(entries, lossEntry{
			Name: string(t.Name), Target: targets[t.Target], Doc: t.Doc, Hessian: t.LabelAlong != nil || t.TargetsAlong != nil,
			Options: keyEntries(config.OptionKeys("loss.options", t.Options), nil),
		})
	}
	return entries
}

func (a *app) listLosses(context.Context) error {
	if a.json {
		return a.printJSON(lossEntries())
	}
	t := table.New(a.out, "name", "of", "products with the Hessian", "what it is")
	for _, e := range lossEntries() {
		t.Row(e.Name, e.Target, yes(e.Hessian), e.Doc)
	}
	return t.Flush()
}

// showLoss prints a loss with its options.
func (a *app) showLoss(_ context.Context, name string) error {
	for _, e := range lossEntries() {
		if e.Name != name {
			continue
		}
		if a.json {
			return a.printJSON(e)
		}
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
	}
	return unknown("loss", name, lossNames())
}
