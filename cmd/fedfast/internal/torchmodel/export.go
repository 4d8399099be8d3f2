// Package torchmodel writes networks as PyTorch modules and reads PyTorch modules as
// networks.
package torchmodel

import (
	_ "embed" // the texts
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"text/template"

	"github.com/fedfast/fedfast/data"
	"github.com/fedfast/fedfast/internal/list"
	"github.com/fedfast/fedfast/nn"
)

// exportText is the template of the Python file; put and shares are what some networks need
// besides PyTorch's modules.
var (
	//go:embed export.py.tmpl
	exportText string
	//go:embed put.py.tmpl
	put string
	//go:embed shares.py.tmpl
	shares string
)

// Export returns a Python file that builds a model in PyTorch and loads its weights
// from a safetensors file, by default the one called weights, seen from its folder. Its text
// says how the inputs were made, unless that is "". It needs PyTorch 1.13 or later and nothing
// else.
func Export(m *nn.Model, weights, inputs string) (string, error) {
	e := &exporter{needed: map[string]bool{}, shared: map[string]string{}}
	in := m.Input()
	v, err := e.chain(m.Stages(), value{name: "x", flat: in.Seq == 0 && in.H*in.W == 1, steps: in.Seq > 0})
	if err != nil {
		return "", fmt.Errorf("model %s: %w", m.Name(), err)
	}
	slices.Sort(e.files)
	var b strings.Builder
	err = template.Must(template.New("").Parse(exportText)).Execute(&b, map[string]any{
		"Name": strings.ReplaceAll(m.Name(), `"`, ""), "Reads": Reads(m) + inputs, "Gives": gives(m), "Result": v.name,
		"Helpers": list.Of(e.helpers, strings.TrimSpace), "Init": e.init, "Forward": e.forward,
		"Files": e.files, "Weights": strconv.Quote(weights),
	})
	return b.String(), err
}

// Normalized says what makes the inputs of a model of an image's or a vector's values.
func Normalized(n *data.Normalized, how string) string {
	switch {
	case how == data.NormalizeClient:
		return ", normalized: each client's by the mean and deviation of its own training samples (data.normalize)"
	case n == nil:
		return ""
	}
	return fmt.Sprintf(", normalized: (x - mean) / std with mean %v and std %v of the channels", n.Mean, n.Std)
}

// Reads says what goes into the module of a model, and gives what comes out.
func Reads(m *nn.Model) string {
	switch in := m.Input(); {
	case in.Seq > 0:
		return fmt.Sprintf("[N, %d] tokens below %d, torch.long", in.Seq, in.Vocab)
	case in.H*in.W == 1:
		return fmt.Sprintf("[N, %d]", in.C)
	default:
		return fmt.Sprintf("[N, %d, %d, %d]: channels, rows, columns", in.C, in.H, in.W)
	}
}

func gives(m *nn.Model) string {
	if n := m.LabelsPerExample(); n > 1 {
		return fmt.Sprintf("[N, %d, %d], an output for each step", n, m.Classes())
	}
	return fmt.Sprintf("[N, %d]", m.Classes())
}

// value is what a layer gives: a variable of the forward function. flat is false for
// images, which have two dimensions more than vectors, also where these are 1; steps is true
// for sequences.
type value struct {
	name        string
	flat, steps bool
}

// exporter writes the two functions of a module.
type exporter struct {
	init, forward []string
	helpers       []string        // code
	needed        map[string]bool // names that it defines
	variables     int
	shared        map[string]string // what layers tell each other
	mixed         map[string]string // modules of the weights of mixes by their names
	files         []string          // entries of FILES
}

// fresh returns a new variable.
func (e *exporter) fresh() string {
	e.variables++
	return "x" + strconv.Itoa(e.variables)
}

// Line adds a line to the forward function.
func (e *exporter) Line(text string) { e.forward = append(e.forward, "        "+text+"\n") }

// set writes a step of the forward function.
func (e *exporter) set(name, form string, args ...any) {
	e.Line(name + " = " + fmt.Sprintf(form, args...))
}

// Need adds code that some layers need besides PyTorch's modules, once.
func (e *exporter) Need(name, code string) {
	if !e.needed[name] {
		e.needed[name], e.helpers = true, append(e.helpers, code)
	}
}

var identifier = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)

// Module adds a module with parameters and returns how the forward function calls it.
func (e *exporter) Module(name, made string) string {
	if identifier.MatchString(name) && !slices.Contains(reserved, name) {
		e.init = append(e.init, fmt.Sprintf("        self.%s = %s\n", name, made))
		return "self." + name
	}
	e.Need("put", put)
	e.init = append(e.init, fmt.Sprintf("        put(self, %s, %s)\n", strconv.Quote(name), made))
	return fmt.Sprintf("self.get_submodule(%s)", strconv.Quote(name))
}

