package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/klauspost/cpuid/v2"
	"github.com/spf13/cobra"

	"github.com/fedfast/fedfast/cmd/fedfast/internal/outfile"
	"github.com/fedfast/fedfast/cmd/fedfast/internal/progress"
	"github.com/fedfast/fedfast/cmd/fedfast/internal/screen"
	"github.com/fedfast/fedfast/cmd/fedfast/internal/table"
	"github.com/fedfast/fedfast/fl/study"
	"github.com/fedfast/fedfast/fl/study/config"
	"github.com/fedfast/fedfast/fl/study/workdir"
	"github.com/fedfast/fedfast/kernels"
	"github.com/fedfast/fedfast/tuners/host"
)

// quickstart is the preset of commands that are given neither a file nor one.
const quickstart = "quickstart"

// configOptions say which configuration a command works on.
type configOptions struct {
	preset, tuner, clientTuner string
	sets                       []string
	init                       string
	moves                      []string // assignments to the configuration that a study recorded
}

func (o *configOptions) addFlags(cmd *cobra.Command) {
	var names []string
	for _, p := range config.Presets() {
		names = append(names, p.Name)
	}
	cmd.Flags().StringVar(&o.preset, "preset", "", "begin with a preset: "+strings.Join(names, ", "))
	cmd.Flags().StringArrayVar(&o.sets, "set", nil, "override a key of the file, such as --set client.lr=0.1 (repeatable)")
}

// load resolves the configuration. Its errors are wrong usage.
func (o *configOptions) load(a *app, args []string) (*config.Config, config.Places, error) {
	src := config.Source{Preset: o.preset, Sets: o.sets, Tuner: o.tuner, ClientTuner: o.clientTuner}
	if len(args) > 0 {
		src.File = args[0]
	}
	if src.Preset == "" && src.File == "" {
		src.Preset = quickstart
	}
	if o.init != "" {
		src.Sets = append(slices.Clone(src.Sets), "init="+strconv.Quote(o.init))
	}
	if a.seedGiven {
		src.Seed = &a.seed
	}
	c, places, err := config.LoadPlaced(src)
	if err != nil {
		return nil, places, usageError{err}
	}
	return c, places, nil
}

// studyOptions are the flags of run and tune.
type studyOptions struct {
	configOptions
	dir   string
	scale scale
	seeds seedCount
	// outer is the directory of several seeds' studies of which this is one.
	outer string
}

func (o *studyOptions) addFlags(cmd *cobra.Command) {
	o.configOptions.addFlags(cmd)
	cmd.Flags().StringVar(&o.init, "init", "", "how the network starts, as the key init: torch, glorot, keras, haiku, or a .safetensors `FILE`")
	cmd.Flags().StringVar(&o.dir, "study", "", "directory of the study: a new one, or one to resume (default studies/DATE-NAME)")
	cmd.Flags().Var(&o.scale, "scale", "shrink rounds, budgets and side federations by this factor, above 0 to 1, to try things out")
	cmd.Flags().Var(&o.seeds, "seeds", "train with so many seeds, from the study's own on, each in a study of its own below --study")
}

// opened is a study that a command works on.
type opened struct {
	config *config.Config
	places config.Places // of the configuration's keys, where it was given
	dir    *workdir.Dir
	// stored is what earlier processes recorded; Config is empty when nothing.
	stored *study.Stored
	// label says in progress which of several seeds this is, empty for one.
	label string
	// scaled says what --scale changed, empty without it.
	scaled string
	// loaded is the configuration without --scale, loaded anew.
	loaded func() (*config.Config, error)
}

// given says that the command line says what to train; else its directory does.
func (o *studyOptions) given(a *app, args []string) bool {
	return o.dir == "" || len(args) > 0 || a.seedGiven || !o.bare() || o.scale != 0
}

// open resolves the configuration, checks it as far as that needs neither data
// nor tuners, and takes the directory. A directory that holds a study is gone on
// with: given nothing else by its own configuration, else only if it is the same
// one.
func (o *studyOptions) open(ctx context.Context, a *app, args []string, mode string) (*opened, error) {
	s := &opened{stored: &study.Stored{}}
	var err error
	switch {
	case workdir.HoldsSeeds(o.dir):
		return nil, usageError{fmt.Errorf("--study %s: it holds studies of several seeds; give --seeds, or resume them with `fedfast study resume %s`", o.dir, o.dir)}
	case o.given(a, args):
		if s, err = o.configure(ctx, a, args, mode); err != nil {
			return nil, err
		}
	case !workdir.Holds(o.dir):
		return nil, usageError{fmt.Errorf("--study %s: it holds no study to resume; name a study file or a preset to begin one there", o.dir)}
	}
	return s, o.enter(ctx, a, s, mode)
}

