package models

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"sync"

	"github.com/fedfast/fedfast/internal/list"
	"github.com/fedfast/fedfast/internal/naming"
	"github.com/fedfast/fedfast/nn"
)

// LayerType is a type of layers that files name: in [[model.layers]] of a study, and in
// what reads networks from other programs.
type LayerType struct {
	// Name is what a file says, type = "conv". Doc describes in a line what the layer is.
	Name, Doc string
	// Keys are the keys of LayerSpec that it takes, Required those that it must have.
	Keys, Required []string
	// Options are the options of its own, a struct that holds their defaults; nil without any. The
	// tags of its fields are the tags of LayerSpec: toml names the option, doc describes in a line
	// what it means, in is the range of a number and of lists the words that a string may
	// be. A file has them in options = { NAME = VALUE }.
	Options any
	// Ends says that as the last layer of a network it may leave out the key units, which
	// then is the number of classes.
	Ends bool
	// Module is the name of the class of PyTorch's modules that are such a layer, with the
	// same parameters and a result of the form of what they read: `fedfast model import`
	// makes it of them; those of torch.nn may be written as "nn.SiLU". Attributes are the
	// attributes of such a module by the options, or keys, that they are. Function is the name of
	// PyTorch's function of one tensor that is such a layer, without parameters: "silu".
	Module     string
	Attributes map[string]string
	Function   string
	// Make returns the layer of a spec whose keys were checked, with a struct of the type
	// of Options. What it does not accept its Bind says.
	Make func(s LayerSpec, options any) nn.Layer
}

// layerTypes holds the types of layers by name. Programs may register theirs at any time.
var layerTypes = struct {
	sync.RWMutex
	byName map[string]LayerType
}{byName: map[string]LayerType{}}

// Register makes a type of layers known by its name to study files, lists and help of
// this program. Importing package models does so for the built-in ones. The error says
// what is wrong with the type, or that the name is taken.
func Register(t LayerType) error {
	var keys []string
	for f := range reflect.TypeFor[LayerSpec]().Fields() {
		if key, _, _ := strings.Cut(f.Tag.Get("toml"), ","); key != "options" {
			keys = append(keys, key)
		}
	}
	if err := naming.Check("models: layer type", t.Name, t.Doc); err != nil {
		return err
	}
	if structure := slices.Contains([]string{add, concat, mix, multiply, residual}, t.Name); t.Make == nil && !structure {
		return fmt.Errorf("models: layer type %q: Make is nil", t.Name)
	}
	for _, key := range slices.Concat(t.Keys, t.Required) {
		if !slices.Contains(keys, key) {
			return fmt.Errorf("models: layer type %q: unknown key %q of layers; put it into Options", t.Name, key)
		}
	}
	if len(t.Attributes) > 0 && t.Module == "" {
		return fmt.Errorf("models: layer type %q: Attributes need a Module", t.Name)
	}
	if _, err := nn.ReadOptions(t.Options, nil); err != nil {
		return fmt.Errorf("models: layer type %q: %w", t.Name, err)
	}
	layerTypes.Lock()
	defer layerTypes.Unlock()
	if _, taken := layerTypes.byName[t.Name]; taken {
		return fmt.Errorf("models: layer type %q: the name is taken; choose another one", t.Name)
	}
	layerTypes.byName[t.Name] = t
	return nil
}

// typeOf returns the type of a name.
func typeOf(name string) (LayerType, bool) {
	layerTypes.RLock()
	defer layerTypes.RUnlock()
	t, ok := layerTypes.byName[name]
	return t, ok
}

// LayerTypes returns the types of layers by their names.
func LayerTypes() []LayerType {
	layerTypes.RLock()
	defer layerTypes.RUnlock()
	names := slices.Sorted(maps.Keys(layerTypes.byName))
	return list.Of(names, func(name string) LayerType { return layerTypes.byName[name] })
}

// LayerNames returns their names.
func LayerNames() []string { return list.Of(LayerTypes(), func(t LayerType) string { return t.Name }) }
