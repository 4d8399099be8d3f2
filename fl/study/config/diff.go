package config

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/BurntSushi/toml"

	"github.com/fedfast/fedfast/internal/sys/oneline"
)

// DiffError is returned if a directory contains a study with another configuration.
type DiffError struct {
	// Dir is the directory.
	Dir string
	// Diff has a line for each key that differs, with the recorded and the given value.
	Diff []string
	// Instead is what to do with a study that has finished, empty for one that can go on.
	Instead string
}

// Error implements the error interface; the keys that differ are in Diff.
func (e *DiffError) Error() string {
	return fmt.Sprintf("%s contains a study with another configuration (%s different); use another directory, or %s",
		e.Dir, oneline.Count(len(e.Diff), "key"), cmp.Or(e.Instead, fmt.Sprintf("resume it with `fedfast study resume %s`", oneline.Path(e.Dir))))
}

// movable are the keys that do not change results: the name, the paths of files, whose fingerprints
// a study records, the memory limit, that of wall time, and what is recorded beside.
var movable = []string{
	"name", "data.path", "init", "fleet.devices", "fleet.availability", "data.state_memory", "digests",
	"budget.wall_seconds",
}

// Grows reports whether a configuration asks for more rounds than a recorded one of a mode, and
// differs from it in nothing else that could not change; a run may say where it is measured, too.
func (c *Config) Grows(recorded, mode string) bool {
	was, err := Load(Source{Text: recorded})
	if err != nil {
		return false
	}
	grown := *was
	grown.stay(c)
	more := c.Budget.Rounds > was.Budget.Rounds
	if mode == ModeRun {
		more = c.Rounds > was.Rounds
		grown.Rounds, grown.Eval.Every, grown.Eval.Clients = c.Rounds, c.Eval.Every, c.Eval.Clients
	} else {
		grown.Budget.Rounds = c.Budget.Rounds
	}
	diff, err := differences(&grown, c)
	return more && err == nil && len(diff) == 0
}

// Move changes keys of a recorded configuration by assignments, like the Sets of a Source. Only
// keys that do not change results are allowed, and of a study of a mode those that Grows allows.
func (c *Config) Move(sets []string, mode string) error {
	text, err := Encode(c)
	if err != nil {
		return err
	}
	moved, err := Load(Source{Text: string(text), Sets: sets})
	if err != nil {
		return err
	}
	if !slices.ContainsFunc(sets, func(set string) bool { return strings.HasPrefix(strings.TrimSpace(set), "budget.trial_") }) {
		b := &moved.Budget
		b.TrialRounds, b.TrialSeconds, b.TrialUpdates = c.Budget.TrialRounds, c.Budget.TrialSeconds, c.Budget.TrialUpdates
	}
	if mode != "" && moved.Grows(string(text), mode) {
		*c = *moved
		return nil
	}
	same := *moved
	same.stay(c)
	if diff, err := differences(c, &same); err != nil {
		return err
	} else if len(diff) > 0 {
		return fmt.Errorf("--set: only %s can be changed after a study has started%s: %s; another study can begin with its trials (tuner.from) or its model (init)",
			strings.Join(movable[:len(movable)-1], ", ")+" and "+movable[len(movable)-1], more[mode], diff[0])
	}
	*c = *moved
	return nil
}

// more says in which key a study of a mode may grow.
var more = map[string]string{
	ModeRun:  ", and rounds be raised when it has finished",
	ModeTune: ", and budget.rounds be raised when it has finished",
}

// Since returns the configuration as a study file, nil if a recorded one says the same.
func (c *Config) Since(recorded string) ([]byte, error) {
	r, err := Load(Source{Text: recorded})
	if err != nil {
		return nil, err
	}
	if diff, err := differences(r, c); err != nil || len(diff) == 0 {
		return nil, err
	}
	return Encode(c)
}

// stay copies the movable keys of another configuration, that of a file where both name one. A
// preset's model and cohort in the other one may be what was fitted to the data.
func (c *Config) stay(other *Config) {
	theirs := other.files()
	for key, path := range c.files() {
		if to := theirs[key]; to != nil && slices.Contains(movable, key) {
			*path = *to
		}
	}
	if c.Model.standsFor(&other.Model) {
		c.Model = other.Model
	}
	if other.cohortOf != "" {
		other.Cohort = min(other.Cohort, c.Cohort)
	}
	c.Name, c.Digests = other.Name, other.Digests
	c.Data.Path, c.Data.StateMemory, c.Budget.WallSeconds = other.Data.Path, other.Data.StateMemory, other.Budget.WallSeconds
}

