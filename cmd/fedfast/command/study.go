package command

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/fedfast/fedfast/cmd/fedfast/internal/outfile"
	"github.com/fedfast/fedfast/cmd/fedfast/internal/ui/progress"
	"github.com/fedfast/fedfast/cmd/fedfast/internal/ui/screen"
	"github.com/fedfast/fedfast/fl/study"
	"github.com/fedfast/fedfast/fl/study/config"
	"github.com/fedfast/fedfast/fl/study/view"
	"github.com/fedfast/fedfast/fl/study/workdir"
	"github.com/fedfast/fedfast/internal/list"
	"github.com/fedfast/fedfast/internal/sys/memory"
	"github.com/fedfast/fedfast/internal/sys/oneline"
	"github.com/fedfast/fedfast/tuners/host"
)

// quickstart is the preset of commands that are given neither a file nor one.
const quickstart = "quickstart"

// configOptions say which configuration a command works on.
type configOptions struct {
	preset, tuner, clientTuner string
	sets                       []string
	init                       string
	base                       config.Source // what file, preset and sets are laid over
	moves                      []string      // assignments to the configuration that a study recorded
	baseline                   baselineFlag
}

func (o *configOptions) addFlags(cmd *cobra.Command) {
	cmd.Flags().StringVar(&o.preset, "preset", "", "start from the preset `NAME` (see fedfast list presets)")
	cmd.Flags().StringArrayVar(&o.sets, "set", nil, "set `KEY=VALUE`, such as client.lr=0.1 (repeatable; see fedfast list keys)")
}

// load resolves the configuration for a command of a mode, empty for one that trains nothing. Its
// errors are wrong usage, such as keys without effect.
func (o *configOptions) load(a *app, args []string, mode string) (*config.Config, config.Places, error) {
	if err := o.once(a); err != nil {
		return nil, config.Places{}, usageError{err}
	}
	src := o.base
	src.Mode = mode
	src.Preset, src.Sets, src.Tuner, src.ClientTuner = o.preset, slices.Concat(o.sets, o.baseline.set()), o.tuner, o.clientTuner
	if len(args) > 0 {
		if err := notStudyFile(args[0]); err != nil {
			return nil, config.Places{}, usageError{err}
		}
		src.File = args[0]
	}
	if src.Preset == "" && src.File == "" && src.Text == "" {
		src.Preset = quickstart
	}
	if o.init != "" {
		src.Sets = append(slices.Clone(src.Sets), "init="+strconv.Quote(o.init))
	}
	if a.seedGiven {
		src.Seed = &a.seed
	}
	c, places, err := config.LoadPlaced(src)
	if err == nil {
		err = places.CheckSet(c, mode)
	}
	if err != nil {
		return nil, places, usageError{err}
	}
	return c, places, nil
}

// once refuses a key that both its own flag and --set set.
func (o *configOptions) once(a *app) error {
	for _, f := range []struct {
		flag, key string
		given     bool
	}{{"tuner", "tuner.name", o.tuner != ""}, {"client-tuner", "client_tuner.name", o.clientTuner != ""}, {"init", "init", o.init != ""}, {"seed", "seed", a.seedGiven}} {
		for _, set := range o.sets {
			if name, _, _ := strings.Cut(set, "="); f.given && strings.TrimSpace(name) == f.key {
				return fmt.Errorf("--%s and --set %s: both set the key %s; leave one out", f.flag, set, f.key)
			}
		}
	}
	return nil
}

// studyOptions are the flags of run and tune.
type studyOptions struct {
	configOptions
	dir   string
	scale scale
	seeds seedCount
	// estimate says to print the cost and to train nothing.
	estimate bool
	// unnamed says that dir is one that nobody named.
	unnamed bool
	// outer is the directory of several seeds' studies of which this is one.
	outer string
}

func (o *studyOptions) addFlags(cmd *cobra.Command) {
	o.configOptions.addFlags(cmd)
	cmd.Flags().StringVar(&o.init, "init", "", "initial weights: torch, glorot, keras, haiku, gpt2, or a .safetensors `FILE`")
	cmd.Flags().Var((*directory)(&o.dir), "study", "study `DIR`, new or to resume (default studies/DATE-NAME)")
	cmd.Flags().Var(&o.scale, "scale", "multiply rounds, budgets and proxy federations by `FACTOR` (0 < FACTOR <= 1), for a quick test")
	cmd.Flags().BoolVar(&o.estimate, "estimate", false, "print the estimated time and memory and exit, without training")
	cmd.Flags().Var(&o.seeds, "seeds", "repeat with `N` consecutive seeds, each in its own subdirectory of --study")
}

// opened is a study that a command works on.
type opened struct {
	*workdir.Study
	asked // what the command line says of it
	// label says in progress which of several seeds this is, empty for one.
	label string
}

// given says that the command line says what to train; else its directory does, if it holds
// anything.
func (o *studyOptions) given(a *app, args []string) bool {
	return o.dir == "" || len(args) > 0 || a.seedGiven || !o.bare() || o.scale != 0 ||
		!workdir.Holds(o.dir) && !workdir.HoldsSeeds(o.dir)
}

