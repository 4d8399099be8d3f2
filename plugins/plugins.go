// Package plugins is the catalogue of built-in tuners. Each is a plain Go package below
// internal/tuner, served by the fedfast binary to itself as a subprocess over the same
// protocol as anyone's. A program that is fedfast with tuners of its own registers them here.
package plugins

import (
	"context"
	"fmt"
	"maps"
	"sync"

	"github.com/fedfast/fedfast/internal/naming"
	"github.com/fedfast/fedfast/internal/tuner/asha"
	"github.com/fedfast/fedfast/internal/tuner/bo"
	"github.com/fedfast/fedfast/internal/tuner/bohb"
	"github.com/fedfast/fedfast/internal/tuner/dehb"
	"github.com/fedfast/fedfast/internal/tuner/dphype"
	"github.com/fedfast/fedfast/internal/tuner/fathom"
	"github.com/fedfast/fedfast/internal/tuner/fedex"
	"github.com/fedfast/fedfast/internal/tuner/fedhyper"
	"github.com/fedfast/fedfast/internal/tuner/fedoras"
	"github.com/fedfast/fedfast/internal/tuner/fedpop"
	"github.com/fedfast/fedfast/internal/tuner/fedtune"
	"github.com/fedfast/fedfast/internal/tuner/flora"
	"github.com/fedfast/fedfast/internal/tuner/grid"
	"github.com/fedfast/fedfast/internal/tuner/halving"
	"github.com/fedfast/fedfast/internal/tuner/hyperband"
	"github.com/fedfast/fedfast/internal/tuner/nsga2"
	"github.com/fedfast/fedfast/internal/tuner/pbt"
	"github.com/fedfast/fedfast/internal/tuner/perfedrlnas"
	"github.com/fedfast/fedfast/internal/tuner/proxy"
	"github.com/fedfast/fedfast/internal/tuner/random"
	"github.com/fedfast/fedfast/internal/tuner/sha"
	"github.com/fedfast/fedfast/internal/tuner/tpe"
	"github.com/fedfast/fedfast/tuners"
)

// registered are the tuners of this program.
var registered = struct {
	sync.RWMutex
	tuners map[string]tuners.Tuner
}{tuners: map[string]tuners.Tuner{
	"asha":        asha.Tuner,
	"bo":          bo.Tuner,
	"bohb":        bohb.Tuner,
	"dehb":        dehb.Tuner,
	"dphype":      dphype.Tuner,
	"fathom":      fathom.Tuner,
	"fedex":       fedex.Tuner,
	"fedhyper":    fedhyper.Tuner,
	"fedoras":     fedoras.Tuner,
	"fedpop":      fedpop.Tuner,
	"fedtune-hrt": fedtune.Tuner,
	"flora":       flora.Tuner,
	"grid":        grid.Tuner,
	"halving":     halving.Tuner,
	"hyperband":   hyperband.Tuner,
	"nsga2":       nsga2.Tuner,
	"pbt":         pbt.Tuner,
	"perfedrlnas": perfedrlnas.Tuner,
	"proxy":       proxy.Tuner,
	"random":      random.Tuner,
	"sha":         sha.Tuner,
	"tpe":         tpe.Tuner,
}}

// Builtin returns the built-in tuners by name, with those that were registered.
func Builtin() map[string]tuners.Tuner {
	registered.RLock()
	defer registered.RUnlock()
	return maps.Clone(registered.tuners)
}

// Register adds a tuner to those of this program, by the name by which it describes
// itself: `fedfast tuner serve` serves it as it does the built-in ones, and studies and
// lists of the program know it. The error says what is wrong with the description, or that
// the name is taken.
func Register(t tuners.Tuner) error {
	about, err := t.Describe(context.Background())
	if err != nil {
		return fmt.Errorf("plugins: %w", err)
	}
	if err := naming.Check("plugins: tuner", about.Name, about.Doc); err != nil {
		return err
	}
	registered.Lock()
	defer registered.Unlock()
	if registered.tuners[about.Name] != nil {
		return fmt.Errorf("plugins: tuner %q: the name is taken", about.Name)
	}
	registered.tuners[about.Name] = t
	return nil
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
