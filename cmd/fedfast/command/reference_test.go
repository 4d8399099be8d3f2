package command

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/fedfast/fedfast/fl"
	"github.com/fedfast/fedfast/fl/study/config"
	"github.com/fedfast/fedfast/nn"
)

var update = flag.Bool("update", false, "write the reference instead of comparing it")

// page writes Markdown.
type page struct{ strings.Builder }

// table writes the head of a table and its rows.
func (p *page) table(head ...string) {
	p.row(head...)
	fmt.Fprintf(p, "|%s\n", strings.Repeat("---|", len(head)))
}

func (p *page) row(cells ...string) {
	for i, c := range cells {
		cells[i] = strings.ReplaceAll(c, "|", "\\|")
	}
	fmt.Fprintf(p, "| %s |\n", strings.Join(cells, " | "))
}

// code writes what is typed, nothing for nothing.
func code(text string) string {
	if text == "" {
		return ""
	}
	return "`" + text + "`"
}

// reference writes the page of what `fedfast list` shows.
func reference(t *testing.T) string {
	t.Helper()
	p := &page{}
	p.WriteString("# Study files\n\n<!-- Written by `go test ./cmd/fedfast/command -run TestReference -update`; do not edit. -->\n\n" +
		"The keys of study files and of `--set`. `fedfast list keys`, `layers`, `methods` and `probes` print the same;\n" +
		"`fedfast list methods NAME` shows the hyperparameters of a method with its defaults, `fedfast list tuners NAME` the options of a tuner.\n" +
		"Add `--json` for machine-readable output.\n\n## Keys\n\nSquare brackets include the end of a range, parentheses exclude it. Descriptions end with the methods, datasets, fleets or commands that use a key, unless all do, and with `tunable` if a search space may contain it.\nA key that you set and that the method or the command does not use is refused, even if its value is the default; a study file may have keys of both `fedfast run` and `fedfast tune`.\n\n")
	p.table("key", "type", "default", "allowed", "description")
	for _, k := range config.Reference() {
		p.row(code(k.Key), k.Type, code(k.Default), k.Allowed, keyDoc(k))
	}
	p.WriteString("\n## Layers\n\nThe types of `[[model.layers]]`. " + strings.ReplaceAll(layerChoices, "\n", " ") + "\n")
	for _, e := range layerEntries() {
		fmt.Fprintf(p, "\n### %s\n\n%s%s.\n", e.Name, strings.ToUpper(e.Doc[:1]), e.Doc[1:])
		if len(e.Keys) == 0 {
			continue
		}
		p.WriteString("\n")
		p.table("key", "type", "allowed", "required", "description")
		for _, k := range e.Keys {
			p.row(code(k.Key), k.Type, k.Allowed, yes(k.Required), k.Doc)
		}
	}
	p.WriteString("\n## Methods\n\n[fl/methods/README.md](../../methods/README.md) lists the values of `method`, with the hyperparameters of each.\n")
	p.WriteString("\n## Probes\n\nMeasurements that a tuner can request, per client or for the whole round.\n\n")
	p.table("probe", "per", "description", "cost")
	for _, e := range probeEntries() {
		p.row(code(e.Name), e.Of, e.Doc, e.Cost)
	}
	return p.String()
}

// methodsPage writes the page of the federated methods.
func methodsPage(t *testing.T) string {
	t.Helper()
	p := &page{}
	p.WriteString("# Federated methods\n\n<!-- Written by `go test ./cmd/fedfast/command -run TestMethodsReference -update` from the methods; do not edit. -->\n\n" +
		"The values of `method` in a study file. `fedfast list methods` prints the same; `fedfast list methods NAME` shows the hyperparameters of a method and their ranges.\n" +
		"To add a method, implement the Go type `fl.Method`; see the example of this package.\n\n" +
		"- uses: hyperparameters in addition to those of local SGD (")
	plain := map[string]bool{}
	for i, h := range methodOf(t, "fedavg").Hyperparameters {
		plain[h.Key] = true
		if i > 0 {
			p.WriteString(", ")
		}
		p.WriteString(code(h.Key))
	}
	p.WriteString("),\n  with the method's defaults\n- without: hyperparameters of local SGD that the method does not use\n- reads: other keys of the study file that it uses\n- keeps: state of each client between rounds\n\n")
	p.table("method", "description", "uses", "without", "reads", "keeps", "paper")
	for _, name := range fl.Methods() {
		e := methodOf(t, name)
		var uses, without, reads []string
		own := map[string]bool{}
		for _, h := range e.Hyperparameters {
			own[h.Key] = true
			if !plain[h.Key] {
				uses = append(uses, fmt.Sprintf("`%s` %v", h.Key, h.Default))
			}
		}
		for _, h := range methodOf(t, "fedavg").Hyperparameters {
			if !own[h.Key] {
				without = append(without, code(h.Key))
			}
		}
		for _, s := range e.Settings {
			reads = append(reads, code(s))
		}
		p.row(code(e.Name), e.Doc, strings.Join(uses, ", "), strings.Join(without, ", "), strings.Join(reads, ", "), keeps(t, name), e.Paper)
	}
	p.WriteString("\n## Differences from the papers\n\n")
	for _, name := range fl.Methods() {
		if e := methodOf(t, name); e.Differs != "" {
			fmt.Fprintf(p, "- `%s`: %s.\n", e.Name, e.Differs)
		}
	}
	p.WriteString("\n## Methods that cannot be asynchronous\n\nAll others also train with `time.mode` buffered, async and window.\n\n")
	for _, name := range fl.Methods() {
		if e := methodOf(t, name); e.Synchronous != "" {
			fmt.Fprintf(p, "- `%s`: %s.\n", e.Name, e.Synchronous)
		}
	}
	return p.String()
}

