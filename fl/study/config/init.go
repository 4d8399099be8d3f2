package config

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/fedfast/fedfast/internal/key"
	"github.com/fedfast/fedfast/nn/models"
)

// FromFile reports whether an init names a file of weights instead of an initialization.
func FromFile(init string) bool { return strings.HasSuffix(init, ".safetensors") }

// unslashed is how a path of Windows begins whose \ made letters.
var unslashed = regexp.MustCompile(`^([A-Za-z]:|\.|\\).*[\x00-\x1f]`)

// checkInit returns an error for an unknown init, or a file that no name of one can be.
func (c *Config) checkInit() error {
	files := c.files()
	files["init"] = &c.Init
	for _, name := range slices.Sorted(maps.Keys(files)) {
		if path := *files[name]; unslashed.MatchString(path) {
			const way = `has letters made of \; write paths with \ in single quotes, such as 'C:\Users\me\own.npz'`
			return &key.Error{Key: name, Problem: fmt.Sprintf(" = %q %s", path, way)}
		}
	}
	if c.Init == "" || FromFile(c.Init) || slices.Contains(models.Inits(), c.Init) {
		return nil
	}
	return &key.Error{Key: "init", Problem: fmt.Sprintf(" = %q: must be one of %s, or the name of a .safetensors file", clip(c.Init), strings.Join(models.Inits(), ", "))}
}

// drawnBy returns the initialization that init names, empty for a file.
func (c *Config) drawnBy() string {
	if FromFile(c.Init) {
		return ""
	}
	return c.Init
}
