package models

import (
	"cmp"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/fedfast/fedfast/nn"
)

// LayerSpec is one [[model.layers]] table of a study. Type says which of the keys
// apply; a zero key is one that was not given.
type LayerSpec struct {
	// Type is conv, dense, maxpool, avgpool, lrn, groupnorm, relu, dropout, flatten,
	// residual, embedding or lstm.
	Type string `toml:"type" json:"type"`
	// Units of a dense layer. The last layer of a network may leave it out: it
	// has one unit a class.
	Units int `toml:"units,omitempty" json:"units,omitempty"`
	// Filters, Kernel (height and width), Padding ("valid", the default, or
	// "same") and Stride (default 1) of a convolution.
	Filters int    `toml:"filters,omitempty" json:"filters,omitempty"`
	Kernel  int    `toml:"kernel,omitempty" json:"kernel,omitempty"`
	Padding string `toml:"padding,omitempty" json:"padding,omitempty"`
	// Pad puts that many rows and columns of zeros on each side of a convolution's
	// image, as PyTorch does, instead of Padding; NoBias leaves out its bias.
	Pad    int  `toml:"pad,omitempty" json:"pad,omitempty"`
	NoBias bool `toml:"no_bias,omitempty" json:"no_bias,omitempty"`
	// Stride is also that of a pool, whose default is its size; Padding also that
	// of a max-pool.
	Stride int `toml:"stride,omitempty" json:"stride,omitempty"`
	// Size is the window of a pool (without one, an average pool takes the mean of
	// the whole image), or the width of an embedding.
	Size int `toml:"size,omitempty" json:"size,omitempty"`
	// ZeroPadding makes an embedding's token 0 a zero row that is not trained.
	ZeroPadding bool `toml:"zero_padding,omitempty" json:"zero_padding,omitempty"`
	// Groups of a group normalisation.
	Groups int `toml:"groups,omitempty" json:"groups,omitempty"`
	// Radius, Bias (default 1), Alpha and Beta (0.25, 0.5, 0.75, the default, or 1)
	// of a local response normalisation; see nn.LRN.
	Radius int      `toml:"radius,omitempty" json:"radius,omitempty"`
	Bias   *float64 `toml:"bias,omitempty" json:"bias,omitempty"`
	Alpha  *float64 `toml:"alpha,omitempty" json:"alpha,omitempty"`
	Beta   *float64 `toml:"beta,omitempty" json:"beta,omitempty"`
	// Rate of a dropout layer, or between the layers of an LSTM.
	Rate *float64 `toml:"rate,omitempty" json:"rate,omitempty"`
	// Hidden, Layers (default 1), Output ("last", the default, or "every") and
	// Biases (2 as in PyTorch, the default, or 1) of an LSTM.
	Hidden int    `toml:"hidden,omitempty" json:"hidden,omitempty"`
	Layers int    `toml:"layers,omitempty" json:"layers,omitempty"`
	Output string `toml:"output,omitempty" json:"output,omitempty"`
	Biases int    `toml:"biases,omitempty" json:"biases,omitempty"`
	// Init is "torch" (PyTorch's initialisation, the default), "glorot"
	// (TensorFlow's; an LSTM with it has BasicLSTMCell's forget bias) or "keras".
	Init string `toml:"init,omitempty" json:"init,omitempty"`
	// Body and Shortcut (default none) are the layers of the two branches that a
	// residual block adds up; see nn.Residual.
	Body     []LayerSpec `toml:"body,omitempty" json:"body,omitempty"`
	Shortcut []LayerSpec `toml:"shortcut,omitempty" json:"shortcut,omitempty"`
}

// layerType says which keys a type takes, which of them it must have, and how it
// is made, unless of other layers.
type layerType struct {
	keys, required []string
	make           func(s LayerSpec, classes int) nn.Layer
}

var layerTypes = map[string]layerType{
	"conv": {[]string{"filters", "kernel", "padding", "pad", "no_bias", "stride", "init"}, []string{"filters", "kernel"}, func(s LayerSpec, _ int) nn.Layer {
		return nn.Conv2D{Filters: s.Filters, Kernel: s.Kernel, Same: s.Padding == "same", Pad: s.Pad, Stride: s.Stride, NoBias: s.NoBias, Init: s.init()}
	}},
	"dense": {[]string{"units", "init"}, nil, func(s LayerSpec, classes int) nn.Layer {
		if s.Units == 0 {
			s.Units = classes
		}
		return nn.Dense{Units: s.Units, Init: s.init()}
	}},
	"maxpool": {[]string{"size", "stride", "padding"}, []string{"size"}, func(s LayerSpec, _ int) nn.Layer {
		return nn.MaxPool{Size: s.Size, Stride: s.Stride, Same: s.Padding == "same"}
	}},
	"avgpool": {[]string{"size", "stride"}, nil, func(s LayerSpec, _ int) nn.Layer {
		return nn.AvgPool{Size: s.Size, Stride: s.Stride}
	}},
	"lrn": {[]string{"radius", "bias", "alpha", "beta"}, []string{"radius", "alpha"}, func(s LayerSpec, _ int) nn.Layer {
		return nn.LRN{Radius: s.Radius, Bias: or(s.Bias, 1), Alpha: *s.Alpha, Beta: or(s.Beta, 0.75)}
	}},
	"groupnorm": {[]string{"groups"}, []string{"groups"}, func(s LayerSpec, _ int) nn.Layer {
		return nn.GroupNorm{Groups: s.Groups}
	}},
	"relu":    {nil, nil, func(LayerSpec, int) nn.Layer { return nn.ReLU{} }},
	"flatten": {nil, nil, func(LayerSpec, int) nn.Layer { return nn.Flatten{} }},
	"dropout": {[]string{"rate"}, []string{"rate"}, func(s LayerSpec, _ int) nn.Layer {
		return nn.Dropout{Rate: float32(*s.Rate)}
	}},
	"embedding": {[]string{"size", "zero_padding", "init"}, []string{"size"}, func(s LayerSpec, _ int) nn.Layer {
		return nn.Embedding{Dim: s.Size, ZeroPadding: s.ZeroPadding, Init: s.init()}
	}},
	"lstm": {[]string{"hidden", "layers", "output", "rate", "biases", "init"}, []string{"hidden"}, func(s LayerSpec, _ int) nn.Layer {
		l := nn.LSTM{Hidden: s.Hidden, Layers: s.Layers, EveryStep: s.Output == "every", OneBias: s.Biases == 1, Init: s.init()}
		if s.Rate != nil {
			l.Dropout, l.Droppable = float32(*s.Rate), true
		}
		if s.Init == "glorot" {
			l.ForgetBias = 1
		}
		return l
	}},
	residual: {[]string{"body", "shortcut"}, []string{"body"}, nil},
}

