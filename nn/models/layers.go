package models

import (
	"cmp"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/fedfast/fedfast/internal/list"
	"github.com/fedfast/fedfast/nn"
)

// LayerSpec is one [[model.layers]] table of a study. Type describes which of the keys
// apply; a zero key is one that was not given. The tags say what is known of each
// key; of are the values that a text may have.
type LayerSpec struct {
	// type of the layer
	Type string `toml:"type" json:"type"`
	// name of the layer, used as input of other layers and in parameter names; default: type and number
	Name string `toml:"name,omitempty" json:"name,omitempty"`
	// what parameters of the layer are in files of weights, where a PyTorch module has other names or
	// shapes: PARAMETER = NAME, or PARAMETER = NAME 1x17x64
	Tensors []string `toml:"tensors,omitempty" json:"tensors,omitempty"`
	// name of the layer's input layer; default: the previous layer; input is the input of the first layer
	Input string `toml:"input,omitempty" json:"input,omitempty"`
	// names of the layers that add, concat, multiply or mix combines
	Inputs []string `toml:"inputs,omitempty" json:"inputs,omitempty"`
	// name of the weights of a mix, shared by all mixes with the same name; their parameter is NAME.alpha
	Weights string `toml:"weights,omitempty" json:"weights,omitempty"`
	// add a zero operation to a mix, with the first of its weights
	Zero bool `toml:"zero,omitempty" json:"zero,omitempty"`
	// outputs of a dense layer, or of the first layer of squeeze-and-excitation; default for the last
	// layer of a network: one per class
	Units int `toml:"units,omitempty" json:"units,omitempty" in:"[1, 1048576]" also:"size neurons out_features"`
	// output channels of a convolution
	Filters int `toml:"filters,omitempty" json:"filters,omitempty" in:"[1, 1048576]" also:"channels out_channels"`
	// height and width of a convolution's kernel, up to 11 for a depthwise one
	Kernel int `toml:"kernel,omitempty" json:"kernel,omitempty" in:"[1, 256]" also:"kernel_size"`
	// columns of a convolution's kernel or of a pool's window, where they differ from its rows, kernel or
	// size
	Width int `toml:"width,omitempty" json:"width,omitempty" in:"[1, 1048576]"`
	// valid (default): no padding; same: zero padding that keeps the image size at stride 1
	Padding string `toml:"padding,omitempty" json:"padding,omitempty" of:"valid same"`
	// rows and columns of zero padding on each side, as in PyTorch, instead of padding; none where the
	// kernel or window is 1 wide; a pool ignores it
	Pad int `toml:"pad,omitempty" json:"pad,omitempty" in:"[1, 1048576]"`
	// omit the bias of a convolution or dense layer
	NoBias bool `toml:"no_bias,omitempty" json:"no_bias,omitempty"`
	// stride of a convolution (default: 1) or of a pool (default: size)
	Stride int `toml:"stride,omitempty" json:"stride,omitempty" in:"[1, 1048576]"`
	// dilation of a convolution; default: 1
	Dilation int `toml:"dilation,omitempty" json:"dilation,omitempty" in:"[1, 1048576]"`
	// window of a pool (an average pool without it averages the whole image), or dimension of an embedding
	Size int `toml:"size,omitempty" json:"size,omitempty" in:"[1, 1048576]" also:"dim pool_size embedding_dim"`
	// rows of the output of an adaptive pool, instead of size; needs columns
	Rows int `toml:"rows,omitempty" json:"rows,omitempty" in:"[1, 1048576]"`
	// columns of the output of an adaptive pool
	Columns int `toml:"columns,omitempty" json:"columns,omitempty" in:"[1, 1048576]"`
	// let a last window of a pool reach over the end of the image, ceil_mode=True in PyTorch
	Ceil bool `toml:"ceil,omitempty" json:"ceil,omitempty"`
	// count the padding in the means of an average pool, as PyTorch does unless count_include_pad=False
	CountPad bool `toml:"count_pad,omitempty" json:"count_pad,omitempty"`
	// make token 0 of an embedding a zero vector that is not trained
	ZeroPadding bool `toml:"zero_padding,omitempty" json:"zero_padding,omitempty"`
	// number of channel groups; default: 1
	Groups int `toml:"groups,omitempty" json:"groups,omitempty" in:"[1, 1048576]" also:"num_groups"`
	// omit the learned parameters of a group or batch normalization, affine=False in PyTorch
	NoAffine bool `toml:"no_affine,omitempty" json:"no_affine,omitempty"`
	// share of each batch in the running statistics of a batch normalization; default: 0.1
	Momentum *float64 `toml:"momentum,omitempty" json:"momentum,omitempty" in:"[0, 1]"`
	// make the running statistics the means over all batches, momentum=None in PyTorch
	Cumulative bool `toml:"cumulative,omitempty" json:"cumulative,omitempty"`
	// constant added to the variance of a normalization; default: 0.00001, of rmsnorm 2^-23
	Eps *float64 `toml:"eps,omitempty" json:"eps,omitempty" in:"(0, 1)"`
	// number of channels on each side in the normalization of a channel
	Radius int `toml:"radius,omitempty" json:"radius,omitempty" in:"[1, 1048576]"`
	// additive constant of the normalization; default: 1
	Bias *float64 `toml:"bias,omitempty" json:"bias,omitempty"`
	// factor of the sum of squares
	Alpha *float64 `toml:"alpha,omitempty" json:"alpha,omitempty"`
	// exponent of the normalization; default: 0.75
	Beta *float64 `toml:"beta,omitempty" json:"beta,omitempty" in:"0.25 or 0.5 or 0.75 or 1"`
	// dropout rate; for an LSTM, between its layers
	Rate *float64 `toml:"rate,omitempty" json:"rate,omitempty" in:"[0, 1)" also:"dropout p"`
	// drop whole channels of an image, nn.Dropout2d in PyTorch
	Channels bool `toml:"channels,omitempty" json:"channels,omitempty"`
	// first of the channels that are taken; default: 0, the input's first
	First int `toml:"first,omitempty" json:"first,omitempty" in:"[1, 1048576]"`
	// how many channels are taken; default: all from the first on
	Count int `toml:"count,omitempty" json:"count,omitempty" in:"[1, 1048576]"`
	// what a scale multiplies by
	Factor *float64 `toml:"factor,omitempty" json:"factor,omitempty" in:"(0, inf)"`
	// slope of a leaky ReLU below zero; default: 0.01
	Slope *float64 `toml:"slope,omitempty" json:"slope,omitempty" in:"[0, 1]"`
	// hidden units of an LSTM or GRU
	Hidden int `toml:"hidden,omitempty" json:"hidden,omitempty" in:"[1, 1048576]" also:"hidden_size units"`
	// number of stacked LSTM layers; default: 1
	Layers int `toml:"layers,omitempty" json:"layers,omitempty" in:"[1, 256]" also:"num_layers"`
	// output of the last step (default) or of every step
	Output string `toml:"output,omitempty" json:"output,omitempty" of:"last every"`
	// bias vectors of an LSTM; default: 2, as in PyTorch
	Biases int `toml:"biases,omitempty" json:"biases,omitempty" in:"1 or 2"`
	// number of attention heads; must divide the number of channels
	Heads int `toml:"heads,omitempty" json:"heads,omitempty" in:"[1, 1048576]" also:"num_heads"`
	// mask later steps in attention
	Causal bool `toml:"causal,omitempty" json:"causal,omitempty"`
	// mask steps with token 0 in attention; leave them out of what steps takes
	MaskPadding bool `toml:"mask_padding,omitempty" json:"mask_padding,omitempty"`
	// prepend a learned class token to the sequence
	ClassToken bool `toml:"class_token,omitempty" json:"class_token,omitempty"`
	// step that is the output, or the mean of all steps; default: last
	Take string `toml:"take,omitempty" json:"take,omitempty" of:"last first mean"`
	// exact GELU (none, default) or its tanh approximation
	Approximate string `toml:"approximate,omitempty" json:"approximate,omitempty" of:"none tanh"`
	// initialization as in PyTorch (default), TensorFlow, Keras, Haiku or GPT-2; with glorot and haiku the
	// forget bias of an LSTM, too
	Init string `toml:"init,omitempty" json:"init,omitempty" of:"torch glorot keras haiku gpt2"`
	// allow sub-networks to omit the layer, by the choice on = 0 or 1
	Optional bool `toml:"optional,omitempty" json:"optional,omitempty"`
	// number of consecutive blocks; default: 1
	Depth int `toml:"depth,omitempty" json:"depth,omitempty" in:"[1, 256]" also:"repeat"`
	// layers of the main branch of a residual block
	Body []LayerSpec `toml:"body,omitempty" json:"body,omitempty"`
	// layers of the shortcut branch; default: the input itself
	Shortcut []LayerSpec `toml:"shortcut,omitempty" json:"shortcut,omitempty"`
	// Options are the options of a type that has its own.
	//
	// options of a layer type from another module: options = { NAME = VALUE }
	Options map[string]any `toml:"options,omitempty" json:"options,omitempty"`
	// Choices stand instead of keys with integers.
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
		if s.Name != "" || len(s.Tensors) > 0 {
			l = nn.Named{Layer: l, Name: s.Name, Files: s.files()}
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
	kinds := list.Of(specs, func(s LayerSpec) string { return s.Type })
	specs = withClasses(specs, classes)
	build := plain
	if chooses(specs) {
		build = supernet
	}
	m, err := build(specs, input, classes)
	if err != nil {
		return nil, err
	}
	shapes := map[string][]int{}
	for t := range m.FoldedByName(nil) {
		shapes[t.Name] = t.Shape
	}
	if err := checkFiles("model.layers", specs, shapes); err != nil {
		return nil, err
	}
	return m.WithDoc("composed of layers: " + strings.Join(kinds, ", ")), nil
}

// files returns what parameters are in files of weights, by their own names.
func (s LayerSpec) files() map[string]nn.Tensor {
	files := map[string]nn.Tensor{}
	for _, text := range s.Tensors {
		own, as, _ := strings.Cut(text, " = ")
		name, shape, shaped := strings.Cut(as, " ")
		t := nn.Tensor{Name: name}
		for d := range strings.SplitSeq(shape, "x") {
			if shaped {
				n, _ := strconv.Atoi(d) // 0 is no size
				t.Shape = append(t.Shape, n)
			}
		}
		files[own] = t
	}
	return files
}

// checkFiles reports the first layer whose tensors have other shapes in the files of a network
// than it says.
func checkFiles(key string, specs []LayerSpec, shapes map[string][]int) error {
	for i, s := range specs {
		at := fmt.Sprintf("%s[%d]", key, i+1)
		for _, t := range s.files() {
			if t.Shape != nil && !slices.Equal(shapes[t.Name], t.Shape) {
				return fmt.Errorf("%s (%s): tensors: %s has the shape %v; it must be one of as many values as %v", at, s.Type, t.Name, t.Shape, shapes[t.Name])
			}
		}
		if err := cmp.Or(checkFiles(at+".body", s.Body, shapes), checkFiles(at+".shortcut", s.Shortcut, shapes)); err != nil {
			return err
		}
	}
	return nil
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
			return fmt.Errorf("%s: unknown type %q; available: %s", at, s.Type, strings.Join(LayerNames(), ", "))
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
		case key == "-" || key == "type" || key == "name" || key == "optional" || key == "tensors" || key == "input" && !s.joins():
		case f.IsZero():
			if _, ok := s.Choices[key]; !ok && (slices.Contains(t.Required, key) || key == "units" && t.Ends && slices.Contains(t.Keys, key) && !last) {
				return fmt.Errorf("key %q is missing", key)
			}
		case key == "options" && t.Options != nil:
		case !slices.Contains(t.Keys, key):
			return fmt.Errorf("key %q does not belong to this type; it takes %s", key, keyList(t.Keys))
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
		return fmt.Errorf("inputs has %d layer; must have at least 2", len(s.Inputs))
	case s.Weights != "" && !layerName.MatchString(s.Weights):
		return fmt.Errorf("weights = %q; it must be of letters, digits, _, - and single dots within, and begin with a letter or _", s.Weights)
	case s.Rate != nil && !(*s.Rate >= 0 && *s.Rate < 1):
		return fmt.Errorf("rate = %v; it must be at least 0 and below 1", *s.Rate)
	case s.Momentum != nil && !(*s.Momentum >= 0 && *s.Momentum <= 1):
		return fmt.Errorf("momentum = %v; it must be in [0, 1]", *s.Momentum)
	case s.Momentum != nil && s.Cumulative:
		return errors.New("momentum and cumulative are both given; only one of them can be")
	case s.Slope != nil && !(*s.Slope >= 0 && *s.Slope <= 1):
		return fmt.Errorf("slope = %v; it must be in [0, 1]", *s.Slope)
	case s.Eps != nil && !(*s.Eps > 0 && *s.Eps < 1):
		return fmt.Errorf("eps = %v; it must be above 0 and below 1", *s.Eps)
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

// most bounds an integer of a layer, so that no product of sizes is more than a
// machine's integers hold.
func most(key string) int64 {
	switch key {
	case "kernel", "layers", "depth":
		return 256
	}
	return 1 << 20
}

func keyList(keys []string) string {
	if len(keys) == 0 {
		return "no keys"
	}
	return strings.Join(keys, ", ")
}
