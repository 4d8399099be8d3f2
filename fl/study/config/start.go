package config

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/fedfast/fedfast/fl/hyper"
	"github.com/fedfast/fedfast/internal/key"
	"github.com/fedfast/fedfast/nn/models"
	"github.com/fedfast/fedfast/tuners"
)

// The values of Tuner.First.
const (
	StartBuiltin = "builtin"
	StartFile    = "file"
	StartNone    = "none"
)

// builtinStart is the configuration that has the best mean rank of 64 over the six recorded
// tables of bench/results/tables, and is the best of the other five for each.
var builtinStart = tuners.Params{
	"client.lr": tuners.Num(0.05), "client.momentum": tuners.Num(0.55), "client.weight_decay": tuners.Num(5e-4),
	"client.epochs": tuners.Num(3), "client.batch": tuners.Num(8),
	"server.lr": tuners.Num(0.5), "server.momentum": tuners.Num(0),
}

// drawing are the tuners whose params depend on no scores: they take a tuner.start.
var drawing = []string{halving, "asha", "sha", "hyperband", "random"}

// Own returns the configured values in dimensions of a space that are hyperparameters.
func (c *Config) Own(space tuners.Space) tuners.Params {
	own := tuners.Params{}
	for _, d := range space {
		if p, ok := hyper.FindTunable(d.Name); ok {
			own[d.Name] = p.Of(c.Hyper())
		}
	}
	return own
}

// Compares reports whether a study also trains the configured values, see Tuner.Reference.
func (c *Config) Compares() bool { return c.Tuner.Reference && !c.Private() }

// Start returns the values that trial 0 has in dimensions of the study's space, none without
// tuner.start: those of the start, clipped to the space. What is not there is drawn, as are
// client.* of the built-in start where clients train with Adam, and server.* but with
// averages of models, whose tables it comes from.
func (c *Config) Start(space tuners.Space) (tuners.Params, error) {
	from := c.Tuner.First
	refuse := func(why, instead string) error {
		return &key.Error{Key: "tuner.start", Problem: fmt.Sprintf(" = %q: %s; use %s", from, why, instead)}
	}
	switch known := slices.Contains(drawing, c.Tuner.Name); {
	case from == "" && c.Tuner.Name == halving && !space.Conditional():
		from = StartBuiltin
	case from == StartNone || from == "":
		return nil, nil
	case !known:
		return nil, refuse("tuner "+c.Tuner.Name+" learns from the params that it has drawn",
			StartNone+", or tuner.name = "+strings.Join(drawing, ", "))
	case space.Conditional():
		return nil, refuse("the space has dimensions with a condition", StartNone)
	}
	values, start := builtinStart, tuners.Params{}
	if from == StartFile {
		values = c.Own(space)
	}
	for _, d := range space {
		v := values[d.Name]
		switch server := strings.HasPrefix(d.Name, "server."); {
		case from == StartFile:
		case !server && c.MayAdapt(), server && !slices.Contains([]string{"fedavg", "fedavgm", "reptile"}, c.Method):
			continue
		}
		if _, number := v.Float(); number && d.Kind != tuners.Choice && d.Contains(v) != nil {
			v = d.Value(d.Scale(v))
		}
		if d.Contains(v) == nil {
			start[d.Name] = v
		}
	}
	return start, nil
}

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
	return &key.Error{Key: "init", Problem: fmt.Sprintf(" = %q: must be one of %s, or the name of a "+
		".safetensors file, as safetensors.torch.save_file writes it", clip(c.Init), strings.Join(models.Inits(), ", "))}
}

// drawnBy returns the initialization that init names, empty for a file.
func (c *Config) drawnBy() string {
	if FromFile(c.Init) {
		return ""
	}
	return c.Init
}