// keeps says what the clients of a method keep.
func keeps(t *testing.T, name string) string {
	t.Helper()
	m, err := fl.MethodByName(name)
	if err != nil {
		t.Fatal(err)
	}
	switch name {
	case "fedtp":
		return "nothing; the server keeps an embedding of it"
	case "fedamp":
		return "nothing; the server keeps its model"
	case "ifca", "mimelite":
		return ""
	case "fedfomo":
		return "how much each other client's model was worth; the server keeps its model"
	case "afl":
		return "nothing; the server keeps its weight"
	case "fedala":
		return "a head and the weights that mix it with the shared one"
	}
	if m.Statistics != "" {
		return "its batch normalizations"
	}
	if m.StateLen == nil {
		return ""
	}
	model, err := nn.NewModel("small", nn.Shape{H: 1, W: 1, C: 3}, 2, nn.Dense{Units: 5}, nn.ReLU{}, nn.Dense{Units: 2})
	if err != nil {
		t.Fatal(err)
	}
	cfg := fl.Config{Model: model, Method: m}
	switch n := m.StateLen(&cfg); n {
	case model.Size():
		return "a vector of the model's size"
	case model.Size() + 1:
		return "a model and its weight in the mixture"
	case cfg.Head().Len():
		return "a head"
	case cfg.Head().Lo:
		return "a body"
	default:
		t.Fatalf("method %s keeps %d floats: say what they are", name, n)
		return ""
	}
}

// TestMethodsReference holds that the page of methods is what they say.
func TestMethodsReference(t *testing.T) {
	current(t, filepath.Join("..", "..", "..", "fl", "methods", "README.md"), methodsPage(t))
}

func methodOf(t *testing.T, name string) methodEntry {
	t.Helper()
	m, err := fl.MethodByName(name)
	if err != nil {
		t.Fatal(err)
	}
	return describeMethod(m)
}

// TestReference holds that the page is what the program's tables say.
func TestReference(t *testing.T) {
	file := filepath.Join("..", "..", "..", "fl", "study", "config", "README.md")
	want := reference(t)
	current(t, file, want)
}

// current fails unless the file is what it must be, and writes it with -update.
func current(t *testing.T, file, want string) {
	t.Helper()
	if *update {
		if err := os.WriteFile(file, []byte(want), 0o600); err != nil {
			t.Fatal(err)
		}
		return
	}
	if got := readPage(t, file); got != want {
		t.Errorf("%s is not what the tables say; write it anew with -update", file)
	}
}

func readPage(t *testing.T, file string) string {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return strings.ReplaceAll(string(text), "\r\n", "\n")
}

// TestDataReference holds the list of sets in the page of data, between two
// comments, to what the program knows.
func TestDataReference(t *testing.T) {
	const from, to = "-run TestDataReference -update` from the tables of the program: change those. -->\n", "<!-- end -->\n"
	file := filepath.Join("..", "..", "..", "data", "README.md")
	text := readPage(t, file)
	head, rest, begins := strings.Cut(text, from)
	_, tail, ends := strings.Cut(rest, to)
	if !begins || !ends {
		t.Fatalf("%s has no list between %q and %q", file, from, to)
	}
	current(t, file, head+from+setList()+to+tail)
}

// setList tells of all sets.
func setList() string {
	p := &page{}
	p.WriteString("\n")
	p.table("dataset", "sample", "clients", "samples", "download")
	for _, e := range setEntries() {
		by := "`data.path`"
		switch {
		case e.Synthetic:
			by = "generated"
		case len(e.Fetch) > 0:
			by = code("fedfast data fetch " + strings.Join(e.Fetch, "`, or `fetch "))
		}
		p.row("["+code(e.Name)+"](#"+e.Name+")", e.form(), e.Clients, e.Samples, by)
	}
	for _, e := range setEntries() {
		fmt.Fprintf(p, "\n### %s\n\n%s.\n", e.Name, strings.TrimSuffix(strings.ToUpper(e.Doc[:1])+e.Doc[1:], "."))
		if e.Path != "" {
			fmt.Fprintf(p, "`data.path` is %s.\n", e.Path)
		}
		for _, choice := range []struct {
			key    string
			values []string
		}{{"data.encoding", e.Encodings}, {"data.labels", e.Labels}, {"data.augment", e.Augments}} {
			if len(choice.values) > 0 {
				fmt.Fprintf(p, "`%s` is `%s`.\n", choice.key, strings.Join(choice.values, "` or `"))
			}
		}
	}
	p.WriteString("\n")
	return p.String()
}

// TestReferenceIsWhole wants a type and a meaning of every key and layer.
func TestReferenceIsWhole(t *testing.T) {
	for _, k := range config.Reference() {
		if k.Doc == "" || k.Type == "" {
			t.Errorf("%s: type %q, doc %q", k.Key, k.Type, k.Doc)
		}
	}
	for _, e := range layerEntries() {
		for _, k := range e.Keys {
			if k.Doc == "" || k.Type == "" {
				t.Errorf("%s.%s: type %q, doc %q", e.Name, k.Key, k.Type, k.Doc)
			}
		}
	}
}