// asked is what the command line says to train.
type asked struct {
	config *config.Config // nil is what the directory records
	places config.Places  // of the configuration's keys, where it was given
	scaled string
	// loaded is the configuration without --scale, loaded anew.
	loaded func() (*config.Config, error)
	// meant says that the command line may have meant to resume a study, but began this one.
	meant bool
	// quick says that the command line names neither a file nor a preset, which is then quickstart.
	quick bool
}

// open resolves the configuration, checks it as far as that needs neither data
// nor tuners, and takes the directory. A study that the directory holds is resumed:
// given nothing else by its own configuration, else only if it is the same one.
func (o *studyOptions) open(ctx context.Context, a *app, args []string, mode string) (*opened, error) {
	var want asked
	var err error
	switch {
	case workdir.HoldsSeeds(o.dir):
		return nil, severalSeeds("--study "+o.dir, "add --seeds, or run `fedfast study resume "+oneline.Path(o.dir)+"`")
	case o.given(a, args):
		if want, err = o.configure(ctx, a, args, mode); err != nil {
			return nil, err
		}
	}
	return o.enter(ctx, a, want, mode)
}

// configure resolves and checks what the command line says to train, and names
// the directory where it does not.
func (o *studyOptions) configure(ctx context.Context, a *app, args []string, mode string) (asked, error) {
	quick := len(args) == 0 && o.preset == "" && o.base.Text == ""
	want := asked{quick: quick, meant: quick && o.dir != "", loaded: func() (*config.Config, error) {
		c, _, err := o.load(a, args, mode)
		return c, err
	}}
	var err error
	if want.config, want.places, err = o.load(a, args, mode); err != nil {
		return want, err
	}
	if want.scaled, err = o.scale.apply(ctx, a, want.config, mode); err != nil {
		return want, usageError{err}
	}
	if err := want.config.CheckFor(mode); err != nil {
		return want, usageError{want.places.Explain(err)}
	}
	if o.dir == "" {
		o.dir, o.unnamed = workdir.Default(time.Now(), want.config.Name), true
	}
	return want, want.config.Absolute()
}

