package command

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"strconv"
	"time"

	"github.com/fedfast/fedfast/cmd/fedfast/internal/outfile"
	"github.com/fedfast/fedfast/fl/study"
	"github.com/fedfast/fedfast/fl/study/config"
	"github.com/fedfast/fedfast/fl/study/workdir"
)

// seedCount is the value of the flag --seeds; 0 is a plain study.
type seedCount int

// String writes the flag's value, nothing for none.
func (n *seedCount) String() string {
	if *n == 0 {
		return ""
	}
	return strconv.Itoa(int(*n))
}

// Set reads the flag's value.
func (n *seedCount) Set(text string) error {
	x, err := strconv.Atoi(text)
	if err != nil || x < 1 || x > workdir.MaxSeeds {
		return fmt.Errorf("must be an integer from 1 to %d", workdir.MaxSeeds)
	}
	*n = seedCount(x)
	return nil
}

// Type names the value in the help.
func (n *seedCount) Type() string { return "N" }

// seeded is one configuration that is trained with several seeds, each in a study
// of its own.
type seeded struct {
	asked  // the first study's configuration
	dir    string
	record *workdir.Seeds
	// fresh says that nothing was recorded before.
	fresh bool
	// recorded is the configuration before data were moved, empty when fresh.
	recorded string
}

// openSeeds resolves the configuration of several seeds, or takes that which the
// directory records, and says how many seeds there are now.
func (o *studyOptions) openSeeds(ctx context.Context, a *app, args []string, mode string) (*seeded, error) {
	s := &seeded{}
	var err error
	if o.given(a, args) {
		if s.asked, err = o.configure(ctx, a, args, mode); err != nil {
			return nil, err
		}
	}
	s.dir = o.dir
	if workdir.Holds(s.dir) {
		return nil, usageError{fmt.Errorf("--study %s: contains a study of one seed; choose another directory for --seeds", s.dir)}
	}
	s.record, err = workdir.ReadSeeds(s.dir)
	switch s.fresh = errors.Is(err, fs.ErrNotExist); {
	case s.fresh && s.config == nil:
		return nil, usageError{fmt.Errorf("--study %s: contains no studies to resume; give a study file or a preset to start new ones", s.dir)}
	case s.fresh:
		if err := outfile.Dir(s.dir); err != nil {
			return nil, usageError{fmt.Errorf("--study: %w", err)}
		}
		s.record = &workdir.Seeds{Command: mode, Scaled: s.scaled}
	case err != nil:
		return nil, err
	default:
		stored := &study.Stored{Mode: s.record.Command, Config: s.record.Config}
		if s.config != nil {
			err = stored.Match(s.dir, s.config, mode)
		} else {
			s.scaled = s.record.Scaled
			s.config, err = workdir.Recorded(s.dir, stored, mode)
		}
		if err != nil {
			return nil, usageError{err}
		}
	}
	if err := o.move(s.config); err != nil {
		return nil, err
	}
	if len(o.moves) > 0 { // finished studies do not look
		fed, err := config.OpenData(ctx, s.config)
		if err != nil {
			return nil, err
		}
		if err := fed.Close(); err != nil {
			return nil, err
		}
	}
	text, err := config.Encode(s.config)
	s.recorded, s.record.Config = s.record.Config, string(text)
	return s, errors.Join(err, s.resize(int(o.seeds)))
}

// resize sets how many seeds are asked for, 0 for as many as recorded: more than
// before, or fewer as long as no study that has begun is among those left out.
func (s *seeded) resize(n int) error {
	if n == 0 {
		n = s.record.Seeds
	}
	if s.config.Seed > math.MaxInt64-uint64(n-1) {
		return usageError{fmt.Errorf("--seeds %d: seeds from %d exceed 2^63 - 1; use a smaller --seed", n, s.config.Seed)}
	}
	if begun := s.begun(); begun > n {
		return usageError{fmt.Errorf("--seeds %d: %s already has studies of %d seeds; use %d or more, or another directory", n, s.dir, begun, begun)}
	}
	s.record.Seeds = n
	return nil
}

// begun counts the seeds up to the last one whose study has begun.
func (s *seeded) begun() int {
	for n := s.record.Seeds; n > 0; n-- {
		if workdir.Holds(s.at(n - 1)) {
			return n
		}
	}
	return 0
}

// at is the directory of a seed's study, counted from 0.
func (s *seeded) at(i int) string { return workdir.SeedDir(s.dir, s.config.Seed+uint64(i)) }

// trainSeeds brings the studies of all seeds to their ends, one after the other,
// by finish, and prints them. A study that is finished is not touched.
func (o *studyOptions) trainSeeds(ctx context.Context, a *app, s *seeded, mode string, finish func(studyOptions, *opened) error) (err error) {
	// Where the data are now is recorded once a study was trained on them.
	before := *s.record
	before.Config = cmp.Or(s.recorded, before.Config)
	if s.fresh && o.unnamed {
		if s.dir, err = workdir.Claim(time.Now(), s.config.Name); err != nil {
			return err
		}
	}
	if err := before.Write(s.dir); err != nil {
		return err
	}
	defer func() {
		if err != nil && s.fresh && s.begun() == 0 {
			err = errors.Join(err, workdir.DiscardSeeds(s.dir))
		}
	}()
	for i := range s.record.Seeds {
		if ctx.Err() != nil {
			return interrupted(ctx, ctx.Err(), s.dir)
		}
		c, err := config.Load(config.Source{Text: s.record.Config})
		if err != nil {
			return err
		}
		c.Seed += uint64(i)
		inner := *o
		inner.dir, inner.unnamed, inner.outer = s.at(i), false, s.dir
		one, err := inner.enter(ctx, a, asked{c, s.places, s.scaled, s.loaded}, mode)
		if err != nil {
			return err
		}
		one.label = fmt.Sprintf("seed %d of %d", i+1, s.record.Seeds)
		if err := finish(inner, one); err != nil {
			return err
		}
		if i == 0 && before.Config != s.record.Config {
			if err := s.record.Write(s.dir); err != nil {
				return err
			}
		}
	}
	return a.showSeeds(ctx, s.dir, false)
}
