package command

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/fedfast/fedfast/cmd/fedfast/internal/fetch"
	"github.com/fedfast/fedfast/data"
	"github.com/fedfast/fedfast/fl/study/config"
	"github.com/fedfast/fedfast/fl/study/workdir"
	"github.com/fedfast/fedfast/internal/key"
	"github.com/fedfast/fedfast/internal/store"
	"github.com/fedfast/fedfast/internal/sys/oneline"
)

// cobraArgs matches what cobra says of a wrong number of arguments.
var cobraArgs = regexp.MustCompile(`^(accepts|requires at least|unknown command) `)

// cobraGroup matches what cobra says of two flags that exclude one another.
var cobraGroup = regexp.MustCompile(`^if any flags in the group \[(\S+) (\S+)\]`)

// explainUsage has a command and those below it say what is wrong with their
// arguments and flags, and what would be right.
func explainUsage(c *cobra.Command) {
	c.SetFlagErrorFunc(flagError)
	if fits := c.Args; fits != nil {
		c.Args = func(cmd *cobra.Command, args []string) error {
			if m := cobraGroup.FindStringSubmatch(fmt.Sprint(cmd.ValidateFlagGroups())); m != nil {
				return fmt.Errorf("--%s cannot be used with --%s; leave one out", m[1], m[2])
			}
			err := fits(cmd, args)
			if err == nil || !cobraArgs.MatchString(err.Error()) {
				return err // what a command says itself
			}
			for n, arg := range slices.Backward(args) {
				if fits(cmd, args[:n]) == nil {
					return fmt.Errorf("unexpected argument %q; usage: %s", arg, cmd.UseLine())
				}
			}
			return fmt.Errorf("missing argument; usage: %s", cmd.UseLine())
		}
	}
	for _, below := range c.Commands() {
		explainUsage(below)
	}
}

// valueKinds say what the values of flags are, by their type.
var valueKinds = map[string]string{
	"uint64": "a non-negative integer", "int": "an integer", "float64": "a number", "bool": "true or false", "duration": "a duration such as 30s or 5m",
	"level": "debug, info, warn or error",
}

// flagError explains what pflag says.
func flagError(cmd *cobra.Command, err error) error {
	if invalid, ok := errors.AsType[*pflag.InvalidValueError](err); ok {
		f := invalid.GetFlag()
		kind := f.Value.Type()
		if f.Name == "log" {
			kind = "level"
		}
		want := valueKinds[kind]
		switch {
		case errors.Is(invalid, strconv.ErrRange) && want != "":
			return fmt.Errorf("--%s %s: out of range", f.Name, invalid.GetValue())
		case want != "":
			return fmt.Errorf("--%s %s: must be %s", f.Name, invalid.GetValue(), want)
		}
		return fmt.Errorf("--%s %s: %w", f.Name, cmp.Or(invalid.GetValue(), `""`), invalid.Unwrap())
	}
	if unknown, ok := errors.AsType[*pflag.NotExistError](err); ok {
		var names []string
		cmd.Flags().VisitAll(func(f *pflag.Flag) {
			if !f.Hidden {
				names = append(names, f.Name)
			}
		})
		name := unknown.GetSpecifiedName()
		if cmd.Flags().Lookup("set") != nil && slices.Contains(config.Keys(), name) {
			return fmt.Errorf("%w; %s is a key: use --set %s=VALUE", err, name, name)
		}
		if guess := key.Guess(name, key.Names(names...)); guess != "" {
			return fmt.Errorf("%w (did you mean --%s?)", err, guess)
		}
	}
	return fmt.Errorf("%w; see %s --help", err, cmd.CommandPath())
}

// hint tells what would help against an error, to stand after its line.
func hint(err error) string {
	if e, ok := errors.AsType[*data.NoPathError](err); ok {
		for _, s := range fetch.Sets() {
			if s.Data == e.Set.Name {
				return fmt.Sprintf("; download it with `fedfast data fetch %s`", s.Name)
			}
		}
	}
	if dir, ok := errors.AsType[store.NoStudyError](err); ok {
		return cmp.Or(meantStudy(string(dir)), "; see `fedfast study list`")
	}
	return ""
}

// meantStudy ends an error about a directory without a study with the study beside it
// or below workdir.Home that is likely meant; it is empty when none is.
func meantStudy(dir string) string {
	for _, parent := range []string{filepath.Dir(dir), workdir.Home} {
		var names []string
		entries, _ := os.ReadDir(parent) // of what cannot be read nothing is known
		for _, e := range entries {
			if path := filepath.Join(parent, e.Name()); e.IsDir() && (workdir.Holds(path) || workdir.HoldsSeeds(path)) {
				names = append(names, e.Name())
			}
		}
		if name := key.Guess(filepath.Base(dir), key.Names(names...)); name != "" {
			return fmt.Sprintf(" (did you mean %s?)", filepath.Join(parent, name))
		}
	}
	return ""
}

// noStudyFile says what may be meant by a study file that does not exist.
func noStudyFile(path string) error {
	for _, p := range config.Presets() {
		if p.Name == path {
			return fmt.Errorf("%s: study file not found; for the preset use --preset %s", path, path)
		}
	}
	var names []string
	entries, _ := os.ReadDir(filepath.Dir(path)) // of what cannot be read nothing is known
	for _, e := range entries {
		if filepath.Ext(e.Name()) == ".toml" {
			names = append(names, e.Name())
		}
	}
	return fmt.Errorf("%s: no such file or directory%s", path, key.DidYouMean(filepath.Base(path), key.Names(names...)))
}

// notStudyFile returns an error for a path that is named as a study file and is
// something else, as far as its name and kind tell.
func notStudyFile(path string) error {
	info, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return noStudyFile(path)
	}
	if err != nil {
		return nil //nolint:nilerr // who reads it tells
	}
	if info.IsDir() {
		if workdir.Holds(path) || workdir.HoldsSeeds(path) {
			return fmt.Errorf("%s is a study directory, not a study file; resume it with `fedfast study resume %s`", path, oneline.Path(path))
		}
		return fmt.Errorf("%s is a directory, not a study file", path)
	}
	const want = "; study files are TOML, see `fedfast list keys`"
	switch end := strings.ToLower(filepath.Ext(path)); end {
	case ".py":
		return fmt.Errorf("%s is a Python script, not a study file; convert a PyTorch module with `fedfast model import %s`", path, oneline.Path(path))
	case ".safetensors", ".pt", ".pth":
		return fmt.Errorf("%s contains weights, not a study file; give a study file, and the weights as safetensors with --init", path)
	case ".npz", ".npy", ".csv", ".parquet", ".sqlite", ".gz", ".zip", ".xz":
		return fmt.Errorf("%s contains data, not a study file; use --set data.name=NAME --set data.path=%s, see `fedfast list data`", path, oneline.Path(path))
	case ".json", ".yaml", ".yml":
		return fmt.Errorf("%s is not a study file%s", path, want)
	}
	return nil
}
