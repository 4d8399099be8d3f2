package config

import (
	"fmt"
	"slices"
	"strings"

	"github.com/fedfast/fedfast/internal/key"
	"github.com/fedfast/fedfast/nn/models"
)

// FromFile reports whether an init names a file of weights instead of an initialization.
func FromFile(init string) bool { return strings.HasSuffix(init, ".safetensors") }

// checkInit returns an error for an unknown init.
func (c *Config) checkInit() error {
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
