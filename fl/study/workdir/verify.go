package workdir

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"github.com/fedfast/fedfast/fl/study"
	"github.com/fedfast/fedfast/fl/study/config"
	"github.com/fedfast/fedfast/fl/study/result"
	"github.com/fedfast/fedfast/internal/finite"
	"github.com/fedfast/fedfast/internal/store"
)

// Verify trains a part of a finished study, in a directory or a file of store.View.Pack, again: see study.Verify.
// With study.Every it compares with random search again, too. Nothing of the study changes; sets are assignments
// as for config.Config.Move, and Options.Ready is called before anything is trained. Where data or tuners are
// missing, what is verified is nil beside the error.
func Verify(
	ctx context.Context, path string, sets []string, o Options, part study.Part,
) (v *study.Verified, err error) {
	mem, _, err := store.Unpack(ctx, path)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, mem.Close()) }()
	s := &Study{path: path, log: o.Log, dir: &dir{path: path, store: mem}}
	if s.Stored, err = result.Read(ctx, mem); err != nil {
		return nil, err
	}
	if !s.Stored.Finished() {
		return nil, fmt.Errorf("%s: the study has not finished", path)
	}
	if s.Config, err = Recorded(path, s.Stored, s.Stored.Mode); err != nil {
		return nil, err
	}
	if err := s.Config.Move(sets, ""); err != nil {
		return nil, err
	}
	setup, closeTuners, err := s.again(ctx, o)
	if err != nil {
		return nil, fmt.Errorf("nothing was trained again: %w", err)
	}
	defer closeTuners()
	if o.Ready != nil {
		err = o.Ready(ctx, setup)
	}
	if v = (&study.Verified{}); err == nil {
		v, err = study.Verify(ctx, *setup, part)
	}
	if r := s.Stored.Tune; err == nil && r != nil && r.Baseline != nil && v.Whole {
		err = s.searchAgain(ctx, o, *setup, r)
	}
	return v, err
}

// searchAgain compares a study with random search again, and that with the record, but for the seconds.
func (s *Study) searchAgain(ctx context.Context, o Options, setup study.Setup, r *result.Result) error {
	was, err := finite.Marshal(r.Baseline)
	if err != nil {
		return err
	}
	r.Baseline, setup.Store = nil, nil
	now, err := s.compare(ctx, o, setup, r)
	if err != nil {
		return err
	}
	text, err := finite.Marshal(now)
	return cmp.Or(err, study.Same(store.Row{Kind: store.KindBaseline, Data: was}, text))
}

// Audit is study.Audit of a configuration, whose data it opens.
func Audit(ctx context.Context, c *config.Config, canaries int, o Options) (*result.AuditResult, error) {
	own := *c
	if err := own.CheckFor(config.ModeRun); err != nil {
		return nil, err
	}
	setup, err := (&Study{Config: &own, Stored: &result.Stored{}, log: o.Log}).prepare(ctx, o)
	if err != nil {
		return nil, err
	}
	return study.Audit(ctx, *setup, canaries)
}
