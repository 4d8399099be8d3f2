package workdir

import (
	"context"
	"errors"
	"fmt"

	"github.com/fedfast/fedfast/fl/study"
	"github.com/fedfast/fedfast/fl/study/result"
	"github.com/fedfast/fedfast/internal/store"
)

// Again opens a finished study, in a directory or a file of store.View.Pack, to train parts of it again:
// use prepares that and gets its set-up, whose store is in memory, so that nothing of the study changes. sets are
// assignments as for config.Config.Move.
func Again(ctx context.Context, path string, sets []string, o Options, use func(study.Setup) error) (err error) {
	mem, _, err := store.Unpack(ctx, path)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, mem.Close()) }()
	s := &Study{path: path, log: o.Log, dir: &dir{path: path, store: mem}}
	if s.Stored, err = result.Read(ctx, mem); err != nil {
		return err
	}
	if !s.Stored.Finished() {
		return fmt.Errorf("%s: the study has not finished", path)
	}
	if s.Config, err = Recorded(path, s.Stored, s.Stored.Mode); err != nil {
		return err
	}
	if err := s.Config.Move(sets, ""); err != nil {
		return err
	}
	setup, closeTuners, err := s.again(ctx, o)
	if err != nil {
		return fmt.Errorf("nothing was trained again: %w", err)
	}
	defer closeTuners()
	return use(*setup)
}
