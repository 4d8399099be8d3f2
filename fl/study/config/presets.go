package config

import (
	"embed"
	"fmt"
	"strings"

	"github.com/fedfast/fedfast/internal/key"
	"github.com/fedfast/fedfast/internal/list"
)

//go:embed presets/*.toml
var presetFiles embed.FS

// Preset is a study file that is embedded in the program.
type Preset struct {
	Name string `json:"name"`
	Doc  string `json:"doc"` // one line
}

// Presets returns the presets by name.
func Presets() []Preset {
	entries, err := presetFiles.ReadDir("presets")
	if err != nil {
		panic("study: the embedded presets cannot be listed: " + err.Error())
	}
	var all []Preset
	for _, e := range entries {
		name := strings.TrimSuffix(e.Name(), ".toml")
		text, err := PresetText(name)
		if err != nil {
			panic(err.Error())
		}
		first, _, _ := strings.Cut(text, "\n")
		all = append(all, Preset{Name: name, Doc: strings.TrimSpace(strings.TrimPrefix(first, "#"))})
	}
	return all
}

// PresetText returns the study file of a preset.
func PresetText(name string) (string, error) {
	text, err := presetFiles.ReadFile("presets/" + name + ".toml")
	if err == nil {
		return string(text), nil
	}
	known := list.Of(Presets(), func(p Preset) string { return p.Name })
	return "", fmt.Errorf("unknown preset %q%s; available: %s", name, key.DidYouMean(name, key.Names(known...)), strings.Join(known, ", "))
}
