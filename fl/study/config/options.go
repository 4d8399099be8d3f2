package config

import (
	"fmt"
	"maps"
	"reflect"
	"slices"

	"github.com/fedfast/fedfast/internal/key"
	"github.com/fedfast/fedfast/nn"
	"github.com/fedfast/fedfast/nn/models"
)

// optionsOf returns the defaults of the options of a type of layers, nil without any.
func optionsOf(name any) any {
	for _, t := range models.LayerTypes() {
		if t.Name == name {
			return t.Options
		}
	}
	return nil
}

// readOptions reads a table of options that stand at a key.
func readOptions(options *map[string]any, s setting, defaults any) error {
	table, ok := s.value.(map[string]any)
	if !ok {
		return fmt.Errorf("%s: must be a table, { NAME = VALUE }", s.key)
	}
	for _, name := range slices.Sorted(maps.Keys(table)) {
		if err := setOption(options, setting{key: s.key, name: name, value: table[name]}); err != nil {
			return err
		}
	}
	return checkOptions(s.key, defaults, *options)
}

// OptionKeys returns what is known of the options of a layer or of a loss that stand at a
// key, of which the defaults are given; none without.
func OptionKeys(at string, defaults any) []key.Key {
	if defaults == nil {
		return nil
	}
	return key.Of(reflect.TypeOf(defaults), at+".")
}

// checkOptions returns an error for options that the defaults do not have or that are out
// of range, which names the key at which they stand.
func checkOptions(at string, defaults any, given map[string]any) error {
	options, err := nn.ReadOptions(defaults, given)
	if err != nil || options == nil {
		if err != nil {
			return &key.Error{Key: at, Problem: ": " + err.Error()}
		}
		return nil
	}
	for _, k := range OptionKeys(at, options) {
		if err := k.Check(reflect.ValueOf(options)); err != nil {
			return err
		}
	}
	return nil
}