// reserved are Python's words and the names of modules' own attributes that a layer
// may have.
var reserved = []string{
	"and", "as", "assert", "async", "await", "break", "class", "continue", "def", "del", "elif", "else", "except", "finally", "for", "from", "global",
	"if", "import", "in", "is", "lambda", "nonlocal", "not", "or", "pass", "raise", "return", "try", "while", "with", "yield", "None", "True", "False",
	"training", "forward", "eval", "train", "parameters", "modules", "children", "apply", "float", "double", "half", "to", "type",
}

// chain writes layers one after the other, which read v, and returns what the last one
// gives, in another variable unless v is x.
func (e *exporter) chain(stages []nn.Stage, v value) (value, error) {
	to := v
	if v.name != "x" && len(stages) > 0 {
		to.name = e.fresh()
	}
	for i, s := range stages {
		var err error
		if to.flat, err = e.stage(s, v, to.name); err != nil {
			return to, fmt.Errorf("layer %d (%s): %w", i+1, s.Layer.Kind(), err)
		}
		to.steps = s.Out.Seq > 0
		v = to
	}
	return to, nil
}

// stage writes a layer that reads v into a variable, and says whether that is flat.
func (e *exporter) stage(s nn.Stage, v value, to string) (flat bool, err error) {
	switch l := s.Layer.(type) {
	case nn.Residual:
		return e.residual(s, v, to)
	case nn.Graph:
		return e.graph(l, s, v, to)
	}
	write := s.Layer.Abilities().Torch
	if write == nil {
		return false, fmt.Errorf("layers of type %s cannot be exported to PyTorch", s.Layer.Kind())
	}
	for own, file := range s.Files {
		shape := "None"
		if file.Shape != nil {
			shape = strings.NewReplacer(" ", ", ", "[", "(", "]", ",)").Replace(fmt.Sprint(file.Shape))
		}
		e.files = append(e.files, fmt.Sprintf("    %q: (%q, %s),\n", s.Name+"."+own, file.Name, shape))
	}
	t := &nn.Torch{Stage: s, X: v.name, Flat: v.flat, Shared: e.shared, To: to, Writer: e}
	write(t)
	return t.Flat, nil
}

// residual writes the sum of two branches.
func (e *exporter) residual(s nn.Stage, v value, to string) (flat bool, err error) {
	body, err := e.chain(s.Body, e.keep(v))
	if err != nil {
		return false, err
	}
	shortcut, err := e.chain(s.Shortcut, e.keep(v))
	if err != nil {
		return false, err
	}
	e.set(to, "%s + %s", body.name, shortcut.name)
	return body.flat, nil
}

// keep returns a value whose variable the layers that read it leave as it is.
func (e *exporter) keep(v value) value {
	if v.name == "x" {
		v.name = "(x)" // no variable that is written to
	}
	return v
}

// mix writes a sum by weights, of which those of one name are made once.
func (e *exporter) mix(to string, b nn.Branch, names []string) {
	if e.mixed == nil {
		e.mixed = map[string]string{}
	}
	e.Need("Shares", shares)
	n, from := len(names), ""
	if b.Zero {
		n, from = n+1, "[1:]"
	}
	if e.mixed[b.Weights] == "" {
		e.mixed[b.Weights] = e.Module(b.Weights, fmt.Sprintf("Shares(%d)", n))
	}
	e.set(to, "sum(share * part for share, part in zip(%s()%s, (%s)))", e.mixed[b.Weights], from, strings.Join(names, ", "))
}

// multiply writes a product, of which a vector becomes an image of one pixel beside an image.
func (e *exporter) multiply(to string, from []value) {
	var names []string
	for i, f := range from {
		if f.flat && !from[1-i].flat && !f.steps && !from[1-i].steps {
			f.name += "[:, :, None, None]"
		}
		names = append(names, f.name)
	}
	e.set(to, "%s", strings.Join(names, " * "))
}

// graph writes branches.
func (e *exporter) graph(g nn.Graph, s nn.Stage, v value, to string) (flat bool, err error) {
	values := make([]value, len(g.Branches))
	for i, b := range g.Branches {
		var from []value
		for _, f := range b.From {
			if f < 0 {
				from = append(from, e.keep(v))
			} else {
				from = append(from, values[f])
			}
		}
		names := list.Of(from, func(f value) string { return f.name })
		now := from[0]
		if b.Join != "" {
			now.name = e.fresh()
			switch {
			case b.Join == "add":
				e.set(now.name, "%s", strings.Join(names, " + "))
			case b.Join == "multiply":
				e.multiply(now.name, from)
				now.flat, now.steps = from[0].flat && from[1].flat, from[0].steps
			case b.Join == "mix":
				e.mix(now.name, b, names)
			case now.steps:
				e.set(now.name, "torch.cat((%s), 2)", strings.Join(names, ", "))
			default:
				e.set(now.name, "torch.cat((%s), 1)", strings.Join(names, ", "))
			}
		}
		if values[i], err = e.chain(s.Branches[i], now); err != nil {
			return false, err
		}
	}
	last := values[len(values)-1]
	e.set(to, "%s", last.name)
	return last.flat, nil
}
