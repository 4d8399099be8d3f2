package workdir

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"slices"
	"time"

	"github.com/fedfast/fedfast/data"
	"github.com/fedfast/fedfast/fl/study"
	"github.com/fedfast/fedfast/fl/study/config"
	"github.com/fedfast/fedfast/fl/study/result"
	"github.com/fedfast/fedfast/internal/key"
	"github.com/fedfast/fedfast/internal/sys/oneline"
	"github.com/fedfast/fedfast/nn"
	"github.com/fedfast/fedfast/tuners/host"
)

// Options say how a study is worked on. But for Data and Model nothing of them
// reaches a result. The zero value trains on all processors, unwatched.
type Options struct {
	// Launcher launches the tuners; a Run needs none.
	Launcher Launcher
	// Data and Model are what the study trains on and what it trains; nil are those
	// that the configuration names. A study must be resumed with the same ones: a
	// model of another form is refused, and data with another Fingerprint, where a
	// federation has one.
	Data  *data.Federation
	Model *nn.Model
	// Workers is how many clients train at once; 0 means one per processor.
	Workers int
	// Observer watches; nil for none.
	Observer study.Observer
	// Log receives messages about failed trials and damaged files; nil discards them.
	Log *slog.Logger
	// Launched is called with the tuners before data are opened, the second one nil
	// without a client tuner; an error of it ends the work. Nil for none.
	Launched func(ctx context.Context, tuner, client Tuner) error
	// Ready is called when the study can begin or be resumed, with its store; it
	// may set the set-up's Observer. Nil for none.
	Ready func(ctx context.Context, s *study.Setup) error
	// Trained is called with the end of a Tune before Baseline begins; it may add to
	// the end, which is written afterwards. Nil for none.
	Trained func(ctx context.Context, s *study.Setup, r *result.Result) error
	// Baseline is the number of random configurations that a Tune trains after the study,
	// each for as many rounds as the model that the tuner kept, to compare with:
	// Result.Baseline. EqualRounds is as many as the study's rounds pay for, 0 none but a
	// comparison that has begun. Launcher launches the tuner "random".
	Baseline int
	// Comparing is called before these train and returns what watches them. Nil for none.
	Comparing func(configurations, rounds int) study.Observer
}

// Study is a study in a directory.
type Study struct {
	// Config is the configuration: the given one, or the recorded one.
	Config *config.Config
	// Stored is what earlier processes recorded; its Config is empty when nothing.
	Stored *result.Stored
	// Scaled describes in words how a configuration was shrunk to try things out, for
	// the environment; empty is not at all.
	Scaled string
	// Unnamed means that the directory was not given: a new study then takes one of its
	// own when it begins, as Claim does; see Path.
	Unnamed bool

	path string
	log  *slog.Logger
	dir  *dir // nil before it begins
}

// OtherError says that a directory holds something else than the study that was
// asked for: one of another configuration (Err is a *config.DiffError) or command,
// or files that no study wrote.
type OtherError struct{ Err error }

// Error describes what it holds.
func (e *OtherError) Error() string { return e.Err.Error() }

// Unwrap returns what it holds.
func (e *OtherError) Unwrap() error { return e.Err }

