package export

import (
	"bytes"
	"cmp"
	"context"
	"embed"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"text/template"

	"github.com/BurntSushi/toml"

	"github.com/fedfast/fedfast/cmd/fedfast/internal/torchmodel"
	"github.com/fedfast/fedfast/data"
	"github.com/fedfast/fedfast/fl"
	"github.com/fedfast/fedfast/fl/hyper"
	"github.com/fedfast/fedfast/fl/study/config"
	"github.com/fedfast/fedfast/internal/list"
	"github.com/fedfast/fedfast/internal/sys/wholefile"
	"github.com/fedfast/fedfast/nn"
	"github.com/fedfast/fedfast/nn/safetensors"
	"github.com/fedfast/fedfast/tuners"
)

// The formats of App.
const (
	Flower  = "flower"
	NVFlare = "nvflare"
)

//go:embed all:app
var files embed.FS

// programs is programs.toml, which says what its fields are.
type programs struct {
	Always, Off     []string
	Keys            [][2]string
	Flower, NVFlare program
}

type program struct {
	Version, Has string
	Methods      map[string]strategy // by the names of method and aggregator
}

// strategy is the counterpart of a method: a class of Flower's, or a recipe of NVFlare's in a module, with the
// optimizer of its server; its arguments and the keys whose values they have.
type strategy struct {
	Strategy, Module, Optimizer, Note string
	Arguments                         [][2]string
	Off                               []string
	Steps, Start                      bool // the server does more than a mean; its second moment begins at tau^2
	Before, Equal                     bool // it goes by the losses before training; clients weigh equally
}

// setting is a value of the app's configuration, and the argument of the strategy that has it, "" for none.
type setting struct{ Key, Argument, Value string }

// app is what the templates of an app read.
type app struct {
	strategy
	Head, Project, Weights          string
	Settings                        []setting
	C                               *config.Config
	Fed                             *data.Federation
	M                               *nn.Model
	L                               nn.Loss
	Fraction                        float64 // of the clients in a round
	Loader, Reads, Names            string
	Weighted, Adapt, Classes, Every bool
}

// mostBundled is how many bytes of weights are among the files that Flower bundles, of which it takes 10 MB.
const mostBundled = 8 << 20

// App writes a trained configuration as an app for Flower, or a job for NVFlare, to the folder out, which must not
// hold anything: the network with the weights in the file model, local training, and where that is plain a reader of
// the same data. c has the values to train with; mode is the command that trained. It returns the paths of the files.
// The error says in a line what the other program has no counterpart of.
func App(ctx context.Context, c *config.Config, mode, model, out, format string) ([]string, error) {
	fed, m, err := config.Prepare(ctx, c)
	if err != nil {
		return nil, err
	}
	defer func() { _ = fed.Close() }() // it was read only
	weights, err := safetensors.Read(model, m)
	if err != nil {
		return nil, err
	}
	if there, err := os.ReadDir(out); err == nil && len(there) > 0 {
		return nil, fmt.Errorf("%s is not empty; remove it or choose another folder with --out", out)
	}
	a, err := newApp(c, mode, fed, m, format)
	if err != nil {
		return nil, fmt.Errorf("format %s: %w", format, err)
	}
	code := out
	if format == Flower {
		code = filepath.Join(out, "fedapp")
	}
	network, err := torchmodel.Export(m, "model.safetensors", torchmodel.Normalized(fed.Normalized, c.Data.Normalize))
	if err != nil {
		return nil, err
	}
	start := m.NewParams()
	m.Init(start, c.Seed)
	texts := map[string][]byte{"model.py": []byte(network)}
	var b bytes.Buffer
	for name, w := range map[string][]float32{"start.safetensors": start, "model.safetensors": weights} {
		b.Reset()
		if err := safetensors.Write(&b, m, w); err != nil {
			return nil, err
		}
		texts[name] = bytes.Clone(b.Bytes())
	}
	packed, err := json.Marshal(map[string][]byte{"safetensors": texts["start.safetensors"]})
	if format == Flower && err == nil && len(packed) <= mostBundled {
		a.Weights, texts["start.json"] = "start.json", packed
		delete(texts, "start.safetensors")
	}
	if a.Loader == "table" {
		if texts["table.json"], err = Inputs(&c.Data, fed); err != nil {
			return nil, err
		}
	}
	t := template.Must(template.New("").Funcs(functions).ParseFS(files, "app/both/*.tmpl", "app/"+format+"/*.tmpl"))
	for _, t := range t.Templates() {
		b.Reset()
		if err := t.Execute(&b, a); err != nil {
			return nil, err
		}
		texts[strings.TrimSuffix(t.Name(), ".tmpl")] = bytes.Clone(b.Bytes())
	}
	if err := wholefile.Folder(code); err != nil {
		return nil, err
	}
	var paths []string
	for _, name := range slices.Sorted(maps.Keys(texts)) {
		path := filepath.Join(code, name)
		if name == "pyproject.toml" || name == "README.md" {
			path = filepath.Join(out, name)
		}
		if err := wholefile.Write(path, texts[name], 0o644); err != nil {
			return nil, err
		}
		paths = append(paths, path)
	}
	slices.Sort(paths)
	return paths, nil
}

