// Package torchmodel writes networks as PyTorch modules and reads PyTorch modules as
// networks.
package torchmodel

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/fedfast/fedfast/nn"
)

// Export returns a Python file that builds a model in PyTorch and loads its weights
// from a safetensors file, by default the one called weights, seen from its folder. It needs
// PyTorch 1.13 or later and nothing else.
func Export(m *nn.Model, weights string) (string, error) {
	e := &exporter{helpers: map[string]bool{}}
	in := m.Input()
	v, err := e.chain(m.Stages(), value{name: "x", flat: in.Seq == 0 && in.H*in.W == 1})
	if err != nil {
		return "", fmt.Errorf("model %s: %w", m.Name(), err)
	}
	var b strings.Builder
	fmt.Fprintf(&b, exportHead, strings.ReplaceAll(m.Name(), `"`, ""))
	for _, h := range helpers {
		if e.helpers[h.name] {
			b.WriteString("\n\n" + strings.TrimSpace(h.code) + "\n")
		}
	}
	fmt.Fprintf(&b, exportModel, reads(m), gives(m), strings.Join(e.init, ""), strings.Join(e.forward, ""), v.name)
	fmt.Fprintf(&b, exportLoad, strconv.Quote(weights))
	return b.String(), nil
}

// reads and gives say what goes into the module and what comes out.
func reads(m *nn.Model) string {
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
// images, which have two dimensions more than vectors, also where these are 1.
type value struct {
	name string
	flat bool
}

// exporter writes the two functions of a module.
type exporter struct {
	init, forward []string
	helpers       map[string]bool
	variables     int
	embedding     string            // the first layer's name
	mixed         map[string]string // modules of the weights of mixes by their names
}

// fresh returns a new variable.
func (e *exporter) fresh() string {
	e.variables++
	return "x" + strconv.Itoa(e.variables)
}

// set writes a step of the forward function.
func (e *exporter) set(name, form string, args ...any) {
	e.forward = append(e.forward, "        "+name+" = "+fmt.Sprintf(form, args...)+"\n")
}

var identifier = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)

// module adds a module with parameters and returns how the forward function calls it.
func (e *exporter) module(name, form string, args ...any) string {
	made := fmt.Sprintf(form, args...)
	if identifier.MatchString(name) && !slices.Contains(reserved, name) {
		e.init = append(e.init, fmt.Sprintf("        self.%s = %s\n", name, made))
		return "self." + name
	}
	e.helpers["put"] = true
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
	to := value{name: v.name, flat: v.flat}
	if v.name != "x" && len(stages) > 0 {
		to.name = e.fresh()
	}
	for i, s := range stages {
		var err error
		if to.flat, err = e.stage(s, v, to.name); err != nil {
			return to, fmt.Errorf("layer %d (%s): %w", i+1, s.Layer.Kind(), err)
		}
		v = to
	}
	return to, nil
}

// stage writes a layer that reads v into a variable, and says whether that is flat.
func (e *exporter) stage(s nn.Stage, v value, to string) (flat bool, err error) {
	in, x := s.In, v.name
	switch l := s.Layer.(type) {
	case nn.Flatten:
		if v.flat {
			return true, nil
		}
		e.set(to, "%s.flatten(1)", x)
		return true, nil
	case nn.Dense:
		if !v.flat && in.Seq == 0 {
			e.set(to, "%s.flatten(1)", x)
			x = to
		}
		e.set(to, "%s(%s)", e.module(s.Name, "nn.Linear(%d, %d%s)", in.H*in.W*in.C, l.Units, bias(l.NoBias)), x)
		return in.Seq == 0, nil
	case nn.Residual:
		return e.residual(s, v, to)
	case nn.Graph:
		return e.graph(l, s, v, to)
	case nn.Sequence:
		e.set(to, "%s.flatten(2).transpose(1, 2)", x)
		if l.ClassToken {
			e.helpers["ClassToken"] = true
			e.set(to, "%s(%s)", e.module(s.Name, "ClassToken(%d)", in.C), to)
		}
		return false, nil
	case nn.Steps:
		e.set(to, map[nn.Take]string{nn.TakeLast: "%s[:, -1]", nn.TakeFirst: "%s[:, 0]", nn.TakeMean: "%s.mean(1)"}[l.Take], x)
		return true, nil
	case nn.Conv2D, nn.GroupedConv2D, nn.DepthwiseConv2D, nn.MaxPool, nn.AvgPool, nn.LRN, nn.SqueezeExcitation:
		if v.flat {
			e.set(to, "%s[:, :, None, None]", x)
			x = to
		}
		e.image(s, x, to)
		return false, nil
	}
	if expr := e.elementwise(s, v); expr != "" {
		e.set(to, expr, x)
		return v.flat, nil
	}
	return e.sequential(s, x, to)
}

