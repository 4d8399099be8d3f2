package command

import (
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
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

// item writes a line of a list: a key with its facts, and what it means.
func (p *page) item(key string, facts []string, doc string) {
	facts = slices.DeleteFunc(facts, func(fact string) bool { return fact == "" })
	fmt.Fprintf(p, "- `%s` (%s): %s\n", key, strings.Join(facts, "; "), doc)
}

// reference writes the page of what `fedfast list` shows.
func reference(t *testing.T) string {
	t.Helper()
	p := &page{}
	p.WriteString("# Study files\n\n<!-- Written by `go test ./cmd/fedfast/command -run TestReference -update`; do not edit. -->\n\n" +
		"The keys of study files and of `--set`. `fedfast list keys`, `layers` and `probes` print the same, with `--json` for programs;\n" +
		"`fedfast list methods NAME` shows the hyperparameters of a method with its defaults, `fedfast list tuners NAME` the options of a tuner.\n\n" +
		"## Keys\n\nAfter the key: its default or, without one, its type, what it may be, whether a search space may contain it\n" +
		"(`tunable`), and the datasets, fleets or commands (`run`, `tune`) that use it, unless all do. [Methods](../../methods/README.md) list the\n" +
		"keys that they use and do not use. Square brackets include the end of a range, parentheses exclude it; numbers without a range are at\n" +
		"least 0. A key that you set and that the method or the command does not use is\n" +
		"refused, even if its value is the default; a study file may have keys of both `fedfast run` and `fedfast tune`.\n\n")
	table, first := "", map[string]string{} // the keys that first say something
	for _, k := range config.Reference() {
		if at, _, in := strings.Cut(k.Key, "."); in && at != table {
			table = at
			fmt.Fprintf(p, "\n### %s\n\n", at)
		}
		facts := []string{k.Type, "", strings.TrimSuffix(k.Allowed, "[0, inf)"), "", ""}
		switch {
		case k.Type == "number" && k.Default != "" && !strings.ContainsAny(k.Default, ".e"):
			facts[0] = code(k.Default + ".0")
		case strings.HasPrefix(k.Default, "["):
			facts[0] += " " + code(k.Default)
		case k.Default != "":
			facts[0] = code(k.Default)
		case k.Type == "string" && k.Allowed != "":
			facts[0] = ""
		}
		if k.Tunable {
			facts[3] = "tunable"
		}
		others := slices.DeleteFunc(slices.Clone(k.UsedBy), func(user string) bool {
			return slices.Contains(fl.Methods(),
				user)
		})
		facts[4] = strings.ReplaceAll(strings.Join(others, ", "), "fedfast ", "")
		doc, last := k.Doc, k.Key[strings.LastIndex(k.Key, ".")+1:]
		if at, said := first[last+doc]; said && len(doc) > 40 {
			doc = "as " + code(at)
		} else {
			first[last+doc] = k.Key
		}
		p.item(k.Key, facts, doc)
	}
	layersReference(p)
	p.WriteString("\n## Probes\n\nMeasurements that a tuner can request, per client or for the whole round.\n\n")
	costs := map[string]string{}
	for _, e := range probeEntries() {
		facts := []string{e.Of, ""}
		if e.Cost != "" && costs[e.Cost] == "" {
			costs[e.Cost] = e.Name
			facts[1] = "costs " + e.Cost
		} else if e.Cost != "" {
			facts[1] = "costs what `" + costs[e.Cost] + "` costs"
		}
		p.item(e.Name, facts, e.Doc)
	}
	return p.String()
}

// layersReference writes the types of layers, and once each key that several of them have.
func layersReference(p *page) {
	p.WriteString("\n## Layers\n\nThe types of `[[model.layers]]`, with their keys (`*`: required). " +
		strings.ReplaceAll(layerChoices, "\n", " ") + "\n\n")
	shared := map[string]layerKeyEntry{}
	for _, e := range layerEntries() {
		fmt.Fprintf(p, "- `%s`: %s", e.Name, strings.TrimSuffix(e.Doc, "."))
		for i, k := range e.Keys {
			p.WriteString([]string{", ", ". Keys: "}[max(0, 1-i)] + code(k.Key) + map[bool]string{true: "*"}[k.Required])
			k.Required = false
			shared[k.Key+"\x00"+k.Doc+k.Allowed] = k
		}
		p.WriteString("\n")
	}
	p.WriteString("\n### Keys of layers\n\nIntegers are at least 1 and at most 1048576 unless a range is given.\n\n")
	for _, name := range slices.Sorted(maps.Keys(shared)) {
		k := shared[name]
		facts := []string{k.Type, strings.TrimSuffix(k.Allowed, "[1, 1048576]")}
		if k.Type == "string" && k.Allowed != "" {
			facts[0] = ""
		}
		p.item(k.Key, facts, k.Doc)
	}
}

// methodsPage writes the page of the federated methods.
func methodsPage(t *testing.T) string {
	t.Helper()
	p := &page{}
	p.WriteString("# Federated methods\n\n<!-- Written by `go test ./cmd/fedfast/command -run TestMethodsReference -update` from the methods; do not edit. -->\n\n" +
		"The values of `method` in a study file. `fedfast list methods` prints the same; `fedfast list methods NAME` shows the hyperparameters of a method and their ranges.\n" +
		"To add a method, implement the Go type `fl.Method`; see the example of this package.\n\n" +
		"- uses: hyperparameters in addition to those of local SGD, with the method's defaults; `server.lr` brings `server.lr_schedule`, `server.lr_min`, `server.lr_length`, `server.lr_every`, `server.lr_factor` and `server.lr_warmup`\n" +
		"- without: hyperparameters of local SGD that the method does not use\n- reads: other keys of the study file that it uses\n- keeps: state of each client between rounds\n\n" +
		"The hyperparameters of local SGD are ")
	plain, without := map[string]bool{}, map[string]string{}
	for i, h := range methodOf(t, "fedavg").Hyperparameters {
		plain[h.Key] = true
		if i > 0 {
			p.WriteString(", ")
		}
		p.WriteString(code(h.Key))
	}
	p.WriteString(".\n\n")
	for _, name := range fl.Methods() {
		e := methodOf(t, name)
		fmt.Fprintf(p, "- `%s`: %s. %s.", e.Name, e.Doc, e.Paper)
		var uses []string
		own := map[string]bool{}
		for _, h := range e.Hyperparameters {
			own[h.Key] = true
			if !plain[h.Key] && (!own["server.lr"] || !strings.HasPrefix(h.Key, "server.lr_")) {
				uses = append(uses, fmt.Sprintf("`%s` %v", h.Key, h.Default))
			}
		}
		p.part("Uses", strings.Join(uses, ", "))
		var lacks []string
		for _, h := range methodOf(t, "fedavg").Hyperparameters {
			if !own[h.Key] {
				lacks = append(lacks, code(h.Key))
			}
		}
		// What an earlier method does without is named by it.
		list := strings.Join(lacks, ", ")
		if like := without[list]; len(lacks) > 3 && like != "" {
			list = "what `" + like + "` does without"
		} else {
			without[list] = name
		}
		p.part("Without", list)
		reads := make([]string, len(e.Settings))
		for i, s := range e.Settings {
			reads[i] = code(s)
		}
		p.part("Reads", strings.Join(reads, ", "))
		p.part("Keeps", keeps(t, name))
		p.WriteString("\n")
	}
	p.WriteString("\n## Differences from the papers\n\n")
	for _, name := range fl.Methods() {
		if e := methodOf(t, name); e.Differs != "" {
			fmt.Fprintf(p, "- `%s`: %s.\n", e.Name, strings.TrimSuffix(e.Differs, "."))
		}
	}
	p.WriteString("\n## Methods that cannot be asynchronous\n\n" +
		"These refuse `time.mode` buffered, async and window, and say why; all others train with them, too:")
	var refuse []string
	for _, name := range fl.Methods() {
		if methodOf(t, name).Synchronous != "" {
			refuse = append(refuse, code(name))
		}
	}
	p.WriteString(" " + strings.Join(refuse, ", ") + ".\n")
	return p.String()
}

// part adds a sentence to an item, nothing for nothing.
func (p *page) part(name, text string) {
	if text != "" {
		fmt.Fprintf(p, " %s: %s.", name, text)
	}
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
	const from, to = "-run TestDataReference -update` from the tables of the program: change those. -->\n",
		"<!-- end -->\n"
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
	p.table("dataset", "what", "sample", "clients", "samples", "files")
	own := regexp.MustCompile("^(npz|parquet|csv|image)")
	for _, e := range setEntries() {
		files := e.Path
		switch {
		case own.MatchString(e.Name):
			continue
		case e.Synthetic:
			files = "generated"
		case len(e.Fetch) > 0:
			files = "`data fetch`"
		case files == "":
			files = "in the program"
		}
		what := strings.FieldsFunc(e.Doc, func(r rune) bool { return strings.ContainsRune(".,:;(", r) })[0]
		p.row(code(e.Name), strings.TrimSpace(what), e.form(), e.Clients, e.Samples, files)
	}
	p.WriteString("\n`fedfast data list` says more of each: what its values stand for, which files it reads, " +
		"and its choices of labels and augmentation.\nThe sets of your own data:\n")
	paths, said := map[string]string{}, map[string]string{}
	for _, e := range setEntries() {
		if !own.MatchString(e.Name) {
			continue
		}
		doc := e.Doc
		for _, again := range []string{"y: n or (n, 1) classes", "a label: column"} { // what the sets of a kind say alike
			at := strings.Index(doc, again)
			switch first, known := said[again]; {
			case at >= 0 && known:
				doc = doc[:at] + "labels and clients as for `" + first + "`"
			case at >= 0:
				said[again] = e.Name
			}
		}
		fmt.Fprintf(p, "\n### %s\n\n%s.\n", e.Name, strings.TrimSuffix(strings.ToUpper(doc[:1])+doc[1:], "."))
		switch like := paths[e.Path]; {
		case like != "":
			fmt.Fprintf(p, "`data.path` is as for `%s`.\n", like)
		case e.Path != "":
			fmt.Fprintf(p, "`data.path` is %s.\n", e.Path)
			paths[e.Path] = e.Name
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
