package config

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"syscall"

	"github.com/fedfast/fedfast/fl"
	"github.com/fedfast/fedfast/internal/key"
	"github.com/fedfast/fedfast/internal/sets/own"
	"github.com/fedfast/fedfast/internal/sys/oneline"
)

// Source lists the layers of a configuration. Each layer overrides the previous ones: the
// defaults, the preset, the file, Sets, and the remaining fields.
type Source struct {
	// Preset is one of Presets, or empty.
	Preset string
	// File is the path of a study file, or empty.
	File string
	// Text is the content of a recorded study file, or empty.
	Text string
	// Sets are key=value assignments. A value is a TOML literal; anything else that
	// does not begin like a TOML string, list or table is a string.
	Sets []string
	// Seed overrides the key seed.
	Seed *uint64
	// Tuner and ClientTuner override tuner.name and client_tuner.name.
	Tuner, ClientTuner string
	// Mode is the command that the configuration is for, such as ModeTune, or empty.
	Mode string
}

// Load resolves a configuration. An error is one line with the file and line, or the
// flag, the key, and the expected value.
//
// The defaults of client.* and server.* come from the method. Three rules go beyond
// overriding. A layer that sets budget.rounds but not budget.trial_rounds scales the
// latter in proportion, and so with seconds and updates. The options of a tuner that a later layer replaces are
// dropped.
// client_tuner.name = "none" removes the client tuner, and the value "none" a dimension
// of the space. For ModeTune without a client tuner, trials take the file's rounds where it has no
// budget, a study five times as many, and an empty space is "auto".
func Load(src Source) (*Config, error) {
	c, _, err := LoadPlaced(src)
	return c, err
}

// LoadPlaced is like Load and also returns where each key was set.
func LoadPlaced(src Source) (*Config, Places, error) {
	c, places, err := load(src, Default())
	if err != nil {
		return nil, Places{}, err
	}
	m, err := fl.MethodByName(c.Method)
	if err != nil {
		return c, places, nil // reported by Check
	}
	defaults := Default()
	defaults.setHyper(m.Defaults())
	return load(src, defaults)
}

// load resolves a configuration from defaults.
func load(src Source, c Config) (*Config, Places, error) {
	r := &resolver{config: &c}
	if err := r.layers(src); err != nil {
		return nil, Places{}, err
	}
	if src.Mode == ModeTune && (c.ClientTuner.Name == "" || c.ClientTuner.Name == none) {
		r.complete()
	}
	if c.Space[auto] != nil {
		if err := c.addAuto(); err != nil {
			return nil, Places{}, err
		}
	}
	r.finish()
	c.Name = cmp.Or(c.Name, defaultName(src))
	return &c, r.places, nil
}

// layers applies the layers of a source in their order.
func (r *resolver) layers(src Source) error {
	c := r.config
	if src.Preset != "" {
		text, err := PresetText(src.Preset)
		if err != nil {
			return err
		}
		if err := r.file("preset "+src.Preset, text, byPreset); err != nil {
			return err
		}
		r.named, c.Model.preset, c.cohortOf = c.Data.Name, src.Preset, src.Preset
	}
	if src.File != "" {
		text, err := readStudyFile(src.File)
		if err != nil {
			return fmt.Errorf("study file: %w", err)
		}
		if err := r.file(src.File, text, byFile); err != nil {
			return err
		}
		r.findFiles(filepath.Dir(src.File))
	}
	if src.Text != "" {
		if err := r.file("the recorded study file", src.Text, byPreset); err != nil {
			return err
		}
	}
	r.places.file = *c
	if err := r.sets(src.Sets); err != nil {
		return err
	}
	if src.Seed != nil {
		c.Seed = *src.Seed
	}
	if src.Tuner != "" {
		c.Tuner.Name = src.Tuner
	}
	if src.ClientTuner != "" {
		c.ClientTuner.Name = src.ClientTuner
	}
	return nil
}

