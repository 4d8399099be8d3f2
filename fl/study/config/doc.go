// Package config is the configuration of runs and studies: the keys of a study
// file with their defaults, ranges and meaning, how presets, files and assignments
// make one of them, and how it is written down again so that it loads as the same.
package config

import (
	_ "github.com/fedfast/fedfast/data/sets"  // what data.name can be
	_ "github.com/fedfast/fedfast/fl/methods" // what "method" can name
)
