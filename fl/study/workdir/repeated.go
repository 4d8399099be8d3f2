package workdir

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"github.com/fedfast/fedfast/fl/study/config"
	"github.com/fedfast/fedfast/fl/study/result"
	"github.com/fedfast/fedfast/internal/list"
	"github.com/fedfast/fedfast/internal/sys/wholefile"
)

// Repeated is one configuration that is trained with several consecutive seeds, each in a
// study of its own below one directory.
type Repeated struct {
	// Config is the first study's configuration: the given one, or the recorded one.
	Config *config.Config
	// Seeds is how many there are.
	Seeds int
	// Scaled and Unnamed are as in Study.
	Scaled  string
	Unnamed bool

	path, mode string
	recorded   string // the recorded configuration; empty when nothing was
}

// OpenRepeated looks at a directory for n studies of a mode, config.ModeTune or
// config.ModeRun, that differ in their seeds: those of c.Seed, c.Seed+1 and so on, at most
// MaxSeeds. Studies that the directory holds are resumed, without a configuration (nil)
// those that it records, and with n = 0 as many; there may be more than before, or fewer as
// long as none of those left out has begun. A directory that holds something else is an
// *OtherError.
func OpenRepeated(path string, c *config.Config, mode string, n int) (*Repeated, error) {
	if Holds(path) {
		return nil, &OtherError{fmt.Errorf("%s: contains a study of one seed; choose another directory for several", path)}
	}
	r := &Repeated{Config: c, Seeds: n, path: path, mode: mode}
	record, err := ReadSeeds(path)
	switch {
	case errors.Is(err, fs.ErrNotExist) && c == nil:
		return nil, &OtherError{fmt.Errorf("%s: contains no studies to resume; give a study file or a preset to start new ones", path)}
	case errors.Is(err, fs.ErrNotExist):
		return r, r.check()
	case err != nil:
		return nil, err
	}
	stored := &result.Stored{Mode: record.Command, Config: record.Config}
	if c == nil {
		r.Scaled = record.Scaled
		r.Config, err = Recorded(path, stored, mode)
		if err != nil {
			return nil, &OtherError{err}
		}
		text, e := os.ReadFile(filepath.Join(r.at(0), ConfigFile))
		if e == nil { // with the model and the cohort that fit the data
			r.Config, err = config.Load(config.Source{Text: string(text)})
		}
	} else if record.Command != mode || !c.Grows(record.Config, mode) {
		err = stored.Match(path, c, mode)
	}
	if err != nil {
		return nil, &OtherError{err}
	}
	if r.recorded = record.Config; n == 0 {
		r.Seeds = record.Seeds
	}
	if begun := r.begun(record.Seeds); begun > r.Seeds {
		return nil, &OtherError{fmt.Errorf("%s already has studies of %d seeds; train with %d or more, or in another directory", path, begun, begun)}
	}
	return r, r.check()
}

// check returns an error for a number of seeds that there cannot be.
func (r *Repeated) check() error {
	switch {
	case r.Seeds < 1 || r.Seeds > MaxSeeds:
		return &OtherError{fmt.Errorf("number of seeds %d: must be 1 to %d", r.Seeds, MaxSeeds)}
	case r.Config.Seed > math.MaxInt64-uint64(r.Seeds-1):
		return &OtherError{fmt.Errorf("%d seeds starting at %d exceed 2^63 - 1; use a smaller seed", r.Seeds, r.Config.Seed)}
	}
	return nil
}

// begun counts the first n seeds up to the last one whose study has begun.
func (r *Repeated) begun(n int) int {
	for ; n > 0; n-- {
		if Holds(r.at(n - 1)) {
			return n
		}
	}
	return 0
}

// at is the directory of a seed's study, counted from 0.
func (r *Repeated) at(i int) string { return SeedDir(r.path, r.Config.Seed+uint64(i)) }

// New reports whether nothing was recorded before.
func (r *Repeated) New() bool { return r.recorded == "" }

// Path returns the directory of all studies.
func (r *Repeated) Path() string { return r.path }

// Each calls work for one seed after the other, with the number of the seed from 0, the
// directory of its study and its configuration, up to the first error or the end of ctx.
// Before, it records what is trained. A new directory below which no study has begun after
// an error is removed again.
func (r *Repeated) Each(ctx context.Context, work func(i int, path string, c *config.Config) error) (err error) {
	text, err := config.Encode(r.Config)
	if err != nil {
		return err
	}
	record := Seeds{Command: r.mode, Seeds: r.Seeds, Config: string(text), Scaled: r.Scaled}
	if r.New() && r.Unnamed {
		if r.path, err = Claim(time.Now(), r.Config.Name); err != nil {
			return err
		}
	}
	before := record
	if !r.New() { // where the data are now is recorded once a study was trained on them
		before.Config = r.recorded
	}
	if err := before.Write(r.path); err != nil {
		return err
	}
	defer func() {
		if err != nil && r.New() && r.begun(r.Seeds) == 0 {
			err = errors.Join(err, DiscardSeeds(r.path))
		}
	}()
	for i := range r.Seeds {
		if err := ctx.Err(); err != nil {
			return err
		}
		c := *r.Config
		c.Seed += uint64(i)
		if err := work(i, r.at(i), &c); err != nil {
			return err
		}
		if i == 0 && before.Config != record.Config {
			if err := record.Write(r.path); err != nil {
				return err
			}
		}
	}
	return nil
}

