package command

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"slices"

	"github.com/fedfast/fedfast/fl/study"
	"github.com/fedfast/fedfast/fl/study/config"
	"github.com/fedfast/fedfast/fl/study/result"
	"github.com/fedfast/fedfast/fl/study/workdir"
	"github.com/fedfast/fedfast/internal/store"
	"github.com/fedfast/fedfast/internal/sys/wholefile"
)

// savedModel is a file in the directory of a finished study that holds one of its
// models.
type savedModel struct {
	dir    string
	stored *result.Stored // nil where there is no record
	sha256 string         // of the weights that the study saved there
	path   string         // of the study's data
}

// findSaved finds the study in a directory that saved the model, and the hyperparameters
// of its trial; nil where no result says them.
func findSaved(ctx context.Context, dir string, r *evaluated) *savedModel {
	text, err := wholefile.Read(filepath.Join(dir, workdir.ResultFile))
	var saved result.Result
	if err != nil || json.Unmarshal(text, &saved) != nil {
		return nil
	}
	s := &savedModel{dir: dir}
	if filepath.Base(r.Model) == workdir.ModelFile {
		s.sha256, r.Params = saved.WeightsSHA256, saved.Best.Params
	}
	for _, o := range workdir.Others(&saved) {
		if o.File == filepath.Base(r.Model) {
			s.sha256, r.Params = o.Model.SHA256, o.Model.Params
		}
	}
	if !store.Exists(dir) {
		return s
	}
	v, err := store.Look(ctx, dir)
	if err != nil {
		return s
	}
	defer func() { _ = v.Close() }() // it was read only
	if stored, err := result.Read(ctx, v); err == nil && stored.Finished() {
		s.stored = stored
	}
	return s
}

// remeasure evaluates the model as its study did. Where that cannot be, it returns nil
// and leaves a note that says what the errors lack.
func (s *savedModel) remeasure(ctx context.Context, a *app, setup *study.Setup, r *evaluated) (*result.Chosen, error) {
	if s == nil {
		return nil, nil
	}
	again, err := s.again(ctx, a, setup, r.WeightsSHA256)
	if err == nil {
		return again, nil
	}
	_, other := errors.AsType[study.OtherDataError](err)
	if ctx.Err() != nil || other && setup.Config.Data.Path == s.path {
		return nil, err
	}
	if setup.Config.Data.Path != s.path {
		r.Notes = append(r.Notes, setup.Data.Notes...)
	}
	if other {
		r.Notes = slices.Insert(r.Notes, 0, fmt.Sprintf("these are the errors on other data than the study's: %v", err))
	} else if setup.Config.Eval.Personalized {
		r.Notes = append(r.Notes, fmt.Sprintf("personalized errors may differ from the study's: the method's state of "+
			"clients and rounds is not available, and all clients have the hyperparameters of most: %v", err))
	}
	return nil, nil
}

func (s *savedModel) again(ctx context.Context, a *app, setup *study.Setup, sha256 string) (*result.Chosen, error) {
	switch {
	case s.stored == nil:
		return nil, fmt.Errorf("%s has no complete record of it", s.dir)
	case sha256 != s.sha256 && !setup.Model.Folds():
		return nil, errors.New("the file's weights differ from those the study saved")
	}
	recorded, err := config.Load(config.Source{Text: s.stored.Config})
	if err != nil {
		return nil, err
	}
	s.path = recorded.Data.Path
	same := setup.Config
	same.Eval = recorded.Eval
	if config.FromFile(recorded.Init) && same.Init == "" {
		return nil, fmt.Errorf("%s, from whose weights the study began, is not there; name it with --set init=FILE", recorded.Init)
	}
	if err := config.Match(s.dir, s.stored.Config, &same); err != nil {
		if d, ok := errors.AsType[*config.DiffError](err); ok {
			return nil, fmt.Errorf("a setting differs from the study's: %s", d.Diff[0])
		}
		return nil, err
	}
	st, err := workdir.Open(ctx, s.dir, &same, s.stored.Mode, nil)
	if err != nil {
		return nil, err
	}
	again, err := st.Remeasure(ctx, workdir.Options{
		Launcher: a.launcher(false), Data: setup.Data, Model: setup.Model, Workers: a.workers, Log: a.newLog(),
	}, setup.Config.Eval, s.sha256)
	return again, errors.Join(err, st.Close())
}
