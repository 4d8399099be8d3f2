package config

import (
	"fmt"
	"slices"
	"strings"

	"github.com/fedfast/fedfast/internal/key"
	"github.com/fedfast/fedfast/nn/models"
)

// FromFile says whether an init names a file of weights to start from, instead of
// a way to draw them.
func FromFile(init string) bool { return strings.HasSuffix(init, ".safetensors") }

// checkInit returns an error for an init that names neither.
func (c *Config) checkInit() error {
	if c.Init == "" || FromFile(c.Init) || slices.Contains(models.Inits(), c.Init) {
		return nil
	}
	return &key.Error{Key: "init", Problem: fmt.Sprintf(" = %q: must be one of %s, or the name of a .safetensors file", clip(c.Init), strings.Join(models.Inits(), ", "))}
}

// drawnBy returns the way of drawing weights that init names, empty for a file.
func (c *Config) drawnBy() string {
	if FromFile(c.Init) {
		return ""
	}
	return c.Init
}