// enter takes the directory and what it records. A new one is only looked at: it
// is made when the study can begin.
func (o *studyOptions) enter(ctx context.Context, a *app, want asked, mode string) (*opened, error) {
	if !workdir.Holds(o.dir) {
		if err := outfile.Dir(o.dir); err != nil {
			return nil, usageError{fmt.Errorf("--study: %w", err)}
		}
	}
	study, err := workdir.Open(ctx, o.dir, want.config, mode, a.newLog())
	if err != nil {
		return nil, wrongStudy(err)
	}
	if names := o.baseline.without; want.config == nil && len(names) > 0 && !slices.Equal(names, study.Config.Eval.Baselines) {
		err := fmt.Errorf("--baseline %s: the study in %s began with others or none; name them where a study begins", &o.baseline, o.dir)
		return nil, errors.Join(usageError{err}, study.Close())
	}
	study.Unnamed = o.unnamed
	s := &opened{Study: study, asked: want}
	if want.scaled != "" {
		s.Scaled = want.scaled
	}
	if err := o.move(s.Config, mode); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

// wrongStudy turns an error about a path with another study, with files that are not a study, or
// with nothing, into a usage error.
func wrongStudy(err error) error {
	if _, ok := errors.AsType[*workdir.OtherError](err); ok || errors.Is(err, fs.ErrNotExist) {
		return usageError{err}
	}
	return err
}

// severalSeeds is the error of a directory with several studies where a command takes one. instead says
// what to do.
func severalSeeds(dir, instead string) error {
	return usageError{fmt.Errorf("%s: contains studies of several seeds; %s", dir, instead)}
}

// openStudy opens one study, in a directory or a pack, to be read.
func openStudy(ctx context.Context, dir string) (*view.Study, *view.Overview, error) {
	if workdir.HoldsSeeds(dir) {
		return nil, nil, severalSeeds(dir, "give one of them, such as "+filepath.Join(dir, "seed-0"))
	}
	s, o, err := view.Open(ctx, dir)
	return s, o, wrongStudy(err)
}

// openWhole opens a study as openStudy, if it has finished.
func openWhole(ctx context.Context, dir string) (*view.Study, error) {
	s, o, err := openStudy(ctx, dir)
	if err == nil && o.State != view.Completed {
		err = errors.Join(fmt.Errorf("%s: the study has not finished", oneline.Path(dir)), s.Close())
	}
	return s, err
}

// move changes where a recorded study of a mode finds its data, what memory it takes, and how
// many rounds it has.
func (o *configOptions) move(c *config.Config, mode string) (err error) {
	if len(o.moves) == 0 {
		return nil
	}
	if err := c.Move(o.moves, mode); err != nil {
		return usageError{err}
	}
	return c.Absolute()
}

// bare says that no flag changes the configuration.
func (o *configOptions) bare() bool {
	return o.base.Text == "" && o.preset == "" && o.init == "" && len(o.sets) == 0 && o.tuner == "" && o.clientTuner == ""
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

// shown is the display of a study's rounds.
type shown struct{ *progress.Display }

var _ study.Observer = shown{}

// Progress shows a round.
func (w shown) Progress(p study.Progress) { w.Update(p) }

// Event shows nothing.
func (shown) Event(study.Event) {}

// work says how the program works on a study. A display of its rounds is opened
// when it can begin, and closed by end. baseline is the value of --baseline.
func (s *opened) work(a *app, command string, baseline int) (o workdir.Options, end func()) {
	var display *progress.Display
	o = workdir.Options{Workers: a.workers, Log: a.newLog(), Baseline: baseline}
	o.Ready = func(ctx context.Context, setup *study.Setup) error {
		all, _, err := setup.Memory()
		if err != nil {
			return err
		}
		all = memory.Expect(all)
		text := s.head(a, setup, command)
		if setup.Store.Seq() == 0 { // nothing was trained yet
			if s.meant {
				text = oneline.Of(s.Path()+": new study, nothing to resume") + "\n" + text
			}
			text += estimateOf(ctx, setup, command, baseline, all)
			runtime.GC() // the workers need the memory that the estimate took
		}
		display = progress.New(a.err, terminalColumns(a.err), text, time.Now)
		display.Label(s.label)
		display.Rest(workdir.Rest(ctx, setup, command, baseline))
		a.logs.redirect(display)
		setup.Observer, setup.Log = shown{display}, a.newLog()
		return nil
	}
	return o, func() {
		if display != nil {
			display.Close()
		}
	}
}

// resumable is the directory to resume.
func (o *studyOptions) resumable(s *opened) string { return cmp.Or(o.outer, s.Path()) }

// interrupted turns the error of a study that was interrupted into how to resume
// it.
func interrupted(ctx context.Context, err error, dir string) error {
	if errors.Is(err, study.ErrWall) {
		return fmt.Errorf("%w; resume with: fedfast study resume %s", err, oneline.Path(dir))
	}
	if ctx.Err() != nil && errors.Is(err, context.Canceled) {
		if !workdir.Holds(dir) && !workdir.HoldsSeeds(dir) {
			return errors.New("interrupted before the study started; there is nothing to resume")
		}
		return fmt.Errorf("interrupted; resume with: fedfast study resume %s", oneline.Path(dir))
	}
	return err
}

// terminalColumns returns what tells the present width of the terminal that w is,
// nil where w is no terminal.
func terminalColumns(w io.Writer) func() int {
	if !screen.Is(w) {
		return nil
	}
	return func() int { return screen.Columns(w) }
}

// head says in lines what is trained, how long and where, and notes about files and data that were
// not told before.
func (s *opened) head(a *app, setup *study.Setup, mode string) string {
	var b strings.Builder
	c := &setup.Config
	fmt.Fprint(&b, c.Method)
	if mode == config.ModeTune {
		by := slices.DeleteFunc([]string{c.Tuner.Name, c.ClientTuner.Name}, func(name string) bool { return name == "" })
		all := c.Budget.Tuners()
		fmt.Fprintf(&b, " tuned by %s: %s in trials of at most %s", strings.Join(by, " and "), oneline.Count(all.Rounds, c.Budget.Unit()), oneline.Digits(all.TrialRounds))
	} else {
		fmt.Fprintf(&b, ": %s of %s", oneline.Count(c.Rounds, "round"), oneline.Count(c.Cohort, "client"))
	}
	fmt.Fprintf(&b, ", seed %d", c.Seed)
	if s.quick {
		fmt.Fprint(&b, ", preset "+quickstart)
	}
	if s.Study != nil { // as of a table of a paper
		fmt.Fprint(&b, ", in "+s.Path())
	}
	fmt.Fprintln(&b)
	fmt.Fprintf(&b, "%s: %d clients, %s with %s parameters\n", setup.Data.Name, len(setup.Data.Clients), cmp.Or(c.Model.Name, "custom network"), oneline.Digits(setup.Model.NumParams()))
	notes := s.places.Notes()
	if why := c.Impatient(mode); why != "" {
		notes = append(notes, "eval.patience: "+why)
	}
	notes = append(notes, list.Of(setup.Data.Notes, func(note string) string { return setup.Data.Name + ": " + note })...)
	for _, note := range notes {
		if slices.Contains(a.told, note) {
			continue // with another seed
		}
		a.told = append(a.told, note)
		fmt.Fprintln(&b, note)
	}
	return b.String()
}

// directory is the value of a flag that names a directory: not "", as a variable of a shell that
// is not set gives it.
type directory string

// Set keeps the name.
func (d *directory) Set(name string) error {
	if name == "" {
		return errors.New("must name a directory; without the flag it is studies/DATE-NAME")
	}
	*d = directory(name)
	return nil
}

// String returns the name.
func (d *directory) String() string { return string(*d) }

// Type is the type of a flag of pflag.
func (*directory) Type() string { return "string" }
