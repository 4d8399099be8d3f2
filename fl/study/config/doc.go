// Package config defines the configuration of runs and studies: the keys of a study file
// with their defaults, ranges and descriptions, how presets, files and assignments are
// combined, and an encoding that loads as the same configuration.
package config

import (
	_ "github.com/fedfast/fedfast/data/sets"  // what data.name can be
	_ "github.com/fedfast/fedfast/fl/methods" // what "method" can name
)