// TuneSeeds is Tune with n seeds from that of the configuration on, each in a directory of
// its own below path, see SeedDir. It returns the studies' results in the order of seeds,
// with an error those before it.
func TuneSeeds(ctx context.Context, path string, c *config.Config, n int, o Options) ([]*result.Result, error) {
	return repeat(ctx, path, c, n, o, config.ModeTune, Tune)
}

// RunSeeds is TuneSeeds for trainings without tuning.
func RunSeeds(ctx context.Context, path string, c *config.Config, n int, o Options) ([]*result.RunResult, error) {
	return repeat(ctx, path, c, n, o, config.ModeRun, Run)
}

func repeat[R any](ctx context.Context, path string, c *config.Config, n int, o Options, mode string,
	one func(context.Context, string, *config.Config, Options) (R, error),
) ([]R, error) {
	own := *c
	if err := errors.Join(own.CheckFor(mode), own.Absolute()); err != nil {
		return nil, err
	}
	r, err := OpenRepeated(path, &own, mode, n)
	if err != nil {
		return nil, err
	}
	var results []R
	err = r.Each(ctx, func(_ int, path string, c *config.Config) error {
		result, err := one(ctx, path, c, o)
		if err == nil {
			results = append(results, result)
		}
		return err
	})
	return results, err
}

// SeedsFile tells of a directory that the studies below it differ in their seed
// only.
const SeedsFile = "seeds.json"

// MaxSeeds is how many seeds one directory may hold.
const MaxSeeds = 1000

// Seeds is what SeedsFile holds: all that is needed to begin those studies that
// have not begun.
type Seeds struct {
	// Command is "tune" or "run".
	Command string `json:"command"`
	// Seeds is how many there are, the first one that of Config and each next one
	// larger by one.
	Seeds int `json:"seeds"`
	// Config is the first study's configuration as TOML.
	Config string `json:"config"`
	// Scaled is what --scale changed of it.
	Scaled string `json:"scaled,omitempty"`
}

// HoldsSeeds reports whether a directory holds the studies of several seeds.
func HoldsSeeds(path string) bool { return path != "" && exists(filepath.Join(path, SeedsFile)) }

// SeedDir is where the study of a seed is below the directory of all.
func SeedDir(path string, seed uint64) string {
	return filepath.Join(path, "seed-"+strconv.FormatUint(seed, 10))
}

// ReadSeeds returns what a directory holds of several seeds. The error of one
// that holds none is fs.ErrNotExist.
func ReadSeeds(path string) (*Seeds, error) {
	name := filepath.Join(path, SeedsFile)
	text, err := wholefile.Read(name)
	if err != nil {
		return nil, err
	}
	s := &Seeds{}
	if err := json.Unmarshal(text, s); err != nil {
		return nil, fmt.Errorf("%s: damaged (%w); delete it and repeat the first command", name, err)
	}
	if s.Command == "" || s.Config == "" || s.Seeds < 1 || s.Seeds > MaxSeeds {
		return nil, fmt.Errorf("%s: does not list which of 1 to %d seeds were started; delete it and repeat the first command", name, MaxSeeds)
	}
	return s, nil
}

// Dirs returns the directories of the studies in a directory, whether they have begun or not: of a
// single one, or of each seed.
func Dirs(path string) ([]string, error) {
	if !HoldsSeeds(path) {
		return []string{path}, nil
	}
	record, err := ReadSeeds(path)
	if err != nil {
		return nil, err
	}
	c, err := config.Load(config.Source{Text: record.Config})
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return list.Made(record.Seeds, func(i int) string { return SeedDir(path, c.Seed+uint64(i)) }), nil
}

// Write keeps the record in a directory, which it makes if need be.
func (s *Seeds) Write(path string) error {
	err := wholefile.WriteJSON(filepath.Join(path, SeedsFile), s)
	if err = errors.Join(err, wholefile.Clear(path, SeedsFile)); err != nil {
		return fmt.Errorf("study directory: %w", err)
	}
	return nil
}

// DiscardSeeds removes the record of a directory below which no study has begun,
// and the directory where nothing else is in it.
func DiscardSeeds(path string) error {
	err := os.Remove(filepath.Join(path, SeedsFile))
	if left, e := os.ReadDir(path); e == nil && len(left) == 0 {
		err = errors.Join(err, remove(path))
	}
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}