// Replays returns an error for the first key in which a configuration differs from that of
// recorded trainings and which decides how clients train.
func (c *Config) Replays(recorded *Config) error {
	same := *c
	same.Name, same.Seed, same.Objective, same.Target = recorded.Name, recorded.Seed, recorded.Objective, recorded.Target
	same.Objectives, same.Constraints = recorded.Objectives, recorded.Constraints
	same.Select, same.Finalists, same.Score, same.Budget = recorded.Select, recorded.Finalists, recorded.Score, recorded.Budget
	same.Tuner, same.ClientTuner, same.Digests = recorded.Tuner, recorded.ClientTuner, recorded.Digests
	diff, err := differences(recorded, &same)
	if err != nil {
		return err
	}
	if len(diff) > 0 {
		return fmt.Errorf("%s: the table was trained otherwise; only objective, objectives, constraints, target, select, finalists.*, score.*, budget.* and tuner.* can change", diff[0])
	}
	return nil
}

// Match returns a *DiffError with the study's directory if a configuration differs from
// the encoded one of a record. Keys that are missing in the record have their defaults; the
// cohort of a preset becomes that of the record if this is smaller.
func Match(dir, record string, c *Config) error {
	recorded, err := Load(Source{Text: record})
	if err != nil {
		return err
	}
	recorded.stay(c)
	diff, err := differences(recorded, c)
	if err == nil && len(diff) > 0 {
		err = &DiffError{Dir: dir, Diff: diff}
	}
	return err
}

// Settings returns the keys of a configuration whose values differ from Default, with
// their values in TOML. It does not change when a later version adds keys.
func Settings(c *Config) (map[string]string, error) {
	plain := Default()
	defaults, err := AllSettings(&plain)
	if err != nil {
		return nil, err
	}
	settings, err := AllSettings(c)
	if err != nil {
		return nil, err
	}
	maps.DeleteFunc(settings, func(key, value string) bool {
		standard, ok := defaults[key]
		return ok && standard == value || earlier[key] == value
	})
	return settings, nil
}

// earlier are the defaults of keys before they depended on the dataset. If they are set
// explicitly they do not count as settings, as before.
var earlier = map[string]string{"data.split": "80/10/10", "data.iid": "false"}

// differences lists the keys in which two configurations differ.
func differences(recorded, given *Config) ([]string, error) {
	a, aErr := Lines(recorded)
	b, bErr := Lines(given)
	keys := maps.Clone(a)
	maps.Copy(keys, b)
	var diff []string
	for _, key := range slices.Sorted(maps.Keys(keys)) {
		if was, is := clip(a[key]), clip(b[key]); a[key] != b[key] {
			diff = append(diff, fmt.Sprintf("%s: recorded %s, now %s", key, cmp.Or(was, "not set"), cmp.Or(is, "not set")))
		}
	}
	return diff, errors.Join(aErr, bErr)
}

// Lines returns the dotted keys of a configuration with their values as Encode writes them. The
// keys of a layer contain its number, counted from 1.
func Lines(c *Config) (map[string]string, error) {
	text, err := Encode(c)
	all, layers, numbers, prefix := map[string]string{}, map[string]string{}, map[string]int{}, ""
	for line := range strings.Lines(string(text)) {
		line = strings.TrimSpace(line)
		if at, ok := strings.CutPrefix(line, "[["); ok {
			at = strings.TrimSuffix(at, "]]")
			end := strings.LastIndexByte(at, '.')
			list := cmp.Or(layers[at[:end]], at[:end]) + at[end:]
			numbers[list]++
			layers[at] = fmt.Sprintf("%s[%d]", list, numbers[list])
			prefix = layers[at] + "."
		} else if at, ok := strings.CutPrefix(line, "["); ok {
			prefix = strings.TrimSuffix(at, "]") + "."
		} else if name, value, ok := strings.Cut(line, " = "); ok {
			all[prefix+strings.Trim(name, `"`)] = value
		}
	}
	return all, err
}

// AllSettings returns all dotted keys of a configuration with their values as they are printed.
func AllSettings(c *Config) (map[string]string, error) {
	text, err := Encode(c)
	if err != nil {
		return nil, err
	}
	var tree map[string]any
	if _, err := toml.Decode(string(text), &tree); err != nil {
		return nil, err
	}
	flat := map[string]string{}
	var walk func(key string, v any)
	walk = func(key string, v any) {
		table, isTable := v.(map[string]any)
		if !isTable {
			flat[key] = fmt.Sprint(v)
		}
		for name, inner := range table {
			walk(strings.TrimPrefix(key+"."+name, "."), inner)
		}
	}
	walk("", tree)
	return flat, nil
}
