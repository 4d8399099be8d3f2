package repro

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/fedfast/fedfast/fl"
	"github.com/fedfast/fedfast/fl/hyper"
	"github.com/fedfast/fedfast/fl/study/config"
	"github.com/fedfast/fedfast/internal/list"
	"github.com/fedfast/fedfast/internal/tuner/fedex"
	"github.com/fedfast/fedfast/tuners"
)

// Training is a study or a plain run with a paper's settings.
type Training struct {
	// Key names it, also as the name of its study.
	Key string
	// Mode is study.ModeTune or study.ModeRun.
	Mode string
	// Preset and Sets make its configuration.
	Preset string
	Sets   []string
	// Tuner and ClientTuner override the preset's; "none" is no client tuner.
	Tuner, ClientTuner string
	// Seeds is how many the paper averaged over.
	Seeds int
	// Needs is the set of data, one of the names in Sets.
	Needs string
	// Shares is the key of the training whose rounds it takes, since it differs
	// from that in the target alone.
	Shares string
	// OneTable says that its seeds after the first look up the table that the
	// first one made.
	OneTable bool
	// Values is a study whose returned values it trains with, which is run first; nil for none.
	Values *Training
	// After is added to a seed for that of its study, for splits that another one has not seen.
	After int
	// Board says that it is of the tuned board: its studies train the file's own values, too,
	// and its metrics are short.
	Board bool
	// AsPaper are the settings where the paper's text differs from its authors'
	// code, which is otherwise followed; Switches says in words what the code does
	// instead.
	AsPaper  []string
	Switches []string
	// Deviates says in words what is not as in the paper whatever the scale.
	Deviates []string
	// Shrink scales a configuration by a factor below 1 and says in words what it
	// did.
	Shrink func(c *config.Config, scale float64) []string
}

// Options say how trainings are run; the zero value of each field is the paper's
// own.
type Options struct {
	// Data is a directory with the data, or with a folder of it; see Locate.
	Data string
	// Scale, in (0, 1], shrinks rounds, clients or samples.
	Scale float64
	// Seeds is with how many each training runs; 0 is as many as the paper had.
	Seeds int
	// Only are the seeds that are run, of 1 to Seeds; without any all are.
	Only []int
	// Sets are further settings, "key=value". Each is a deviation.
	Sets []string
	// AsPaper follows the paper's text where its authors' code differs.
	AsPaper bool
}

// seeds is how many a training runs with: a study of the board has one.
func (o Options) seeds(t *Training) int {
	if o.Seeds == 0 || t.Board && t.Mode == config.ModeTune {
		return t.Seeds
	}
	return o.Seeds
}

// variant writes the options that change what is trained as flags; empty is the
// paper's own.
func (o Options) variant() string {
	var flags []string
	if o.Scale != 0 && o.Scale != 1 {
		flags = append(flags, fmt.Sprintf("--scale %v", o.Scale))
	}
	if o.AsPaper {
		flags = append(flags, "--as-paper")
	}
	flags = append(flags, list.Of(o.Sets, func(s string) string { return "--set " + s })...)
	return strings.Join(flags, " ")
}

// Config returns the configuration with a seed, from 1 on, and what in it is not as in the paper. Its error says what
// is wrong with the
// options, or that the data are not at hand.
func (t *Training) Config(o Options, seed int) (*config.Config, []string, error) {
	path, err := Locate(t.Needs, o.Data)
	if err != nil {
		return nil, nil, err
	}
	return t.config(o, seed, path)
}

// config is Config with data at a path.
func (t *Training) config(o Options, seed int, path string) (*config.Config, []string, error) {
	sets := override([]string{"select=" + config.SelectPaper}, t.Sets)
	if o.AsPaper {
		sets = override(sets, t.AsPaper)
	}
	if path != "" {
		sets = append(sets, "data.path="+quote(path))
	}
	for _, s := range o.Sets { // its own defaults hold, not those of the row's method
		if strings.HasPrefix(s, "method=") {
			sets = override(sets, []string{s})
		}
	}
	from := uint64(seed + t.After)
	src := config.Source{Preset: t.Preset, Sets: sets, Tuner: t.Tuner, ClientTuner: t.ClientTuner, Seed: &from}
	c, err := config.Load(src)
	if err != nil {
		return nil, nil, fmt.Errorf("%s: %w", t.Key, err)
	}
	c.Eval.DropAuto()
	c.Tuner.Reference = t.Board                                       // no number of a paper is of it
	if t.Tuner == "" && c.Tuner.Name == config.Default().Tuner.Name { // as before it was the default
		c.Tuner.Name = "sha"
	}
	deviations := slices.Clone(t.Deviates)
	if !o.AsPaper {
		deviations = append(deviations, t.Switches...)
	}
	if o.Scale != 0 && o.Scale != 1 {
		deviations = append(deviations, t.Shrink(c, o.Scale)...)
	}
	if len(o.Sets) > 0 {
		text, err := config.Encode(c)
		if err != nil {
			return nil, nil, err
		}
		if c, err = config.Load(config.Source{Text: string(text), Sets: o.Sets}); err != nil {
			return nil, nil, err
		}
		deviations = append(deviations, list.Of(o.Sets, func(s string) string { return "set by hand: " + s })...)
	}
	c.Name = t.Key
	return c, deviations, c.Check()
}