// readStudyFile reads a study file up to its maximum size. The file may be a pipe of a
// shell's process substitution, but a pipe without a writer is not waited for.
func readStudyFile(path string) (string, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return "", err
	}
	defer func() { _ = f.Close() }() // only read
	text, err := io.ReadAll(io.LimitReader(f, maxDocument+1))
	if info, e := f.Stat(); err == nil && len(text) == 0 && e == nil && !info.Mode().IsRegular() {
		err = fmt.Errorf("%s: not a regular file, and no data from it", path)
	}
	return string(text), err
}

// defaultName names a study after its file or preset.
func defaultName(src Source) string {
	switch {
	case src.File != "":
		return strings.TrimSuffix(filepath.Base(src.File), filepath.Ext(src.File))
	case src.Preset != "":
		return src.Preset
	}
	return "study"
}

// resolver applies layers to a configuration.
type resolver struct {
	config *Config
	places Places
	named  string // data.name of the preset
	// The options of a layer are kept only if the tuner for which they were written is
	// the final one. Assignments are always kept.
	tuner, clientTuner layeredOptions
}

// layeredOptions are a tuner's options, each with the name of the tuner for which it was
// written; an empty name means any.
type layeredOptions struct {
	values map[string]any
	meant  map[string]string
}

// add adds the options that a layer sets for a tuner.
func (o *layeredOptions) add(options map[string]any, name string) {
	if o.values == nil {
		o.values, o.meant = map[string]any{}, map[string]string{}
	}
	for key, value := range options {
		o.values[key], o.meant[key] = value, name
	}
}

// of returns the options for the named tuner, nil if there are none.
func (o *layeredOptions) of(name string) map[string]any {
	kept := maps.Clone(o.values)
	maps.DeleteFunc(kept, func(key string, _ any) bool { return o.meant[key] != "" && o.meant[key] != name })
	if len(kept) == 0 {
		return nil
	}
	return kept
}

// file applies a study file's text.
func (r *resolver) file(name, text string, by layer) error {
	d, err := parseDocument(name, text)
	if err != nil {
		return err
	}
	settings, problem := d.settings()
	if problem != nil {
		return problem
	}
	if repeats(settings) {
		by = byPreset
	}
	before := r.config.Budget
	for _, s := range settings {
		if err := r.config.set(s); err != nil {
			return fmt.Errorf("%s: %w", d.at(s.path), err)
		}
		r.places.set(s.full(), by, func() string { return d.at(s.path) })
	}
	r.close(settings, before, r.config.Tuner.Name, r.config.ClientTuner.Name)
	return nil
}

// repeats reports whether a file sets every key, as the config.toml of a study does: what it says
// of keys without effect is not what somebody wanted.
func repeats(settings []setting) bool {
	set := map[string]bool{}
	for _, s := range settings {
		set[s.key] = true
	}
	return !slices.ContainsFunc(keys, func(k key.Key) bool {
		return !set[k.Name] && k.Name != "model" && schema[k.Name].Kind() != reflect.Pointer && !slices.Contains(openKeys, k.Name)
	})
}

// findFiles takes relative names of files from the folder of the study file where the working
// folder has none, and notes it, as it notes where both have one.
func (r *resolver) findFiles(folder string) {
	files := r.config.files()
	for _, key := range slices.Sorted(maps.Keys(files)) {
		name := *files[key]
		beside := own.Join(folder, name)
		switch {
		case filepath.IsAbs(name) || filepath.Clean(folder) == "." || !own.IsThere(beside):
		case !own.IsThere(name):
			*files[key] = beside
			r.places.note(key, fmt.Sprintf("%s = %q: %s, in the folder of the study file, since the working folder has none", key, name, beside))
		default:
			r.places.note(key, fmt.Sprintf("%s = %q: that of the working folder, not %s beside the study file", key, name, beside))
		}
	}
}

// sets applies key=value assignments.
func (r *resolver) sets(assignments []string) error {
	before := r.config.Budget
	var all []setting
	set := map[string]bool{}
	for _, a := range assignments {
		place := "--set " + clip(oneline.Of(a))
		settings, err := parseAssignment(a)
		if err == nil {
			err = r.assign(settings, set, place)
		}
		if err != nil {
			return fmt.Errorf("%s: %w", place, err)
		}
		all = append(all, settings...)
	}
	r.close(all, before, "", "")
	return nil
}