// configure resolves and checks what the command line says to train, and names
// the directory where it does not.
func (o *studyOptions) configure(ctx context.Context, a *app, args []string, mode string) (*opened, error) {
	s := &opened{stored: &study.Stored{}}
	s.loaded = func() (*config.Config, error) {
		c, _, err := o.load(a, args)
		return c, err
	}
	var err error
	if s.config, s.places, err = o.load(a, args); err != nil {
		return nil, err
	}
	if s.scaled, err = o.scale.apply(s.config, mode, a.scaledOptions(ctx)); err != nil {
		return nil, usageError{err}
	}
	if err := s.config.CheckFor(mode); err != nil {
		return nil, usageError{s.places.Explain(err)}
	}
	if o.dir == "" {
		o.dir = workdir.Default(time.Now(), s.config.Name)
	}
	return s, absolute(s.config)
}

// enter takes the directory and what it records. A new one is only looked at: it
// is made when the study can begin.
func (o *studyOptions) enter(ctx context.Context, a *app, s *opened, mode string) error {
	if !workdir.Holds(o.dir) {
		if err := outfile.Dir(o.dir); err != nil {
			return usageError{fmt.Errorf("--study: %w", err)}
		}
		if err := workdir.Free(o.dir); err != nil {
			return usageError{err}
		}
		return nil
	}
	if err := s.take(ctx, a, o.dir); err != nil {
		return err
	}
	if err := s.match(o.dir, mode); err != nil {
		return errors.Join(err, s.dir.Close())
	}
	if err := o.move(s.config); err != nil {
		return errors.Join(err, s.dir.Close())
	}
	return nil
}

// take takes the directory and reads what is recorded there.
func (s *opened) take(ctx context.Context, a *app, path string) (err error) {
	if s.dir, err = workdir.Open(ctx, path); err != nil {
		return err
	}
	return s.read(ctx, a)
}

// read reads what the directory holds of the study.
func (s *opened) read(ctx context.Context, a *app) (err error) {
	for _, note := range s.dir.Store().Notes() {
		a.newLog().Warn(note)
	}
	if s.stored, err = study.Read(ctx, s.dir.Store()); err != nil {
		return errors.Join(err, s.dir.Close())
	}
	if s.stored.Config == "" { // it was not begun, or the record is damaged from its first row on
		s.stored.Mode, s.stored.Config = workdir.Beginning(s.dir.Path())
	}
	if e, err := s.began(); err == nil && s.scaled == "" {
		s.scaled = e.Scaled
	}
	return nil
}

// match compares the configuration with the recorded one, or takes that.
func (s *opened) match(path, mode string) (err error) {
	if s.config != nil {
		if err := s.stored.Match(path, s.config, mode); err != nil {
			return usageError{err}
		}
		return nil
	}
	switch {
	case s.stored.Config == "":
		return fmt.Errorf("%s: neither its record nor %s and %s say what was begun here; begin again in another directory", path, workdir.ConfigFile, workdir.EnvFile)
	case s.stored.Mode != mode:
		return usageError{fmt.Errorf("%s holds a study of `fedfast %s`; this is `fedfast %s`", path, s.stored.Mode, mode)}
	}
	s.config, err = config.Load(config.Source{Text: s.stored.Config})
	return err
}

// absolute makes the names of files in a configuration independent of the folder
// that this is: it must not matter to those who resume the study.
func absolute(c *config.Config) (err error) {
	if c.Data.Path != "" {
		if c.Data.Path, err = filepath.Abs(c.Data.Path); err != nil {
			return err
		}
	}
	if config.FromFile(c.Init) {
		c.Init, err = filepath.Abs(c.Init)
	}
	return err
}

// move changes where a recorded study finds its data and what memory it takes.
func (o *configOptions) move(c *config.Config) (err error) {
	if len(o.moves) == 0 {
		return nil
	}
	if err := c.Move(o.moves); err != nil {
		return usageError{err}
	}
	return absolute(c)
}

// bare says that no flag changes the configuration.
func (o *configOptions) bare() bool {
	return o.preset == "" && o.init == "" && len(o.sets) == 0 && o.tuner == "" && o.clientTuner == ""
}

