package command

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/fedfast/fedfast/cmd/fedfast/internal/report"
	"github.com/fedfast/fedfast/fl/study/config"
	"github.com/fedfast/fedfast/fl/study/view"
	"github.com/fedfast/fedfast/fl/study/workdir"
	"github.com/fedfast/fedfast/internal/sys/oneline"
)

// follow lays file, preset and sets over what of tells of the study that a flag names, if it names one.
func (o *configOptions) follow(ctx context.Context, args []string, flag, dir string,
	of func(context.Context, string) (config.Source, error),
) (err error) {
	switch {
	case dir == "":
	case len(args) > 0:
		return usageError{fmt.Errorf("%s: the study says what to train; leave out the study file", flag)}
	default:
		o.base, err = of(ctx, dir)
	}
	return err
}

// winnerOf returns the configuration of a finished study with the hyperparameters of the model
// that it returned, for as many rounds as its trials had at most.
func winnerOf(ctx context.Context, dir string) (config.Source, error) {
	var src config.Source
	o, err := tunedStudy(ctx, "--from", dir)
	if err != nil {
		return src, err
	}
	c, err := winner("--from", dir, o)
	if err != nil {
		return src, err
	}
	text, err := config.Encode(c)
	return config.Source{Text: string(text)}, err
}

// winner returns the configuration of a finished study as winnerOf does, for a flag that needs it; of a run its own.
func winner(flag, dir string, o *view.Overview) (*config.Config, error) {
	if o.Tune == nil {
		return o.Config, nil
	}
	c, own, err := report.Anew(o.Text, o.Tune)
	if err == nil && len(own) > 0 {
		err = usageError{fmt.Errorf("%s %s: its clients have networks or hyperparameters of their own, which one run "+
			"cannot give them; train it anew with `fedfast tune %s --seed N`", flag, dir,
			oneline.Path(filepath.Join(dir, workdir.ConfigFile)))}
	}
	return c, err
}

// nextOf returns the configuration of a finished study with what Overview.Next changes in it, which it prints.
func (a *app) nextOf(ctx context.Context, dir string) (config.Source, error) {
	var src config.Source
	o, err := tunedStudy(ctx, "--next", dir)
	if err != nil {
		return src, err
	}
	sets := view.Sets(o.Next())
	if len(sets) == 0 {
		return src, usageError{fmt.Errorf("--next %s: nothing to change; see `fedfast study show %s`", dir, oneline.Path(dir))}
	}
	c, err := config.Load(config.Source{Text: o.Text, Sets: sets})
	if err != nil {
		return src, err
	}
	text, err := config.Encode(c)
	fmt.Fprintf(a.err, "next: %s\n", strings.Join(sets, ", "))
	return config.Source{Text: string(text)}, err
}

// tunedStudy reads a finished study of many trials that a flag names.
func tunedStudy(ctx context.Context, flag, dir string) (*view.Overview, error) {
	o, err := finishedStudy(ctx, flag, dir)
	if err == nil && o.Mode == config.ModeRun {
		err = usageError{fmt.Errorf("%s %s: it was created by `fedfast run`; repeat it with `fedfast run %s`",
			flag, dir, oneline.Path(filepath.Join(dir, workdir.ConfigFile)))}
	}
	return o, err
}

// finishedStudy reads a finished study that a flag names.
func finishedStudy(ctx context.Context, flag, dir string) (*view.Overview, error) {
	v, o, err := openStudy(ctx, dir)
	if usage, ok := errors.AsType[usageError](err); ok {
		return nil, usageError{fmt.Errorf("%s: %w", flag, usage.error)}
	}
	if err != nil {
		return nil, err
	}
	defer func() { _ = v.Close() }() // it was read only
	if o.Tune == nil && o.Run == nil {
		return nil, usageError{fmt.Errorf("%s %s: study has not finished; run `fedfast study resume %s`", flag, dir,
			oneline.Path(dir))}
	}
	return o, nil
}