// override adds assignments in place of those of the same keys.
func override(sets, more []string) []string {
	keyOf := func(set string) string {
		key, _, _ := strings.Cut(set, "=")
		return key
	}
	sets = slices.DeleteFunc(sets, func(set string) bool {
		return slices.ContainsFunc(more, func(m string) bool { return keyOf(m) == keyOf(set) })
	})
	return append(sets, more...)
}

// quote writes a string as TOML does.
func quote(s string) string { return fmt.Sprintf("%q", s) }

// digest names the settings of a configuration, but for its seed, where its data
// lies and which table it was given.
func digest(c *config.Config) (string, error) {
	settings, err := config.Settings(c)
	if err != nil {
		return "", err
	}
	for _, key := range []string{"seed", "data.path", "tuner.options." + tableOption} {
		delete(settings, key)
	}
	// What was recorded before there was the key was chosen as the paper does.
	if delete(settings, "select"); c.Select != config.SelectPaper {
		settings["select"] = c.Select
	}
	if c.Init == "" { // as before there was the key
		delete(settings, "init")
	}
	switch c.Eval.Every { // none was the default when metrics were recorded
	case 0:
		delete(settings, "eval.every")
	case -1:
		settings["eval.every"] = "-1"
	}
	if c.Eval.EveryTarget == tuners.TargetGlobal { // the default then
		delete(settings, "eval.every_target")
	}
	// What was recorded before FedAvg had the key, and when true was no default.
	delete(settings, "server.weighted")
	if method, err := fl.MethodByName(c.Method); err != nil {
		return "", err
	} else if fedavg := c.Method == "fedavg"; fedavg != c.Server.Weighted &&
		slices.ContainsFunc(method.Uses, func(u hyper.Use) bool { return u.Key == "server.weighted" }) {
		settings["server.weighted"] = strconv.FormatBool(c.Server.Weighted)
	}
	// What was recorded before there was the option is the same where no client diverged.
	if c.ClientTuner.Options[droppedOption] == fedex.Worst {
		delete(settings, "client_tuner.options."+droppedOption)
	}
	// The defaults when metrics were recorded.
	switch c.Tuner.Name {
	case "sha":
		delete(settings, "tuner.name")
	case config.Default().Tuner.Name:
		settings["tuner.name"] = c.Tuner.Name
	}
	if f := c.Finalists; c.Select == config.SelectPaper || f.Survivors == 4 && f.Snapshots == 4 {
		delete(settings, "finalists.survivors")
		delete(settings, "finalists.snapshots")
	}
	sum := sha256.New()
	for _, key := range slices.Sorted(maps.Keys(settings)) {
		fmt.Fprintf(sum, "%s = %s\n", key, settings[key])
	}
	return hex.EncodeToString(sum.Sum(nil)[:4]), nil
}

// droppedOption is the option of FedEx that says how a client counts that diverged.
const droppedOption = "dropped"

// tableOption is the option of fedtune-hrt that hands it a table.
const tableOption = "table"

// shrunk scales an integer and returns at least least.
func shrunk(n int, scale float64, least int) int {
	return max(least, int(math.Round(float64(float64(n)*scale))))
}

// LargerScale returns the next larger factor of two digits, at most 1: where one is
// too small, the next that may work.
func LargerScale(x float64) float64 {
	step := math.Pow(10, math.Floor(math.Log10(x))-1)
	return math.Min(1, float64((math.Floor(x/step+1e-9)+1)*step))
}

// larger says which scale works where that of the options is too small for a
// training's tuner; it is empty when none does.
func larger(ctx context.Context, t *Training, o Options, seed int) string {
	for o.Scale != 0 && o.Scale < 1 {
		o.Scale = LargerScale(o.Scale)
		c, _, err := t.Config(o, seed)
		if err != nil {
			return ""
		}
		if payable(ctx, c) == nil {
			return fmt.Sprintf("; --scale %.6g works", o.Scale)
		}
	}
	return ""
}
