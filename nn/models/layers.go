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
// apply; a zero key is one that was not given. The tags say what is known of each
// key; of are the values that a text may have.
type LayerSpec struct {
	Type        string      `toml:"type" json:"type" doc:"what kind of layer it is"`
	Name        string      `toml:"name,omitempty" json:"name,omitempty" doc:"name of a layer, for the inputs of others and for its parameters, which else go by its type and number"`
	Input       string      `toml:"input,omitempty" json:"input,omitempty" doc:"name of the layer that this one reads, the one before unless set; input is what the first layer reads"`
	Inputs      []string    `toml:"inputs,omitempty" json:"inputs,omitempty" doc:"names of the layers that add, concat and mix join"`
	Weights     string      `toml:"weights,omitempty" json:"weights,omitempty" doc:"name of the weights of a mix, which all of one name share; their parameter is NAME.alpha"`
	Zero        bool        `toml:"zero,omitempty" json:"zero,omitempty" doc:"has a mix weigh zeros, too, by the first of its weights"`
	Units       int         `toml:"units,omitempty" json:"units,omitempty" in:"[1, 1048576]" doc:"outputs of a dense layer, or of the first of squeeze-and-excitation; the last layer of a network may leave it out: it has one a class" also:"size neurons out_features"`
	Filters     int         `toml:"filters,omitempty" json:"filters,omitempty" in:"[1, 1048576]" doc:"output channels of a convolution" also:"channels out_channels"`
	Kernel      int         `toml:"kernel,omitempty" json:"kernel,omitempty" in:"[1, 256]" doc:"height and width of a convolution's kernel, up to 11 of a depthwise one" also:"kernel_size"`
	Padding     string      `toml:"padding,omitempty" json:"padding,omitempty" of:"valid same" doc:"none, the default, or zeros that keep the image's size at stride 1"`
	Pad         int         `toml:"pad,omitempty" json:"pad,omitempty" in:"[1, 1048576]" doc:"rows and columns of zeros on each side of a convolution's image, as PyTorch has it, instead of padding; those by which a pool's windows reach over the edges, where nothing counts"`
	NoBias      bool        `toml:"no_bias,omitempty" json:"no_bias,omitempty" doc:"leaves out the bias of a convolution or of a dense layer"`
	Stride      int         `toml:"stride,omitempty" json:"stride,omitempty" in:"[1, 1048576]" doc:"step of a convolution, 1 unless set, or of a pool, its size unless set"`
	Dilation    int         `toml:"dilation,omitempty" json:"dilation,omitempty" in:"[1, 1048576]" doc:"distance between neighbours of a convolution's kernel, 1 unless set"`
	Size        int         `toml:"size,omitempty" json:"size,omitempty" in:"[1, 1048576]" doc:"window of a pool, without which an average pool takes the mean of the whole image, or width of an embedding" also:"dim pool_size embedding_dim"`
	ZeroPadding bool        `toml:"zero_padding,omitempty" json:"zero_padding,omitempty" doc:"makes an embedding's token 0 a row of zeros that is not trained"`
	Groups      int         `toml:"groups,omitempty" json:"groups,omitempty" in:"[1, 1048576]" doc:"groups of channels that are normalized together, or that a convolution keeps apart, 1 unless set" also:"num_groups"`
	NoAffine    bool        `toml:"no_affine,omitempty" json:"no_affine,omitempty" doc:"leaves out what a group normalization learns, PyTorch's affine=False"`
	Radius      int         `toml:"radius,omitempty" json:"radius,omitempty" in:"[1, 1048576]" doc:"channels on each side that normalize one"`
	Bias        *float64    `toml:"bias,omitempty" json:"bias,omitempty" doc:"bias of the normalization's base, 1 unless set"`
	Alpha       *float64    `toml:"alpha,omitempty" json:"alpha,omitempty" doc:"factor of the sum of squares"`
	Beta        *float64    `toml:"beta,omitempty" json:"beta,omitempty" in:"0.25 or 0.5 or 0.75 or 1" doc:"exponent of the normalization, 0.75 unless set"`
	Rate        *float64    `toml:"rate,omitempty" json:"rate,omitempty" in:"[0, 1)" doc:"share of values that dropout leaves out; of an LSTM, between its layers" also:"dropout p"`
	Hidden      int         `toml:"hidden,omitempty" json:"hidden,omitempty" in:"[1, 1048576]" doc:"units of an LSTM or a GRU" also:"hidden_size units"`
	Layers      int         `toml:"layers,omitempty" json:"layers,omitempty" in:"[1, 256]" doc:"layers of an LSTM, one above the other, 1 unless set" also:"num_layers"`
	Output      string      `toml:"output,omitempty" json:"output,omitempty" of:"last every" doc:"the last step's output, the default, or every step's"`
	Biases      int         `toml:"biases,omitempty" json:"biases,omitempty" in:"1 or 2" doc:"bias vectors of an LSTM, 2 as in PyTorch unless set"`
	Heads       int         `toml:"heads,omitempty" json:"heads,omitempty" in:"[1, 1048576]" doc:"heads of attention; they must divide the channels" also:"num_heads"`
	Causal      bool        `toml:"causal,omitempty" json:"causal,omitempty" doc:"keeps later steps from each step of attention"`
	MaskPadding bool        `toml:"mask_padding,omitempty" json:"mask_padding,omitempty" doc:"keeps the steps whose token is 0 from all in attention"`
	ClassToken  bool        `toml:"class_token,omitempty" json:"class_token,omitempty" doc:"begins a sequence with a learned vector"`
	Take        string      `toml:"take,omitempty" json:"take,omitempty" of:"last first mean" doc:"which step goes on, or the mean of all; the last one unless set"`
	Approximate string      `toml:"approximate,omitempty" json:"approximate,omitempty" of:"none tanh" doc:"GELU by the normal distribution, the default, or by a hyperbolic tangent"`
	Init        string      `toml:"init,omitempty" json:"init,omitempty" of:"torch glorot keras haiku gpt2" doc:"initialization as PyTorch's, the default, TensorFlow's, Keras's, Haiku's or GPT-2's; with glorot and haiku an LSTM has the constant forget bias of BasicLSTMCell and hk.LSTM"`
	Optional    bool        `toml:"optional,omitempty" json:"optional,omitempty" doc:"lets sub-networks leave the layer out, by the choice on of 0 or 1"`
	Depth       int         `toml:"depth,omitempty" json:"depth,omitempty" in:"[1, 256]" doc:"how many such blocks follow one another, 1 unless set" also:"repeat"`
	Body        []LayerSpec `toml:"body,omitempty" json:"body,omitempty" doc:"layers of a residual block's one branch"`
	Shortcut    []LayerSpec `toml:"shortcut,omitempty" json:"shortcut,omitempty" doc:"layers of its other branch, the input itself unless set"`
	// Options are those of a type that has its own.
	Options map[string]any `toml:"options,omitempty" json:"options,omitempty" doc:"options of a type from another module, by their names: options = { NAME = VALUE }"`
	// Choices stand in the place of keys with whole numbers.
	Choices map[string]LayerChoice `toml:"-" json:"-"`
}

