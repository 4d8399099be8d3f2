package config

import (
	"embed"
	"fmt"
	"io/fs"
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
	names := list.Of(entries, func(e fs.DirEntry) string { return strings.TrimSuffix(e.Name(), ".toml") })
	var all []Preset
	for _, name := range append(names, list.Of(tunedMethods(), func(m string) string { return tunedPresets + m })...) {
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
	if method, ok := strings.CutPrefix(name, tunedPresets); ok {
		if text, err := tunedPreset(method); err != nil || text != "" {
			return text, err
		}
	}
	text, err := presetFiles.ReadFile("presets/" + name + ".toml")
	if err == nil {
		return string(text), nil
	}
	known := list.Of(Presets(), func(p Preset) string { return p.Name })
	return "", fmt.Errorf("unknown preset %q%s; available: %s", name, key.DidYouMean(name, key.Names(known...)), strings.Join(known, ", "))
}