// newApp fills in what the templates read, unless the other program has no counterpart of it.
func newApp(c *config.Config, mode string, fed *data.Federation, m *nn.Model, format string) (*app, error) {
	var known programs
	_, unread := toml.DecodeFS(files, "app/programs.toml", &known)
	changed, unwritten := config.Settings(c)
	method, unknown := fl.MethodByName(c.Method)
	if err := cmp.Or(unread, unwritten, unknown); err != nil {
		return nil, err
	}
	to, n := map[string]program{Flower: known.Flower, NVFlare: known.NVFlare}[format], len(fed.Clients)
	a := &app{
		C: c, Fed: fed, M: m, L: m.Loss(), Fraction: min(1, float64(c.Cohort)/float64(n)),
		Adapt: c.Judged(mode) == tuners.TargetPersonalized, Classes: m.TargetsPerExample() == 0,
		Every:   m.LabelsPerExample() > 1,
		Project: cmp.Or(strings.Trim(unnamed.ReplaceAllString(strings.ToLower(c.Name), "-"), "-"), "fedfast"),
	}
	a.Head = fmt.Sprintf("The study %s as an app for %s, by fedfast study export.", a.Project, to.Version)
	s, ok := to.Methods[c.Method+" "+c.Aggregator.Name]
	off, losses := slices.Concat(known.Off, s.Off), []nn.LossKind{"", nn.CrossEntropy, nn.Sigmoid, nn.Squared, nn.Huber}
	if a.Adapt {
		off = append(off, "client.personal_lr")
	}
	i := slices.IndexFunc(off, func(key string) bool { return changed[key] != "" })
	a.strategy, a.Weighted = s, c.Server.Weighted && !s.Equal
	what, is := "", s.Strategy+" of "+to.Version
	switch {
	case method.Personal:
		const form = "method %q gives each client a model of its own, which servers of %s do not keep"
		what = fmt.Sprintf(form, c.Method, to.Version)
	case !ok:
		const form = "method %q with aggregator %q has no counterpart; %s has %s"
		what = fmt.Sprintf(form, c.Method, c.Aggregator.Name, to.Version, to.Has)
	case c.Private():
		what = fmt.Sprintf("dp: %s has other mechanisms and accounts; export a study without dp", to.Version)
	case i >= 0:
		what = fmt.Sprintf("%s = %s: %s has no counterpart of it", off[i], changed[off[i]], is)
	case m.NumBuffers() > 0 && (s.Steps || changed["norm.statistics"] != ""):
		what = fmt.Sprintf("batch normalization: %s does not average its statistics as the study does", is)
	case s.Optimizer != "" && c.Cohort < n:
		what = fmt.Sprintf("cohort = %d of %d clients: %s has all of them train in each round", c.Cohort, n, is)
	case !slices.Contains(losses, a.L.Kind):
		what = fmt.Sprintf("loss.name = %q: must be cross_entropy, sigmoid, squared or huber", a.L.Kind)
	}
	if what != "" {
		return nil, errors.New(what)
	}
	a.loader()
	return a, a.settings(&known, changed)
}

