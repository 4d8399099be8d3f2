package command

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/fedfast/fedfast/cmd/fedfast/internal/fetch"
	"github.com/fedfast/fedfast/cmd/fedfast/internal/ui/table"
	"github.com/fedfast/fedfast/data"
	"github.com/fedfast/fedfast/fl/study/config"
	"github.com/fedfast/fedfast/internal/sys/oneline"
)

// dataOptions are the flags of data info.
type dataOptions struct{ configOptions }

func newData(a *app) *cobra.Command {
	list := &cobra.Command{
		Use:   "list",
		Short: "List the available datasets",
		Args:  cobra.NoArgs,
		RunE:  a.work(func(*cobra.Command, []string) error { return a.listData() }),
	}
	o := &dataOptions{}
	info := &cobra.Command{
		Use:               "info [NAME]",
		ValidArgsFunction: completeFirst(setNames),
		Short:             "Describe a dataset and its clients",
		Args:              cobra.MaximumNArgs(1),
		RunE: a.work(func(cmd *cobra.Command, args []string) error {
			c, err := o.validate(a, args)
			if err != nil {
				return err
			}
			return o.run(cmd.Context(), a, c)
		}),
	}
	o.addFlags(info)
	return group("data", "List, describe, partition and download datasets; show devices", list, info, newDataPartition(a), newDataFleet(a), newDataFetch(a))
}

// validate resolves the configuration.
func (o *dataOptions) validate(a *app, args []string) (*config.Config, error) {
	if len(args) > 0 {
		o.sets = slices.Insert(o.sets, 0, "data.name="+args[0])
	}
	c, _, err := o.load(a, nil, "")
	return c, err
}

// totalsText writes totals; unit is "" for samples.
func totalsText(t data.Totals, unit string) string {
	unit = cmp.Or(unit, "samples")
	text := oneline.Digits(t.Train) + " " + unit
	if t.Test > 0 {
		text = oneline.Digits(t.Train) + " train + " + oneline.Digits(t.Test) + " test " + unit
	}
	if t.TestOnly > 0 {
		text = oneline.Digits(t.TestOnly) + " with test samples only, " + text
	}
	if t.Clients > 0 {
		text = oneline.Count(t.Clients, "client") + ", " + text
	}
	return text
}

// federation is what data info tells.
type federation struct {
	Name      string `json:"name"`
	Doc       string `json:"doc"`
	Kind      string `json:"kind"`
	Input     string `json:"input"`
	Classes   int    `json:"classes"`
	Target    string `json:"target,omitempty"` // data.Target where it is no class
	Synthetic bool   `json:"synthetic"`
	Clients   int    `json:"clients"`
	Unseen    int    `json:"unseen_clients"`
	Train     int    `json:"train_examples"`
	Val       int    `json:"val_examples"`
	Test      int    `json:"test_examples"`
	Smallest  int    `json:"smallest_client"`
	Median    int    `json:"median_client"`
	Largest   int    `json:"largest_client"`
	// Files is what was read, Published what the literature says of the whole set.
	Files data.Totals `json:"files"`
	// Fingerprint tells the files from others, empty for what is drawn.
	Fingerprint string           `json:"fingerprint,omitempty"`
	Published   []data.Published `json:"published"`
	Notes       []string         `json:"notes"`
	// Of a table: the samples of each class, and the shares of samples that lack a column's value.
	PerClass []data.Spread `json:"class_samples,omitempty"`
	Missing  []data.Spread `json:"missing,omitempty"`
}

func (o *dataOptions) run(ctx context.Context, a *app, c *config.Config) error {
	fed, err := config.OpenData(ctx, c)
	if err != nil {
		return err
	}
	f := describe(fed)
	if fed.Columns != nil && fed.Target == data.OneClass {
		if f.PerClass, err = data.ClassSpreads(fed); err != nil {
			return err
		}
	}
	for _, column := range fed.Columns {
		if column.Missing.All > 0 {
			f.Missing = append(f.Missing, column.Missing)
		}
	}
	if a.json {
		return a.printJSON(f)
	}
	t := table.New(a.out)
	synthetic := ""
	if f.Synthetic {
		synthetic = " (synthetic)"
	}
	t.Row("dataset", f.Name+synthetic)
	t.Row("description", f.Doc)
	input := f.Input
	if fed.Kind == data.Vector {
		input = oneline.Count(fed.C, "number")
	}
	t.Row("samples", f.Kind+", "+input)
	if f.Target == "" {
		t.Row("classes", oneline.Digits(f.Classes))
	} else {
		t.Row("target", oneline.Count(f.Classes, strings.TrimSuffix(f.Target, "s")))
	}
	t.Row("clients", oneline.Digits(f.Clients))
	if f.Unseen > 0 {
		t.Row("unseen clients", oneline.Digits(f.Unseen))
	}
	t.Row("train / validation / test", oneline.Digits(f.Train)+" / "+oneline.Digits(f.Val)+" / "+oneline.Digits(f.Test))
	t.Row("samples per client", fmt.Sprintf("%s to %s, median %s", oneline.Digits(f.Smallest), oneline.Digits(f.Largest), oneline.Digits(f.Median)))
	read := "in the files"
	if f.Synthetic {
		read = "drawn"
	}
	t.Row(read, totalsText(f.Files, ""))
	if f.Fingerprint != "" {
		t.Row("fingerprint", f.Fingerprint)
	}
	for _, s := range f.PerClass[:min(mostRows, len(f.PerClass))] {
		t.Row("class "+oneline.Name(s.Name), fmt.Sprintf("%.0f samples, %.0f to %.0f of a client", s.All, s.Least, s.Most))
	}
	slices.SortStableFunc(f.Missing, func(a, b data.Spread) int { return cmp.Compare(b.All, a.All) })
	for _, s := range f.Missing[:min(mostRows, len(f.Missing))] {
		t.Row("missing "+oneline.Name(s.Name), fmt.Sprintf("%.1f %%, %.1f to %.1f %% of a client", 100*s.All, 100*s.Least,
			100*s.Most))
	}
	for _, p := range f.Published {
		t.Row("published", p.Source+": "+totalsText(p.Totals, p.Unit))
	}
	for _, n := range f.Notes {
		t.Row("note", n)
	}
	return t.Flush()
}

