package config

import (
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/fedfast/fedfast/fl/fleet"
	"github.com/fedfast/fedfast/internal/key"
)

// checkTime returns an error for a key of [time] that its mode, or its weight of staleness,
// does not use.
func (c *Config) checkTime() error {
	if !slices.Contains([]string{fleet.Sync, fleet.Buffered, fleet.Async}, c.Time.Mode) {
		return nil // checkKeys says so
	}
	given, unset := reflect.ValueOf(c.Time), reflect.ValueOf(fleet.DefaultTime())
	for _, k := range key.Of(given.Type(), "time.") {
		if given.FieldByIndex(k.Index).Interface() == unset.FieldByIndex(k.Index).Interface() {
			continue
		}
		if !k.UsedWith(c.Time.Mode) {
			return &key.Error{Key: k.Name, Problem: fmt.Sprintf(": not used with time.mode = %q, but with %s; leave it out", c.Time.Mode, strings.Join(k.With, " and "))}
		}
		if shape := shapeOf(k.Name); shape != "" && shape != c.Time.Staleness {
			return &key.Error{Key: k.Name, Problem: fmt.Sprintf(": not used with time.staleness = %q, but with %q; leave it out", c.Time.Staleness, shape)}
		}
	}
	return nil
}

// shapeOf returns the value of time.staleness that a key is for, empty for all.
func shapeOf(name string) string {
	switch name {
	case "time.exponent":
		return fleet.Polynomial
	case "time.hinge_slope", "time.hinge_after":
		return fleet.Hinge
	}
	return ""
}
