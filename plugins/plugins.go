// Package plugins lists the built-in tuners. Each is a plain Go package, served by the fedfast binary to itself as a subprocess over
// the same protocol as anyone's.
package plugins

import (
	"github.com/fedfast/fedfast/plugins/asha"
	"github.com/fedfast/fedfast/plugins/bo"
	"github.com/fedfast/fedfast/plugins/fathom"
	"github.com/fedfast/fedfast/plugins/fedex"
	"github.com/fedfast/fedfast/plugins/fedtune"
	"github.com/fedfast/fedfast/plugins/grid"
	"github.com/fedfast/fedfast/plugins/hyperband"
	"github.com/fedfast/fedfast/plugins/pbt"
	"github.com/fedfast/fedfast/plugins/random"
	"github.com/fedfast/fedfast/plugins/sha"
	"github.com/fedfast/fedfast/tuners"
)

// Builtin returns the built-in tuners by name.
func Builtin() map[string]tuners.Tuner {
	return map[string]tuners.Tuner{
		"asha":        asha.Tuner{},
		"bo":          bo.Tuner{},
		"fathom":      fathom.Tuner{},
		"fedex":       fedex.Tuner{},
		"fedtune-hrt": fedtune.Tuner{},
		"grid":        grid.Tuner{},
		"hyperband":   hyperband.Tuner{},
		"pbt":         pbt.Tuner{},
		"random":      random.Tuner{},
		"sha":         sha.Tuner{},
	}
}