// mostRows bounds the classes and the columns that are shown.
const mostRows = 20

// describe counts what a federation holds.
func describe(fed *data.Federation) federation {
	f := federation{
		Name: fed.Name, Doc: fed.Doc, Kind: fed.Kind.String(), Classes: fed.Classes, Synthetic: fed.Synthetic,
		Clients: len(fed.Clients), Unseen: len(fed.Unseen), Notes: append([]string{}, fed.Notes...),
	}
	f.Input = config.Input(fed).String()
	if fed.Target != data.OneClass {
		f.Target = fed.Target.String()
	}
	s := data.Count(fed)
	f.Train, f.Val, f.Test = s.Train.Total, s.Val.Total, s.Test.Total+s.Central
	f.Files, f.Fingerprint, f.Published = fed.Files, fed.Fingerprint, []data.Published{}
	for _, s := range data.Sets() {
		if s.Name == fed.Name {
			f.Published = append(f.Published, s.Published...)
		}
	}
	f.Smallest, f.Median, f.Largest = s.All.Min, s.All.Median, s.All.Max
	return f
}

// setEntry is a line of `list data --json`.
type setEntry struct {
	Name        string   `json:"name"`
	Doc         string   `json:"doc"`
	Kind        string   `json:"kind"`
	Input       string   `json:"input"`
	Classes     int      `json:"classes"`
	Clients     string   `json:"clients"`
	Samples     string   `json:"samples"`
	Path        string   `json:"path,omitempty"` // what data.path must be
	DefaultPath string   `json:"default_path,omitempty"`
	Encodings   []string `json:"encodings,omitempty"`
	Augments    []string `json:"augments,omitempty"`
	Labels      []string `json:"labels,omitempty"`
	Dealt       bool     `json:"dealt"` // it has no clients of its own
	// Fetch are the names that data fetch has for what fedfast reads of it.
	Fetch     []string `json:"fetch,omitempty"`
	Synthetic bool     `json:"synthetic"`
}

// form tells what an example of the set is.
func (e *setEntry) form() string {
	text := e.Kind + ", " + e.Input
	if e.Classes > 0 {
		text += ", " + oneline.Digits(e.Classes) + " classes"
	}
	return text
}

// setEntries returns what the program knows of each set.
func setEntries() []setEntry {
	fetchable := map[string][]string{}
	for _, f := range fetch.Sets() {
		if !f.Raw {
			fetchable[f.Data] = append(fetchable[f.Data], f.Name)
		}
	}
	entries := []setEntry{}
	for _, s := range data.Sets() {
		entries = append(entries, setEntry{
			Name: s.Name, Doc: s.Doc, Kind: s.Kind.String(), Input: s.Input, Classes: s.Classes, Clients: s.Clients, Samples: s.Samples,
			Path: s.Path, DefaultPath: s.DefaultPath, Encodings: s.Encodings, Augments: s.Augments, Labels: s.Labels,
			Dealt: s.Dealt, Fetch: fetchable[s.Name], Synthetic: s.Synthetic,
		})
	}
	return entries
}

// listData prints the sets.
func (a *app) listData() error {
	entries := setEntries()
	if a.json {
		return a.printJSON(entries)
	}
	t := table.New(a.out)
	for i, e := range entries {
		if i > 0 {
			t.Row("")
		}
		t.Row(e.Name, e.form())
		t.Row("  clients", e.Clients)
		t.Row("  samples", e.Samples)
		if e.Path != "" {
			t.Row("  data.path", e.Path)
		}
		if len(e.Fetch) > 0 {
			t.Row("  download", "fedfast data fetch "+strings.Join(e.Fetch, ", or fetch "))
		}
		t.Row("  what", e.Doc)
	}
	return t.Flush()
}
