package command

import (
	"cmp"
	"context"
	"fmt"
	"strconv"

	"github.com/fedfast/fedfast/cmd/fedfast/internal/outfile"
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

// openSeeds resolves the configuration of several seeds, or takes that which the
// directory records.
func (o *studyOptions) openSeeds(ctx context.Context, a *app, args []string, mode string) (*workdir.Repeated, asked, error) {
	var want asked
	var err error
	if o.given(a, args) {
		if want, err = o.configure(ctx, a, args, mode); err != nil {
			return nil, want, err
		}
	}
	s, err := workdir.OpenRepeated(o.dir, want.config, mode, int(o.seeds))
	if err != nil {
		return nil, want, wrongStudy(err)
	}
	if s.New() {
		if err := outfile.Dir(o.dir); err != nil {
			return nil, want, usageError{fmt.Errorf("--study: %w", err)}
		}
	}
	if s.Scaled, s.Unnamed = cmp.Or(want.scaled, s.Scaled), o.unnamed; len(o.moves) == 0 {
		return s, want, nil
	}
	if err := o.move(s.Config, mode); err != nil {
		return nil, want, err
	}
	fed, err := config.OpenData(ctx, s.Config) // finished studies do not look
	if err != nil {
		return nil, want, err
	}
	return s, want, fed.Close()
}

// trainSeeds brings the studies of all seeds to their ends, one after the other,
// by finish, and prints them. A study that is finished is not touched.
func (o *studyOptions) trainSeeds(ctx context.Context, a *app, args []string, mode string, finish func(studyOptions, *opened) error) error {
	s, want, err := o.openSeeds(ctx, a, args, mode)
	if err != nil {
		return err
	}
	err = s.Each(ctx, func(i int, path string, c *config.Config) error {
		inner, each := *o, want
		inner.dir, inner.unnamed, inner.outer = path, false, s.Path()
		each.config, each.scaled = c, s.Scaled
		one, err := inner.enter(ctx, a, each, mode)
		if err != nil {
			return err
		}
		one.label = fmt.Sprintf("seed %d of %d", i+1, s.Seeds)
		return finish(inner, one)
	})
	if err != nil {
		return interrupted(ctx, err, s.Path())
	}
	return a.showSeeds(ctx, s.Path(), false)
}