// assign applies the settings of one assignment. Earlier assignments must not have set
// the same keys.
func (r *resolver) assign(settings []setting, set map[string]bool, place string) error {
	for _, s := range settings {
		if set[s.full()] {
			return fmt.Errorf("key %q is set twice; leave one out", s.full())
		}
		set[s.full()] = true
		if err := r.config.set(s); err != nil {
			return err
		}
		r.places.set(s.full(), bySet, func() string { return place })
	}
	return nil
}

// close ends a layer.
func (r *resolver) close(settings []setting, before Budget, tuner, clientTuner string) {
	c := r.config
	r.tuner.add(c.Tuner.Options, tuner)
	r.clientTuner.add(c.ClientTuner.Options, clientTuner)
	c.Tuner.Options, c.ClientTuner.Options = nil, nil
	has := func(key string) bool {
		return slices.ContainsFunc(settings, func(s setting) bool { return s.key == key })
	}
	inProportion := func(all, trial int, now int, part *int) {
		if all > 0 && trial > 0 {
			*part = max(1, int(math.Round(float64(trial)/float64(all)*float64(now))))
		}
	}
	if has("cohort") {
		c.cohortOf = ""
	}
	if has("budget.rounds") && !has("budget.trial_rounds") {
		inProportion(before.Rounds, before.TrialRounds, c.Budget.Rounds, &c.Budget.TrialRounds)
	}
	if has("budget.updates") && !has("budget.trial_updates") {
		inProportion(before.Updates, before.TrialUpdates, c.Budget.Updates, &c.Budget.TrialUpdates)
	}
	if has("budget.seconds") && !has("budget.trial_seconds") {
		inProportion(before.Seconds, before.TrialSeconds, c.Budget.Seconds, &c.Budget.TrialSeconds)
	}
}

// complete adds the budget and the space that a study of many trials needs and a file for a run
// lacks, and notes it.
func (r *resolver) complete() {
	c := r.config
	b := &c.Budget
	all, one := r.places.of["budget.rounds"], r.places.of["budget.trial_rounds"]
	if !b.InRounds() || !all.lacks() || !one.lacks() {
		return // it was written for a study
	}
	total, trial := all.at == nil, one.at == nil
	if total || trial {
		if trial {
			b.TrialRounds = c.Rounds
		}
		if total {
			b.Rounds = trainings * b.TrialRounds
		} else if trial {
			b.TrialRounds = max(1, min(c.Rounds, b.Rounds/trainings))
		}
		r.places.note("budget", fmt.Sprintf("budget.rounds = %d and budget.trial_rounds = %d, by rounds = %d, "+
			"since the file has no [budget]", b.Rounds, b.TrialRounds, c.Rounds))
	}
	if len(c.Space) == 0 && c.AutoSpace() != "" {
		c.Space = map[string]any{auto: none}
		r.places.note("space", fmt.Sprintf("space = %q, since no space was set: see fedfast list methods %s",
			auto, c.Method))
	}
}

// lacks reports whether files do not have a key.
func (p place) lacks() bool { return p.at == nil || p.by == bySet && !p.over }

// trainings is how many trials of full length a study's rounds suffice for where nothing says it.
const trainings = 5

// finish resolves what depends on the last layer and normalizes empty collections.
func (r *resolver) finish() {
	c := r.config
	if c.ClientTuner.Name == none {
		c.ClientTuner.Name = ""
	}
	if c.Data.Name == r.named {
		c.Model.preset = ""
	}
	c.Tuner.Options = r.tuner.of(c.Tuner.Name)
	c.ClientTuner.Options = r.clientTuner.of(c.ClientTuner.Name)
	if c.ClientTuner.Name == "" {
		c.ClientTuner.Options = nil
	}
	maps.DeleteFunc(c.Space, func(_ string, dim any) bool { return dim == none })
	if len(c.Space) == 0 {
		c.Space = nil
	}
	for _, list := range []*[]string{&c.Tuner.Allow, &c.Tuner.From, &c.Eval.Baselines, &c.Objectives, &c.Constraints} {
		if len(*list) == 0 {
			*list = nil
		}
	}
}

// none removes a client tuner or a dimension.
const none = "none"
