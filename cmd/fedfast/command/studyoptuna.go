package command

import (
	"context"
	"io"
	"path/filepath"

	"github.com/fedfast/fedfast/cmd/fedfast/internal/optuna"
	"github.com/fedfast/fedfast/fl/study/config"
	"github.com/fedfast/fedfast/internal/sys/wholefile"
	"github.com/fedfast/fedfast/plugins"
	"github.com/fedfast/fedfast/tuners"
)

const (
	formatOptuna = "optuna"
	optunaFile   = "optuna.log"
)

// optuna writes a study's trials as a log of Optuna's.
func (o *exportOptions) optuna(ctx context.Context, a *app, dir string) error {
	v, about, err := look(ctx, dir)
	if err != nil {
		return err
	}
	defer func() { _ = v.Close() }() // it was read only
	if err := optuna.Check(about); err != nil {
		return usageError{err}
	}
	adds, err := added(ctx, about.Config)
	if err != nil {
		return err
	}
	out, err := o.folder(dir)
	if err != nil {
		return err
	}
	path := filepath.Join(out, optunaFile)
	if err := wholefile.Stream(path, 0o644, func(w io.Writer) error { return optuna.Write(w, about, adds) }); err != nil {
		return err
	}
	return a.printFiles([]string{path})
}

// added are the dimensions that a built-in client tuner adds to the space.
func added(ctx context.Context, c *config.Config) ([]tuners.Dim, error) {
	builtin := plugins.Builtin()
	for _, name := range []string{c.ClientTuner.Name, c.Tuner.Name} {
		if t := builtin[name]; t != nil {
			about, err := t.Describe(ctx)
			if err != nil || len(about.Adds) > 0 {
				return about.Adds, err
			}
		}
	}
	return nil, nil
}