// Open takes a directory for a study of a command, config.ModeTune or
// config.ModeRun. One that Holds a study is locked until Close: without a
// configuration (nil) that study is resumed, with one only if it is the same, else
// the error is an *OtherError, as it is where a directory without a study holds
// files that one would overwrite. Such a directory is only looked at: it is made
// when the study can begin. One in which another process works is a
// *store.BusyError.
func Open(ctx context.Context, path string, c *config.Config, mode string, log *slog.Logger) (*Study, error) {
	s := &Study{Config: c, Stored: &result.Stored{}, path: path, log: log}
	if !Holds(path) {
		if c == nil {
			return nil, fmt.Errorf("%s: no study to resume", path)
		}
		err := free(path)
		if err == nil {
			return s, nil
		}
		if !Holds(path) { // else another process has just begun it
			return nil, &OtherError{err}
		}
	}
	var err error
	if s.dir, err = openDir(ctx, path, s.warn); err != nil {
		return nil, err
	}
	if err = s.read(ctx); err == nil {
		err = s.match(mode)
	}
	if err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

// read reads what the directory holds of the study.
func (s *Study) read(ctx context.Context) (err error) {
	for _, note := range s.dir.store.Notes() {
		s.warn(note)
	}
	if s.Stored, err = result.Read(ctx, s.dir.store); err != nil {
		return err
	}
	if s.Stored.Config == "" { // it was not begun, or the record is damaged from its first row on
		s.Stored.Mode, s.Stored.Config = Beginning(s.path)
	}
	if e, err := s.began(); err == nil && s.Scaled == "" {
		s.Scaled = e.Scaled
	}
	return nil
}

// warn tells what the user should know.
func (s *Study) warn(text string) { s.logger().Warn(text) }

// match compares the configuration with the recorded one, or takes that.
func (s *Study) match(mode string) (err error) {
	if s.Config != nil {
		err := s.Stored.Match(s.path, s.Config, mode)
		d, ok := errors.AsType[*config.DiffError](err)
		switch {
		case s.grows(s.Config, mode):
			return nil
		case ok && s.Stored.Run != nil:
			d.Instead = fmt.Sprintf("train on from its model in another one, with --init %s", oneline.Path(filepath.Join(s.path, ModelFile)))
		case ok && s.Stored.Tune != nil && !s.Config.Private(): // whose trials no other account has
			d.Instead = fmt.Sprintf("begin with its trials in another one, with --set tuner.from=%s and a tuner that learns from them, such as tpe", oneline.Path(s.path))
			same := *s.Config // but for trial_rounds, which follow budget.rounds
			if was, err := config.Load(config.Source{Text: s.Stored.Config}); err == nil {
				same.Budget.TrialRounds = was.Budget.TrialRounds
			}
			alike := slices.Contains([]string{"random", "bo"}, same.Tuner.Name) && same.Tuner.Parallel == 1
			if s.grows(&same, mode) && alike { // others plan by their budget, most of them otherwise
				d.Instead = fmt.Sprintf("let it go on with its budget.trial_rounds: fedfast study resume %s --set budget.rounds=%d",
					oneline.Path(s.path), same.Budget.Rounds)
			}
		}
		if err != nil {
			return &OtherError{err}
		}
		return nil
	}
	s.Config, err = Recorded(s.path, s.Stored, mode)
	return err
}

// grows says that the study of a mode has ended, and that a configuration has more rounds.
func (s *Study) grows(c *config.Config, mode string) bool {
	return s.Stored.Finished() && s.Stored.Mode == mode && c.Grows(s.Stored.Config, mode)
}

// Recorded returns the configuration that a directory records of a study of a
// command.
func Recorded(path string, stored *result.Stored, mode string) (*config.Config, error) {
	switch {
	case stored.Config == "":
		return nil, fmt.Errorf("%s: neither its record nor %s and %s show what was started here; start again in another directory", path, ConfigFile, EnvFile)
	case stored.Mode != mode:
		return nil, &OtherError{fmt.Errorf("%s contains a study of `fedfast %s`; this is `fedfast %s`: choose another "+
			"directory, or resume it with `fedfast study resume %s`", path, stored.Mode, mode, oneline.Path(path))}
	}
	return config.Load(config.Source{Text: stored.Config})
}

// began returns the environment that the study recorded when it began, an empty
// one when it did not.
func (s *Study) began() (Environment, error) {
	var e Environment
	if s.Stored.Environment == nil {
		return e, nil
	}
	err := json.Unmarshal(s.Stored.Environment, &e)
	return e, err
}

func (s *Study) logger() *slog.Logger { return cmp.Or(s.log, slog.New(slog.DiscardHandler)) }

// Close gives the directory back, if it was taken, and returns the first error of
// writing the metrics. A study in which nothing happened is removed again.
func (s *Study) Close() error {
	if s.dir == nil {
		return nil
	}
	return s.dir.close()
}

// New reports whether the study was not there before: Close removes it again if nothing
// happens in it.
func (s *Study) New() bool { return s.dir == nil || s.dir.begun }

// Path returns the study's directory.
func (s *Study) Path() string { return s.path }

// moved says that the study is asked for with other files than it recorded, so that they must
// be looked at before its result is given for theirs.
func (s *Study) moved() bool {
	text, err := s.Config.Since(s.Stored.Config)
	return err != nil || text != nil
}

// Finished returns the result of a study of config.ModeTune that has all that is asked
// for, the files of its models, the same data and a baseline as in Options; nil when there is
// something left to do. The result comes without weights.
func (s *Study) Finished(baseline int) *result.Result {
	if s.Stored.Tune != nil && baseline == EqualRounds {
		baseline = s.configurations(baseline, s.Stored.Tune)
	}
	if s.Stored.Tune == nil || s.moved() || baseline == 0 && s.Stored.Baseline != nil && !s.Stored.Baseline.Complete() {
		return nil
	}
	return s.dir.finished(s.Stored.Tune, baseline)
}

// Ran returns the end of a finished training of config.ModeRun whose files are
// there, without its weights; nil when there is something left to do.
func (s *Study) Ran() *result.RunResult {
	if r := s.Stored.Run; r != nil && !s.moved() && s.dir.complete(r.WeightsSHA256) {
		return r
	}
	return nil
}

// Tune brings a study of config.ModeTune to its end and writes its result and its
// models.
func (s *Study) Tune(ctx context.Context, o Options) (*result.Result, error) {
	setup, used, closeTuners, err := s.launched(ctx, o)
	if err != nil {
		return nil, err
	}
	defer closeTuners()
	if o.Baseline != 0 {
		if setup.Config.Private() {
			return nil, &key.Error{Key: "baseline", Problem: ": its trainings are not in the account of dp.epsilon; leave it out, or run random search as a study of its own"}
		}
		if !s.Config.Budget.InRounds() || s.Config.ToGoal() {
			return nil, errors.New("baseline: random configurations are compared by rounds; use budget.rounds, or tune with tuner.name = \"random\"")
		}
		if err := study.CheckBaseline(setup.Data); err != nil {
			return nil, fmt.Errorf("baseline: %w", err)
		}
	}
	if err := s.begin(ctx, o, setup, config.ModeTune, used); err != nil {
		return nil, err
	}
	r, err := study.Tune(ctx, *setup)
	if err != nil {
		return nil, err
	}
	if o.Trained != nil {
		if err := o.Trained(ctx, setup, r); err != nil {
			return nil, err
		}
	}
	if r.Baseline, err = s.compare(ctx, o, *setup, r); err != nil {
		return nil, err
	}
	return r, errors.Join(s.dir.result(r), s.dir.models(setup.Model, r))
}

// Run brings a training of config.ModeRun to its end and writes its result and its
// model.
func (s *Study) Run(ctx context.Context, o Options) (*result.RunResult, error) {
	setup, err := s.prepare(ctx, o)
	if err != nil {
		return nil, err
	}
	if err := s.begin(ctx, o, setup, config.ModeRun, nil); err != nil {
		return nil, err
	}
	r, err := study.Run(ctx, *setup)
	if err != nil {
		return nil, err
	}
	return r, errors.Join(s.dir.result(r), s.dir.returned(setup.Model, r.Weights))
}

// Remeasure evaluates a model of the finished study again, as the study did, on the
// clients that eval says: see study.Remeasure. Nothing of the study changes.
func (s *Study) Remeasure(ctx context.Context, o Options, eval config.Eval, sha256 string) (*result.Chosen, error) {
	setup, closeTuners, err := s.again(ctx, o)
	if err != nil {
		return nil, err
	}
	defer closeTuners()
	return study.Remeasure(ctx, *setup, eval, sha256)
}

// again prepares the set-up of a recorded study, with its tuners. The caller calls closeTuners.
func (s *Study) again(ctx context.Context, o Options) (setup *study.Setup, closeTuners func(), err error) {
	closeTuners = func() {}
	if s.Stored.Mode == config.ModeTune {
		setup, _, closeTuners, err = s.launched(ctx, o)
	} else {
		setup, err = s.prepare(ctx, o)
	}
	if err == nil {
		setup.Store = s.dir.store
	}
	return setup, closeTuners, err
}

// launched launches the tuners and prepares the set-up of a Tune. The caller calls
// closeTuners.
func (s *Study) launched(ctx context.Context, o Options) (_ *study.Setup, used []host.Pin, closeTuners func(), err error) {
	began, err := s.began()
	if err != nil {
		return nil, nil, nil, err
	}
	var all []Tuner
	closeAll := func() {
		for _, t := range all {
			t.Close()
		}
	}
	defer func() {
		if err != nil { // where closeTuners is nil
			closeAll()
		}
	}()
	launch := func(key, name string) (Tuner, error) {
		t, err := s.launch(ctx, o, key, name, began.Tuners)
		if err == nil {
			all, used = append(all, t), append(used, t.Pin())
		}
		return t, err
	}
	tuner, err := launch("tuner.name", s.Config.Tuner.Name)
	if err != nil {
		return nil, nil, nil, err
	}
	var client Tuner
	if name := s.Config.ClientTuner.Name; name != "" {
		if client, err = launch("client_tuner.name", name); err != nil {
			return nil, nil, nil, err
		}
	}
	if o.Launched != nil {
		if err := o.Launched(ctx, tuner, client); err != nil {
			return nil, nil, nil, err
		}
	}
	setup, err := s.prepare(ctx, o)
	if err != nil {
		return nil, nil, nil, err
	}
	setup.Tuner = tuner
	if client != nil {
		setup.ClientTuner = client
	}
	return setup, used, closeAll, nil
}

// launch launches a tuner: the very program that the study recorded, unless the
// launcher lets another one pass.
func (s *Study) launch(ctx context.Context, o Options, key, name string, pins []host.Pin) (Tuner, error) {
	if o.Launcher == nil {
		return nil, fmt.Errorf("%s = %q: no launcher to start it", key, name)
	}
	l := Launch{Key: key, Name: name, Study: s.path, Start: time.Duration(s.Config.Tuner.Start) * time.Second}
	for i := range pins {
		if pins[i].Name == name {
			l.Pin = &pins[i]
		}
	}
	return o.Launcher(ctx, l)
}

// prepare opens the federation and builds the model, where none are given.
func (s *Study) prepare(ctx context.Context, o Options) (*study.Setup, error) {
	setup := &study.Setup{Data: o.Data, Model: o.Model, Workers: o.Workers, Observer: o.Observer, Log: o.Log}
	c := s.Config
	var err error
	switch {
	case o.Data == nil && o.Model == nil:
		setup.Data, setup.Model, err = config.Prepare(ctx, c)
	case o.Model == nil:
		setup.Model, err = config.PrepareModel(c, o.Data)
	case o.Data == nil:
		setup.Data, err = config.OpenData(ctx, c)
	}
	if err == nil && o.Model != nil {
		setup.Model, err = c.WithPrecision(o.Model)
	}
	setup.Config = *c // with the model that Prepare may have chosen
	if s.dir != nil {
		err = c.Moved(err)
	}
	return setup, err
}

// begin takes the directory of a study that can begin, and makes it the set-up's
// store and observer.
func (s *Study) begin(ctx context.Context, o Options, setup *study.Setup, command string, used []host.Pin) error {
	env := environment(command, o.Workers, used)
	env.Scaled, env.Baseline = s.Scaled, planned(o.Baseline, s.Config)
	env.Evaluations, _ = Rest(ctx, setup, command, 0)
	env.Measure = result.MeasureOfModel(setup.Model)
	if s.dir == nil {
		var err error
		if s.Unnamed {
			if s.path, err = Claim(time.Now(), s.Config.Name); err != nil {
				return err
			}
		}
		if s.dir, err = createDir(ctx, s.path, s.Config, env, s.warn); err != nil {
			if s.Unnamed {
				_ = remove(s.path) // unless something was written
			}
			return err
		}
		s.dir.made = s.dir.made || s.Unnamed
		if err := s.read(ctx); err != nil {
			return err
		}
	}
	setup.Store, setup.Environment = s.dir.store, env
	if err := study.CheckData(ctx, *setup); err != nil { // before a file says where other data are
		return err
	}
	if s.grows(s.Config, command) {
		if err := study.Extend(ctx, *setup); err != nil {
			return err
		}
		if err := s.read(ctx); err != nil {
			return err
		}
	}
	if err := s.dir.begin(s.Config, env, s.Stored.Finished()); err != nil {
		return err
	}
	s.dir.stopped = ctx.Err
	if o.Ready != nil {
		if err := o.Ready(ctx, setup); err != nil {
			return err
		}
	}
	setup.Observer = &watch{s.dir, setup.Observer}
	return nil
}

// watch writes the events of a study and passes everything on.
type watch struct {
	dir *dir
	to  study.Observer // nil for none
}

var _ study.Observer = (*watch)(nil)

// Progress passes a round on.
func (w *watch) Progress(p study.Progress) {
	w.dir.keep()
	if w.to != nil {
		w.to.Progress(p)
	}
}

// Event writes an event down.
func (w *watch) Event(e study.Event) {
	w.dir.Event(e)
	if w.to != nil {
		w.to.Event(e)
	}
}

// Evaluated passes on how far an evaluation has come.
func (w *watch) Evaluated(e study.Evaluated) {
	if w.to != nil {
		w.to.Evaluated(e)
	}
}

// Tune begins a study in a directory, or resumes the one that is there, and brings
// it to its end: the configuration must be the same one, but for what
// config.Config.Move may change. Of a study that had ended before, the result comes
// without weights; ModelFile holds those of the returned model.
func Tune(ctx context.Context, path string, c *config.Config, o Options) (r *result.Result, err error) {
	s, err := begun(ctx, path, c, config.ModeTune, o.Log)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	if r := s.Finished(o.Baseline); r != nil {
		return r, nil
	}
	return s.Tune(ctx, o)
}

// Run is Tune for one training without tuning.
func Run(ctx context.Context, path string, c *config.Config, o Options) (r *result.RunResult, err error) {
	s, err := begun(ctx, path, c, config.ModeRun, o.Log)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	if r := s.Ran(); r != nil {
		return r, nil
	}
	return s.Run(ctx, o)
}

// begun checks a configuration and opens the directory with it.
func begun(ctx context.Context, path string, c *config.Config, mode string, log *slog.Logger) (*Study, error) {
	own := *c
	if err := errors.Join(own.CheckFor(mode), own.Absolute()); err != nil {
		return nil, err
	}
	return Open(ctx, path, &own, mode, log)
}
