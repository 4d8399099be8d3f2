package report

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/BurntSushi/toml"

	"github.com/fedfast/fedfast/fl/study/config"
)

// mostKeys is how many keys have columns in the table of studies.
const mostKeys = 4

// differing are the keys that do not have one value everywhere.
func differing(settings []map[string]string) []string {
	keys := map[string]bool{}
	for _, s := range settings {
		for key, value := range s {
			for _, other := range settings {
				if x, ok := other[key]; !ok || x != value {
					keys[key] = true
				}
			}
		}
	}
	delete(keys, "name")
	return slices.Sorted(maps.Keys(keys))
}

// fill adds the values of keys that are at their defaults, from the configuration's text.
func fill(settings map[string]string, keys []string, text string) error {
	var tree map[string]any
	if _, err := toml.Decode(text, &tree); err != nil {
		return err
	}
	for _, key := range keys {
		if _, ok := settings[key]; ok {
			continue
		}
		settings[key] = "default"
		if v := leaf(tree, key); v != nil && v != "" {
			settings[key] = fmt.Sprint(v)
		}
	}
	return nil
}

// leaf is the value of a dotted key, whose parts may have dots themselves; nil for none.
func leaf(tree map[string]any, key string) any {
	if v, ok := tree[key]; ok {
		return v
	}
	head, rest, _ := strings.Cut(key, ".")
	if sub, ok := tree[head].(map[string]any); ok {
		return leaf(sub, rest)
	}
	return nil
}

// diff has a row for each key in which groups differ.
func diff(all []*group, settings []map[string]string, keys []string) *Table {
	t := &Table{Title: "Differences of the configurations", Head: []string{"key"}}
	for _, g := range all {
		t.Head = append(t.Head, g.Name)
	}
	for _, key := range keys {
		row := []string{key}
		for _, s := range settings {
			row = append(row, s[key])
		}
		t.Rows = append(t.Rows, row)
	}
	return t
}

// settingsTable has the keys of the study that are not at their defaults, nil for none.
func (s *Study) settingsTable() *Table {
	settings, err := config.Settings(s.Config)
	if err != nil || len(settings) == 0 {
		return nil
	}
	t := &Table{Title: "Keys that differ from the defaults", Head: []string{"key", "value"}}
	for _, key := range slices.Sorted(maps.Keys(settings)) {
		t.Rows = append(t.Rows, []string{key, settings[key]})
	}
	return t
}