// residual is the type that is made of other layers.
const residual = "residual"

// layer makes the layer of a spec that was checked.
func (s LayerSpec) layer() nn.Layer {
	if s.Type == residual {
		return nn.Residual{Body: chain(s.Body), Shortcut: chain(s.Shortcut)}
	}
	t, _ := typeOf(s.Type)
	options, err := nn.ReadOptions(t.Options, s.Options)
	if err != nil {
		panic("models: options were checked and are wrong: " + err.Error())
	}
	return t.Make(s, options)
}

// chain makes the layers of specs that were checked.
func chain(specs []LayerSpec) []nn.Layer {
	if branched(specs) {
		return graph(specs)
	}
	var layers []nn.Layer
	for _, s := range specs {
		l := s.layer()
		if s.Name != "" {
			l = nn.Named{Layer: l, Name: s.Name}
		}
		layers = append(layers, l)
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

func (s LayerSpec) init() nn.Init { return inits[s.Init] } // InitTorch without a name

// WithInit returns the specs with an initialisation, one of Inits, for the layers
// that take one and have none of their own, those of residual blocks included;
// without a name it returns them as they are.
func WithInit(specs []LayerSpec, init string) []LayerSpec {
	if init == "" {
		return specs
	}
	specs = slices.Clone(specs)
	for i := range specs {
		s := &specs[i]
		if t, _ := typeOf(s.Type); s.Init == "" && slices.Contains(t.Keys, "init") {
			s.Init = init
		}
		s.Body, s.Shortcut = WithInit(s.Body, init), WithInit(s.Shortcut, init)
	}
	return specs
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
	last := kinds[len(kinds)-1]
	if t, _ := typeOf(last); !t.Ends {
		return nil, fmt.Errorf("model.layers[%d] (%s): the last layer must be dense", len(specs), last)
	}
	specs = withClasses(specs, classes)
	build := plain
	if chooses(specs) {
		build = supernet
	}
	m, err := build(specs, input, classes)
	if err != nil {
		return nil, err
	}
	return m.WithDoc("composed of layers: " + strings.Join(kinds, ", ")), nil
}

// plain builds the network of specs that were checked and have no choices.
func plain(specs []LayerSpec, input nn.Shape, classes int) (*nn.Model, error) {
	return nn.NewModel("layers", input, classes, chain(specs)...)
}

// withClasses returns specs whose last layer has an output a class unless it says
// otherwise.
func withClasses(specs []LayerSpec, classes int) []LayerSpec {
	last := len(specs) - 1
	if t, _ := typeOf(specs[last].Type); specs[last].Units > 0 || !slices.Contains(t.Keys, "units") {
		return specs
	}
	specs = slices.Clone(specs)
	specs[last].Units = classes
	return specs
}

// checkLayers checks specs that stand at a key, the branches of residual blocks
// included. The last layer of a network need not have units.
func checkLayers(key string, specs []LayerSpec, network bool) error {
	for i, s := range specs {
		at := fmt.Sprintf("%s[%d]", key, i+1)
		t, ok := typeOf(s.Type)
		if !ok {
			return fmt.Errorf("%s: unknown type %q; there are %s", at, s.Type, strings.Join(LayerNames(), ", "))
		}
		if err := s.check(t, network && i+1 == len(specs)); err != nil {
			return fmt.Errorf("%s (%s): %w", at, s.Type, err)
		}
		if err := cmp.Or(checkLayers(at+".body", s.Body, false), checkLayers(at+".shortcut", s.Shortcut, false)); err != nil {
			return err
		}
	}
	reads, err := sources(specs)
	if err == nil {
		_, err = sorted(specs, reads)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", key, err)
	}
	return nil
}

// check reports the first key that is missing, foreign to the type or out of
// range.
func (s LayerSpec) check(t LayerType, last bool) error {
	v := reflect.ValueOf(s)
	for i := range v.NumField() {
		key, _, _ := strings.Cut(v.Type().Field(i).Tag.Get("toml"), ",")
		f, words := v.Field(i), strings.Fields(v.Type().Field(i).Tag.Get("of"))
		switch {
		case key == "-" || key == "type" || key == "name" || key == "optional" || key == "input" && !s.joins():
		case f.IsZero():
			if _, ok := s.Choices[key]; !ok && (slices.Contains(t.Required, key) || key == "units" && t.Ends && slices.Contains(t.Keys, key) && !last) {
				return fmt.Errorf("key %q is missing", key)
			}
		case key == "options" && t.Options != nil:
		case !slices.Contains(t.Keys, key):
			return fmt.Errorf("key %q does not belong to this type; it takes %s", key, list(t.Keys))
		case f.Kind() == reflect.Int && f.Int() < 1:
			return fmt.Errorf("%s = %d; it must be at least 1", key, f.Int())
		case f.Kind() == reflect.Int && f.Int() > most(key):
			return fmt.Errorf("%s = %d; it must be at most %d", key, f.Int(), most(key))
		case f.Kind() == reflect.String && len(words) > 0 && !slices.Contains(words, f.String()):
			return fmt.Errorf("%s = %q; it must be %s", key, f.String(), strings.Join(words, " or "))
		}
	}
	switch {
	case s.joins() && len(s.Inputs) < 2:
		return fmt.Errorf("inputs names %d layer; there must be at least 2", len(s.Inputs))
	case s.Weights != "" && !layerName.MatchString(s.Weights):
		return fmt.Errorf("weights = %q; it must be of letters, digits, _, - and single dots within, and begin with a letter or _", s.Weights)
	case s.Rate != nil && !(*s.Rate >= 0 && *s.Rate < 1):
		return fmt.Errorf("rate = %v; it must be at least 0 and below 1", *s.Rate)
	case s.Padding != "" && s.Pad > 0:
		return errors.New("padding and pad are both given; only one of them can be")
	case s.Biases > 2:
		return fmt.Errorf("biases = %d; it must be 1 or 2", s.Biases)
	}
	if _, err := nn.ReadOptions(t.Options, s.Options); err != nil {
		return err
	}
	return s.checkChoices(t)
}

// most bounds a whole number of a layer, so that no product of sizes is more than a
// machine's integers hold.
func most(key string) int64 {
	switch key {
	case "kernel", "layers", "depth":
		return 256
	}
	return 1 << 20
}

func list(keys []string) string {
	if len(keys) == 0 {
		return "no keys"
	}
	return strings.Join(keys, ", ")
}
