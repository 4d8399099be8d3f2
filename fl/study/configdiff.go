package study

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/BurntSushi/toml"
)

// ConfigError says that a directory holds the study of another configuration.
type ConfigError struct {
	// Dir is the directory.
	Dir string
	// Diff has a line for each key that differs.
	Diff []string
}

// Error lists the keys.
func (e *ConfigError) Error() string {
	return fmt.Sprintf("%s holds a study of another configuration (%s); name another directory, or resume it with `fedfast study resume %s`",
		e.Dir, strings.Join(e.Diff, "; "), e.Dir)
}

// match returns an error when a configuration is not the recorded one. Keys that
// the record does not know yet have their defaults in it.
func (r *studyRecord) match(dir string, c *Config, mode string) error {
	if r.Mode != mode {
		return fmt.Errorf("%s holds a study of `fedfast %s`; this is `fedfast %s`", dir, r.Mode, mode)
	}
	given, err := Encode(c)
	if err != nil {
		return err
	}
	recorded, err := Load(Source{Text: r.Config})
	if err != nil {
		return err
	}
	if recorded.Model.standsFor(&c.Model) {
		recorded.Model = c.Model
	}
	stored, err := Encode(recorded)
	if err != nil {
		return err
	}
	if string(stored) != string(given) {
		return &ConfigError{Dir: dir, Diff: diffConfigs(string(stored), string(given))}
	}
	return nil
}

// Settings returns the keys of a configuration that have other values than
// DefaultConfig, with their values as TOML text. It does not change when a later
// version knows more keys.
func Settings(c *Config) (map[string]string, error) {
	plain := DefaultConfig()
	was, err := Encode(&plain)
	if err != nil {
		return nil, err
	}
	is, err := Encode(c)
	if err != nil {
		return nil, err
	}
	defaults, settings := flatConfig(string(was)), flatConfig(string(is))
	maps.DeleteFunc(settings, func(key, value string) bool {
		standard, ok := defaults[key]
		return ok && standard == value || earlier[key] == value
	})
	return settings, nil
}

// earlier are the defaults that keys had before these were left to the set of data.
// Said outright they are no settings, as they were none before.
var earlier = map[string]string{"data.split": "80/10/10", "data.iid": "false"}

// diffConfigs lists the keys in which two encoded configurations differ.
func diffConfigs(stored, given string) []string {
	a, b := flatConfig(stored), flatConfig(given)
	var diff []string
	for key, was := range a {
		if is, ok := b[key]; !ok {
			diff = append(diff, fmt.Sprintf("%s = %s there, not set here", key, was))
		} else if is != was {
			diff = append(diff, fmt.Sprintf("%s = %s there, %s here", key, was, is))
		}
	}
	for key, is := range b {
		if _, ok := a[key]; !ok {
			diff = append(diff, fmt.Sprintf("%s is not set there, %s here", key, is))
		}
	}
	slices.Sort(diff)
	return diff
}

// flatConfig maps the dotted keys of an encoded configuration to their values.
func flatConfig(text string) map[string]string {
	var tree map[string]any
	if _, err := toml.Decode(text, &tree); err != nil {
		return map[string]string{"the whole study file": err.Error()}
	}
	flat := map[string]string{}
	var walk func(prefix string, v any)
	walk = func(prefix string, v any) {
		table, ok := v.(map[string]any)
		if !ok {
			flat[prefix] = fmt.Sprint(v)
			return
		}
		for key, v := range table {
			walk(strings.TrimPrefix(prefix+"."+key, "."), v)
		}
	}
	walk("", tree)
	return flat
}