// close gives the directory back, if it was taken.
func (s *opened) close() error {
	if s.dir == nil {
		return nil
	}
	return s.dir.Close()
}

// environment is what env.json tells about where a study ran.
type environment struct {
	version
	Command string     `json:"command"` // "tune" or "run"
	Started string     `json:"started"`
	CPU     string     `json:"cpu"`
	Workers int        `json:"workers"`
	Tuners  []host.Pin `json:"tuners,omitempty"`
	Scaled  string     `json:"scaled,omitempty"` // what --scale changed
}

// tunerRef says which tuner a study used.
type tunerRef struct {
	Name    string `json:"name"`
	Path    string `json:"path,omitempty"` // of an external one
	Builtin bool   `json:"builtin"`
	SHA256  string `json:"sha256"`
}

func refOf(r host.Ref) tunerRef {
	t := tunerRef{Name: r.Name, Builtin: r.Builtin, SHA256: r.SHA256}
	if !r.Builtin {
		t.Path = r.Path
	}
	return t
}

// environment describes this machine and process.
func (a *app) environment(command string, used []host.Pin) environment {
	e := environment{version: thisVersion(), Command: command, Started: time.Now().UTC().Format(time.RFC3339), CPU: cpuid.CPU.BrandName, Workers: a.workers, Tuners: used}
	if e.Workers == 0 {
		e.Workers = runtime.GOMAXPROCS(0)
	}
	return e
}

// began returns the environment that the study recorded when it began, an empty
// one when it did not.
func (s *opened) began() (environment, error) {
	var e environment
	if s.stored.Environment == nil {
		return e, nil
	}
	err := json.Unmarshal(s.stored.Environment, &e)
	return e, err
}

// watch is the observer of a study: a display and a directory.
type watch struct {
	*progress.Display
	*workdir.Dir
}

var _ study.Observer = watch{}

// Progress shows a round.
func (w watch) Progress(p study.Progress) { w.Update(p) }

// begin takes the directory of a study that can begin, and opens the display for
// its rounds.
func (s *opened) begin(ctx context.Context, a *app, setup *study.Setup, path, command string, used []host.Pin) (watch, error) {
	env := a.environment(command, used)
	env.Scaled = s.scaled
	if s.dir == nil {
		var err error
		if s.dir, err = workdir.Create(ctx, path, s.config, env); err != nil {
			return watch{}, err
		}
		if err := s.read(ctx, a); err != nil {
			return watch{}, err
		}
	}
	if err := s.dir.Begin(s.config, env); err != nil {
		return watch{}, err
	}
	text := head(setup)
	if s.dir.Store().Seq() == 0 { // nothing was trained yet
		text += a.estimate(ctx, setup, command)
	}
	display := progress.New(a.err, terminalColumns(a.err), text, time.Now)
	display.Label(s.label)
	a.logs.redirect(display)
	w := watch{display, s.dir}
	setup.Observer, setup.Store, setup.Environment, setup.Log = w, s.dir.Store(), env, a.newLog()
	return w, nil
}

// resumable is the directory to resume.
func (o *studyOptions) resumable() string { return cmp.Or(o.outer, o.dir) }

// interrupted turns the error of a study that was broken off into how to go on.
func interrupted(ctx context.Context, err error, dir string) error {
	if ctx.Err() != nil && errors.Is(err, context.Canceled) {
		return fmt.Errorf("interrupted; go on with: fedfast study resume %s", dir)
	}
	return err
}

// terminalColumns returns what tells the present width of the terminal that w is, nil where it is none.
func terminalColumns(w io.Writer) func() int {
	if !screen.Is(w) {
		return nil
	}
	return func() int { return screen.Columns(w) }
}

// head says in lines what is trained.
func head(s *study.Setup) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %d clients, %s with %s parameters, level %v, seed %d\n",
		s.Data.Name, len(s.Data.Clients), s.Model.Name(), table.Count(s.Model.NumParams()), kernels.Current(), s.Config.Seed)
	for _, note := range s.Data.Notes {
		fmt.Fprintf(&b, "%s: %s\n", s.Data.Name, note)
	}
	return b.String()
}

// prepare opens the federation and builds the model.
func (a *app) prepare(ctx context.Context, c *config.Config) (study.Setup, error) {
	fed, model, err := config.Prepare(ctx, c)
	if err != nil {
		return study.Setup{}, err
	}
	return study.Setup{Config: *c, Data: fed, Model: model, Workers: a.workers}, nil
}
