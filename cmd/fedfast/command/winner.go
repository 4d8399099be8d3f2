package command

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"

	"github.com/fedfast/fedfast/cmd/fedfast/internal/report"
	"github.com/fedfast/fedfast/fl/study/config"
	"github.com/fedfast/fedfast/fl/study/result"
	"github.com/fedfast/fedfast/fl/study/workdir"
	"github.com/fedfast/fedfast/internal/store"
	"github.com/fedfast/fedfast/internal/sys/oneline"
)

// winnerOf returns the configuration of a finished study with the hyperparameters of the model
// that it returned, for as many rounds as its trials had at most.
func winnerOf(ctx context.Context, dir string) (config.Source, error) {
	var src config.Source
	if workdir.HoldsSeeds(dir) {
		return src, usageError{fmt.Errorf("--from %s: contains studies of several seeds; give one of its subdirectories", dir)}
	}
	v, err := store.Look(ctx, dir)
	if errors.Is(err, fs.ErrNotExist) {
		return src, usageError{fmt.Errorf("--from: %w", err)}
	}
	if err != nil {
		return src, err
	}
	defer func() { _ = v.Close() }() // it was read only
	s, err := result.Read(ctx, v)
	if err != nil {
		return src, err
	}
	switch {
	case s.Run != nil || s.Mode == config.ModeRun:
		return src, usageError{fmt.Errorf("--from %s: it was created by `fedfast run`; repeat it with `fedfast run %s`", dir, oneline.Path(filepath.Join(dir, workdir.ConfigFile)))}
	case s.Tune == nil:
		return src, usageError{fmt.Errorf("--from %s: study has not finished; run `fedfast study resume %s` to finish it", dir, oneline.Path(dir))}
	}
	c, own, err := report.Anew(s.Config, s.Tune)
	if err != nil {
		return src, err
	}
	if len(own) > 0 {
		return src, usageError{fmt.Errorf("--from %s: its clients have networks or hyperparameters of their own, which one run cannot give them; train it anew with `fedfast tune %s --seed N`", dir, oneline.Path(filepath.Join(dir, workdir.ConfigFile)))}
	}
	text, err := config.Encode(c)
	return config.Source{Text: string(text)}, err
}