// residual is the type that is made of other layers.
const residual = "residual"

// layer makes the layer of a spec that was checked.
func (s LayerSpec) layer(classes int) nn.Layer {
	if s.Type != residual {
		return layerTypes[s.Type].make(s, classes)
	}
	return nn.Residual{Body: chain(s.Body, classes), Shortcut: chain(s.Shortcut, classes)}
}

// chain makes the layers of specs that were checked.
func chain(specs []LayerSpec, classes int) []nn.Layer {
	var layers []nn.Layer
	for _, s := range specs {
		layers = append(layers, s.layer(classes))
	}
	return layers
}

// or returns the number that was given, or otherwise the default.
func or(given *float64, otherwise float64) float64 {
	if given == nil {
		return otherwise
	}
	return *given
}

// words lists the values that a key of text may have.
var words = map[string][]string{
	"padding": {"valid", "same"},
	"output":  {"last", "every"},
	"init":    {"torch", "glorot", "keras"},
}

func (s LayerSpec) init() nn.Init {
	switch s.Init {
	case "glorot":
		return nn.InitGlorot
	case "keras":
		return nn.InitKeras
	}
	return nn.InitTorch
}

// FromLayers builds the network of specs for samples of the input shape. Errors
// name the layer, counted from 1, and the key.
func FromLayers(specs []LayerSpec, input nn.Shape, classes int) (*nn.Model, error) {
	if len(specs) == 0 {
		return nil, errors.New("model.layers is empty; a network has at least one dense layer")
	}
	if err := checkLayers("model.layers", specs, true); err != nil {
		return nil, err
	}
	var kinds []string
	for _, s := range specs {
		kinds = append(kinds, s.Type)
	}
	if kinds[len(kinds)-1] != "dense" {
		return nil, fmt.Errorf("model.layers[%d] (%s): the last layer must be dense", len(specs), kinds[len(kinds)-1])
	}
	m, err := nn.NewModel("layers", input, classes, chain(specs, classes)...)
	if err != nil {
		return nil, err
	}
	return m.WithDoc("composed of layers: " + strings.Join(kinds, ", ")), nil
}

func typeNames() []string {
	var names []string
	for name := range layerTypes {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// checkLayers checks specs that stand at a key, the branches of residual blocks
// included. The last layer of a network need not have units.
func checkLayers(key string, specs []LayerSpec, network bool) error {
	for i, s := range specs {
		at := fmt.Sprintf("%s[%d]", key, i+1)
		t, ok := layerTypes[s.Type]
		if !ok {
			return fmt.Errorf("%s: unknown type %q; there are %s", at, s.Type, strings.Join(typeNames(), ", "))
		}
		if err := s.check(t, network && i+1 == len(specs)); err != nil {
			return fmt.Errorf("%s (%s): %w", at, s.Type, err)
		}
		if err := cmp.Or(checkLayers(at+".body", s.Body, false), checkLayers(at+".shortcut", s.Shortcut, false)); err != nil {
			return err
		}
	}
	return nil
}

// check reports the first key that is missing, foreign to the type or out of
// range.
func (s LayerSpec) check(t layerType, last bool) error {
	v := reflect.ValueOf(s)
	for i := range v.NumField() {
		key, _, _ := strings.Cut(v.Type().Field(i).Tag.Get("toml"), ",")
		f := v.Field(i)
		switch {
		case key == "type":
		case f.IsZero():
			if slices.Contains(t.required, key) || key == "units" && s.Type == "dense" && !last {
				return fmt.Errorf("key %q is missing", key)
			}
		case !slices.Contains(t.keys, key):
			return fmt.Errorf("key %q does not belong to this type; it takes %s", key, list(t.keys))
		case f.Kind() == reflect.Int && f.Int() < 1:
			return fmt.Errorf("%s = %d; it must be at least 1", key, f.Int())
		case f.Kind() == reflect.String && !slices.Contains(words[key], f.String()):
			return fmt.Errorf("%s = %q; it must be %s", key, f.String(), strings.Join(words[key], " or "))
		}
	}
	switch {
	case s.Rate != nil && !(*s.Rate >= 0 && *s.Rate < 1):
		return fmt.Errorf("rate = %v; it must be at least 0 and below 1", *s.Rate)
	case s.Padding != "" && s.Pad > 0:
		return errors.New("padding and pad are both given; only one of them can be")
	case s.Biases > 2:
		return fmt.Errorf("biases = %d; it must be 1 or 2", s.Biases)
	}
	return nil
}

func list(keys []string) string {
	if len(keys) == 0 {
		return "no keys"
	}
	return strings.Join(keys, ", ")
}
