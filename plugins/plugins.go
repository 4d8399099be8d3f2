// Package plugins lists the built-in tuners. Each is a plain Go package, served by
// the fedfast binary to itself as a subprocess over the same protocol as anyone's.
package plugins

import (
	"github.com/fedfast/fedfast/plugins/asha"
	"github.com/fedfast/fedfast/plugins/bo"
	"github.com/fedfast/fedfast/plugins/fathom"
	"github.com/fedfast/fedfast/plugins/fedex"
	"github.com/fedfast/fedfast/plugins/fedoras"
	"github.com/fedfast/fedfast/plugins/fedtune"
	"github.com/fedfast/fedfast/plugins/grid"
	"github.com/fedfast/fedfast/plugins/hyperband"
	"github.com/fedfast/fedfast/plugins/pbt"
	"github.com/fedfast/fedfast/plugins/perfedrlnas"
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
		"fedoras":     fedoras.Tuner{},
		"fedtune-hrt": fedtune.Tuner{},
		"grid":        grid.Tuner{},
		"hyperband":   hyperband.Tuner{},
		"pbt":         pbt.Tuner{},
		"perfedrlnas": perfedrlnas.Tuner{},
		"random":      random.Tuner{},
		"sha":         sha.Tuner{},
	}
}

// Namesakes says what a name may mean that is not a tuner's since two methods carry
// it, with the one that is there; empty for any other name.
func Namesakes(name string) string {
	if name != "fedtune" {
		return ""
	}
	return "FedTune is ambiguous: the table of hyperparameters by heterogeneity and client size is fedtune-hrt; " +
		"the method that balances participants and local passes by preferred costs (Zhang et al.) is not available"
}
