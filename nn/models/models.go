// Package models holds the networks by name and builds those that a study
// composes layer by layer.
//
// The named models are the published ones of their data sets; their numbers of
// parameters are tests. Each model's Doc names the framework of origin, whose
// initialisation it uses.
package models

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/fedfast/fedfast/internal/list"
	"github.com/fedfast/fedfast/nn"
)

// Options adapts a named model. A zero field keeps the model's own value.
type Options struct {
	Classes int
	// Input replaces the shape of a sample. A model of images takes images and
	// vectors only, a model of text token sequences only.
	Input nn.Shape
	// Init is how all layers are initialised, one of Inits; empty is as each layer
	// has it.
	Init string
}

// inits are the initialisations by name.
var inits = map[string]nn.Init{"torch": nn.InitTorch, "glorot": nn.InitGlorot, "keras": nn.InitKeras, "haiku": nn.InitHaiku, "gpt2": nn.InitGPT2}

// Inits returns the names of the initialisations: of PyTorch, of TensorFlow, of
// Keras, which differs for text, of Haiku and of GPT-2.
func Inits() []string { return []string{"torch", "glorot", "keras", "haiku", "gpt2"} }

// withInit replaces the initialisation of layers by one of a name.
func withInit(layers []nn.Layer, name string) ([]nn.Layer, error) {
	if name == "" {
		return layers, nil
	}
	i, ok := inits[name]
	if !ok {
		return nil, fmt.Errorf("init = %q: unknown initialization; must be one of %s", name, strings.Join(Inits(), ", "))
	}
	return i.Of(layers), nil
}

// model describes one named network.
type model struct {
	name, doc string
	input     nn.Shape
	classes   int
	layers    func(classes int) []nn.Layer
	// choices and pick, instead of layers, belong to a supernet.
	choices []nn.Choice
	pick    func(classes int, pick func(name string) int) []nn.Layer
}

//go:embed models.json
var written []byte

// named lists the models in the order in which they are shown: those of models.json, whose layers
// are written as those of a study file, and in their places those that Go makes. They are read
// when the first is asked for: most commands need none.
var named = sync.OnceValue(func() []model {
	type network struct {
		Name, Doc string
		Input     nn.Shape
		Classes   int
		Layers    []LayerSpec
	}
	var all []network
	if err := json.Unmarshal(written, &all); err != nil {
		panic("models: models.json: " + err.Error())
	}
	made := []model{mbv3CIFAR, mbv3Mid, mbv3Paper32, dartsCIFAR}
	return list.Of(all, func(w network) model {
		if i := slices.IndexFunc(made, func(m model) bool { return m.name == w.Name }); i >= 0 {
			return made[i]
		}
		layers := func(classes int) []nn.Layer { return chain(withClasses(w.Layers, classes)) }
		return model{name: w.Name, doc: w.Doc, input: w.Input, classes: w.Classes, layers: layers}
	})
})

// Names returns the names of the models.
func Names() []string { return list.Of(named(), func(m model) string { return m.name }) }

// New returns the named model, adapted as o asks. The error names the model and
// what it would take.
func New(name string, o Options) (*nn.Model, error) {
	for _, m := range named() {
		if m.name == name {
			return m.build(o)
		}
	}
	return nil, fmt.Errorf("unknown model %q; available: %s", name, strings.Join(Names(), ", "))
}

func (m model) build(o Options) (*nn.Model, error) {
	input, classes := m.input, m.classes
	if o.Classes != 0 {
		classes = o.Classes
	}
	if o.Input != (nn.Shape{}) {
		switch text := m.input.Seq > 0; {
		case text && o.Input.Seq == 0:
			return nil, fmt.Errorf("model %s is for text, not for images", m.name)
		case !text && o.Input.Seq > 0:
			return nil, fmt.Errorf("model %s is for images, not for text", m.name)
		}
		input = o.Input
	}
	built, err := m.network(input, classes, o.Init)
	if err != nil {
		return nil, err
	}
	doc := m.doc
	if o.Init != "" {
		doc += " Here with init = \"" + o.Init + "\"."
	}
	return built.WithDoc(doc), nil
}

// network builds the network, or the supernet.
func (m model) network(input nn.Shape, classes int, init string) (*nn.Model, error) {
	if m.pick == nil {
		layers, err := withInit(m.layers(classes), init)
		if err != nil {
			return nil, err
		}
		return nn.NewModel(m.name, input, classes, layers...)
	}
	if _, err := withInit(nil, init); err != nil {
		return nil, err
	}
	return nn.NewSupernet(m.name, input, classes, m.choices, func(pick func(name string) int) []nn.Layer {
		layers, _ := withInit(m.pick(classes, pick), init) // its name was checked
		return layers
	})
}