// settings lists the app's configuration.
func (a *app) settings(known *programs, changed map[string]string) error {
	all, err := config.AllSettings(a.C)
	wrong := int(a.C.Aggregator.Wrong * float64(a.C.Cohort))
	all["aggregator.wrong"], all["aggregator.right"] = strconv.Itoa(wrong), strconv.Itoa(a.C.Cohort-wrong)
	for _, k := range known.Keys {
		i := slices.IndexFunc(a.Arguments, func(of [2]string) bool { return of[1] == k[0] })
		s := setting{Key: k[1], Value: all[k[0]]}
		if i >= 0 {
			s.Argument = a.Arguments[i][0]
		}
		if p, ok := hyper.Find(k[0]); ok && !p.Whole() && !p.Truth() && !strings.ContainsAny(s.Value, ".e") {
			s.Value += ".0"
		}
		client := strings.HasPrefix(k[0], "client.") && (slices.Contains(known.Always, k[0]) || changed[k[0]] != "")
		if i >= 0 || client && (k[1] != "local-epochs" || a.C.Client.Steps == 0) {
			a.Settings = append(a.Settings, s)
		}
	}
	return err
}

// Has reports whether the app's configuration has a key.
func (a *app) Has(key string) bool {
	return slices.ContainsFunc(a.Settings, func(s setting) bool { return s.Key == key })
}

// unnamed is what no name of a Python project has.
var unnamed = regexp.MustCompile(`[^a-z0-9]+`)

// functions are what templates call: texts, numbers and lists as Python and TOML write them.
var functions = template.FuncMap{
	"quote": strconv.Quote,
	"kind": func(x string) string {
		return map[bool]string{true: "float", false: "int"}[strings.ContainsAny(x, ".e")]
	},
	"list": func(x any) string { return strings.ReplaceAll(fmt.Sprint(x), " ", ", ") },
}

// loader chooses how data.py finds a client's samples: as the study does where that is plain, else by users' code.
func (a *app) loader() {
	d := &a.C.Data
	text, _ := json.Marshal(list.Of(a.Fed.Clients, func(c data.Client) string { return c.ID })) // strings
	a.Names = string(text)
	_, a.Reads, _ = strings.Cut(torchmodel.Reads(a.M)+torchmodel.Normalized(a.Fed.Normalized, d.Normalize), "[N, ")
	whole := d.Partition == "" && d.MaxSamples == 0 && d.Normalize != data.NormalizeClient && a.Fed.Test.Len() == 0
	if whole && a.Fed.Inputs != nil && !a.Fed.FilesTest && !a.Fed.Forms {
		a.Loader = "table"
	} else if whole && strings.HasPrefix(a.Fed.Name, "npz-") {
		a.Loader = "npz"
	}
}

// Inputs describes in JSON how columns of a table became inputs: of each its name, the values of a
// category with the places of their inputs, or a number's mean and scale, and what fills gaps.
func Inputs(d *config.Data, fed *data.Federation) ([]byte, error) {
	type column struct {
		Name   string
		Values []string
		data.ColumnInputs
	}
	columns, names := []column(nil), list.Of(fed.Clients, func(c data.Client) string { return c.ID })
	for i, in := range fed.Inputs {
		in.Std = min(in.Std, math.MaxFloat32) // JSON has no infinity
		columns = append(columns, column{fed.Columns[i].Name, fed.Columns[i].Values, in})
	}
	var text bytes.Buffer
	to := json.NewEncoder(&text)
	to.SetEscapeHTML(false)
	to.SetIndent("", " ")
	err := to.Encode(map[string]any{
		"clients": names, "client_column": d.ClientColumn, "label": d.LabelColumn, "positive": d.Positive,
		"classes": fed.ClassNames, "missing": append([]string{}, d.Missing...), "drop": d.Impute == data.ImputeDrop,
		"delimiter": strings.ReplaceAll(d.Delimiter, "tab", "\t"), "header": d.Header,
		"encoding": cmp.Or(d.Charset, "utf-8-sig"), "columns": columns,
	})
	return text.Bytes(), err
}
