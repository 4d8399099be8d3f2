package config

import (
	"reflect"
	"slices"

	"github.com/fedfast/fedfast/data"
	"github.com/fedfast/fedfast/fl"
	"github.com/fedfast/fedfast/fl/fleet"
	"github.com/fedfast/fedfast/fl/hyper"
	"github.com/fedfast/fedfast/internal/key"
	"github.com/fedfast/fedfast/nn/models"
)

// KeyInfo is the reference entry of a key of the study file.
type KeyInfo struct {
	// Key is the dotted key. A key that takes any name ends in ".NAME".
	Key  string `json:"key"`
	Type string `json:"type"`
	// Default is the default value in TOML, empty if there is none. A method may have
	// another default.
	Default string `json:"default"`
	// Allowed is a range or a list of strings, empty if the type does not restrict the
	// values.
	Allowed string `json:"allowed"`
	Doc     string `json:"doc"`
	// UsedBy lists the methods, datasets, fleets or command that use the key, empty for all.
	UsedBy []string `json:"used_by"`
	// Tunable is set if a search space may contain the key.
	Tunable bool `json:"tunable"`
	// Also lists other names for the key's last part, which errors recognize.
	Also []string `json:"also"`
}

// Reference returns all keys, in the order of a study file.
func Reference() []KeyInfo {
	defaults := Default()
	var all []KeyInfo
	for _, k := range allKeys() {
		info := KeyInfo{
			Key: k.Name, Type: k.Type(), Allowed: k.Allowed(), Doc: k.Doc, UsedBy: usedBy(k), Also: append([]string{}, k.Also...),
		}
		_, info.Tunable = hyper.FindTunable(k.Name)
		v := reflect.ValueOf(defaults).FieldByIndex(k.Index)
		switch {
		case slices.Contains(openKeys, k.Name):
			info.Key, info.Type = k.Name+".NAME", map[bool]string{true: "dimension", false: "value"}[k.Name == "space"]
		case k.Name == "model":
			info.Type = "string or layers"
		case v.Kind() == reflect.Slice && v.Len() == 0 || v.Kind() == reflect.String && v.Len() == 0:
		case k.Check(reflect.ValueOf(defaults)) != nil: // 0 stands for none
		default:
			info.Default = (&writer{}).literal(v.Interface())
		}
		all = append(all, info)
	}
	return all
}

// usedBy returns the methods, datasets, fleets or the command that use a key, empty for a key
// that all use.
func usedBy(k key.Key) []string {
	users := fl.Users(k.Name)
	if len(users) == len(fl.Methods()) {
		return []string{}
	}
	if choice := choiceOf(k.Name); choice != nil {
		for _, s := range data.Sets() {
			if len(choice(s)) > 0 {
				users = append(users, s.Name)
			}
		}
	}
	users = append(users, k.With...)
	if k.By != "" {
		users = append(users, "fedfast "+k.By)
	}
	return users
}

// choiceOf returns a function that lists a dataset's values of a key that only some data
// sets have, nil for other keys.
func choiceOf(name string) func(data.SetInfo) []string {
	switch name {
	case "data.encoding":
		return func(s data.SetInfo) []string { return s.Encodings }
	case "data.labels":
		return func(s data.SetInfo) []string { return s.Labels }
	}
	return nil
}

// Values returns the values that a key may have, if they can be listed: strings, booleans,
// and names of methods, models and datasets.
func Values(name string) []string {
	switch name {
	case "method":
		return fl.Methods()
	case "model":
		return models.Names()
	case "data.name":
		return dataNames()
	case "fleet.devices":
		return fleet.Kinds
	case "fleet.availability":
		return fleet.Patterns
	}
	for _, k := range allKeys() {
		switch {
		case k.Name != name:
		case k.Truth():
			return []string{"true", "false"}
		default:
			return k.Words
		}
	}
	return nil
}

// LayerKeys returns the keys of a layer, in their order.
func LayerKeys() []key.Key { return slices.Clone(layerKeys) }