// elementwise returns what applies a layer that keeps the shape of any values, empty
// where the layer is another one.
func (e *exporter) elementwise(s nn.Stage, v value) string {
	switch l := s.Layer.(type) {
	case nn.ReLU:
		return "F.relu(%s)"
	case nn.GELU:
		if l.Tanh {
			return `F.gelu(%s, approximate="tanh")`
		}
		return "F.gelu(%s)"
	case nn.SiLU:
		return "F.silu(%s)"
	case nn.HardSwish:
		return "F.hardswish(%s)"
	case nn.HardSigmoid:
		return "F.hardsigmoid(%s)"
	case nn.Logistic:
		return "torch.sigmoid(%s)"
	case nn.Tanh:
		return "torch.tanh(%s)"
	case nn.Dropout:
		return fmt.Sprintf("F.dropout(%%s, %v, self.training)", l.Rate)
	case nn.GroupNorm:
		if l.NoAffine { // no module, whose name others could begin with
			return fmt.Sprintf("F.group_norm(%%s, %d, eps=%v)", l.Groups, cmp.Or(l.Epsilon, 1e-5))
		}
		return e.module(s.Name, "nn.GroupNorm(%d, %d, eps=%v)", l.Groups, s.In.C, cmp.Or(l.Epsilon, 1e-5)) + "(%s)"
	case nn.LayerNorm:
		return e.rows(e.module(s.Name, "nn.LayerNorm(%d, eps=%v)", s.In.C, cmp.Or(l.Epsilon, 1e-5)), s, v)
	case nn.RMSNorm:
		e.helpers["RMSNorm"] = true
		return e.rows(e.module(s.Name, "RMSNorm(%d, %v)", s.In.C, cmp.Or(l.Epsilon, 0x1p-23)), s, v)
	}
	return ""
}

// rows applies a normalization of the last dimension to the channels.
func (e *exporter) rows(norm string, s nn.Stage, v value) string {
	if v.flat || s.In.Seq > 0 {
		return norm + "(%s)"
	}
	e.helpers["rows"] = true
	return "rows(" + norm + ", %s)"
}

// sequential writes a layer of sequences.
func (e *exporter) sequential(s nn.Stage, x, to string) (flat bool, err error) {
	in := s.In
	switch l := s.Layer.(type) {
	case nn.Embedding:
		padding := ""
		if l.ZeroPadding {
			padding = ", padding_idx=0"
		}
		e.embedding = e.module(s.Name, "nn.Embedding(%d, %d%s)", in.Vocab, l.Dim, padding)
		e.forward = append(e.forward, "        tokens = "+x+"\n")
		e.set(to, "%s(tokens)", e.embedding)
	case nn.Positions:
		e.helpers["Positions"] = true
		e.set(to, "%s(%s)", e.module(s.Name, "Positions(%d, %d)", in.Seq, in.C), x)
	case nn.Attention:
		e.helpers["Attention"] = true
		causal, padding := "", ""
		if l.Causal {
			causal = ", causal=True"
		}
		if l.MaskPadding {
			padding = ", tokens == 0"
		}
		e.set(to, "%s(%s%s)", e.module(s.Name, "Attention(%d, %d%s)", in.C, l.Heads, causal), x, padding)
	case nn.LSTM:
		kind := "nn.LSTM"
		if l.OneBias {
			kind = "OneBiasLSTM"
			e.helpers[kind] = true
		}
		dropout := ""
		if l.Dropout > 0 && l.Layers > 1 {
			dropout = fmt.Sprintf(", dropout=%v", l.Dropout)
		}
		e.set(to, "%s(%s)[0]", e.module(s.Name, "%s(%d, %d, %d, batch_first=True%s)", kind, in.C, l.Hidden, max(1, l.Layers), dropout), x)
		if !l.EveryStep {
			e.set(to, "%s[:, -1]", to)
		}
		return !l.EveryStep, nil
	case nn.GRU:
		e.set(to, "%s(%s)[0]", e.module(s.Name, "nn.GRU(%d, %d, batch_first=True)", in.C, l.Hidden), x)
		if !l.EveryStep {
			e.set(to, "%s[:, -1]", to)
		}
		return !l.EveryStep, nil
	case nn.Tied:
		e.set(to, "F.linear(%s, %s.weight)", x, e.embedding)
		return in.Seq == 0, nil
	default:
		return false, fmt.Errorf("there is no way to write layers of type %s in PyTorch yet", s.Layer.Kind())
	}
	return false, nil
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
	e.helpers["Shares"] = true
	n, from := len(names), ""
	if b.Zero {
		n, from = n+1, "[1:]"
	}
	if e.mixed[b.Weights] == "" {
		e.mixed[b.Weights] = e.module(b.Weights, "Shares(%d)", n)
	}
	e.set(to, "sum(share * part for share, part in zip(%s()%s, (%s)))", e.mixed[b.Weights], from, strings.Join(names, ", "))
}

// graph writes branches.
func (e *exporter) graph(g nn.Graph, s nn.Stage, v value, to string) (flat bool, err error) {
	values := make([]value, len(g.Branches))
	for i, b := range g.Branches {
		var from []value
		for _, f := range b.From {
			if f == nn.GraphInput {
				from = append(from, e.keep(v))
			} else {
				from = append(from, values[f])
			}
		}
		var names []string
		for _, f := range from {
			names = append(names, f.name)
		}
		now := from[0]
		if b.Join != 0 {
			now.name = e.fresh()
			switch {
			case b.Join == nn.Sum:
				e.set(now.name, "%s", strings.Join(names, " + "))
			case b.Join == nn.Mix:
				e.mix(now.name, b, names)
			case s.In.Seq > 0:
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
