package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"runtime"
	"strings"
	"time"

	"github.com/klauspost/cpuid/v2"
	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/fedfast/fedfast/cmd/fedfast/internal/progress"
	"github.com/fedfast/fedfast/cmd/fedfast/internal/studydir"
	"github.com/fedfast/fedfast/cmd/fedfast/internal/table"
	"github.com/fedfast/fedfast/fl/study"
	"github.com/fedfast/fedfast/kernels"
	"github.com/fedfast/fedfast/tuners/host"
)

// quickstart is the preset of commands that are given neither a file nor one.
const quickstart = "quickstart"

// configOptions say which configuration a command works on.
type configOptions struct {
	preset, tuner, clientTuner string
	sets                       []string
}

func (o *configOptions) addFlags(cmd *cobra.Command) {
	var names []string
	for _, p := range study.Presets() {
		names = append(names, p.Name)
	}
	cmd.Flags().StringVar(&o.preset, "preset", "", "begin with a preset: "+strings.Join(names, ", "))
	cmd.Flags().StringArrayVar(&o.sets, "set", nil, "override a key of the file, such as --set client.lr=0.1 (repeatable)")
}

// load resolves the configuration. Its errors are wrong usage.
func (o *configOptions) load(a *app, args []string) (*study.Config, error) {
	src := study.Source{Preset: o.preset, Sets: o.sets, Tuner: o.tuner, ClientTuner: o.clientTuner}
	if len(args) > 0 {
		src.File = args[0]
	}
	if src.Preset == "" && src.File == "" {
		src.Preset = quickstart
	}
	if a.seedGiven {
		src.Seed = &a.seed
	}
	c, err := study.Load(src)
	if err != nil {
		return nil, usageError{err}
	}
	return c, nil
}

// studyOptions are the flags of run and tune.
type studyOptions struct {
	configOptions
	dir string
}

func (o *studyOptions) addFlags(cmd *cobra.Command) {
	o.configOptions.addFlags(cmd)
	cmd.Flags().StringVar(&o.dir, "study", "", "directory for the results (default studies/DATE-NAME)")
}

// loadChecked resolves the configuration and checks it as far as that needs
// neither data nor tuners.
func (o *studyOptions) loadChecked(a *app, args []string) (*study.Config, error) {
	c, err := o.load(a, args)
	if err != nil {
		return nil, err
	}
	if err := c.Check(); err != nil {
		return nil, usageError{err}
	}
	if o.dir == "" {
		o.dir = studydir.Default(time.Now(), c.Name)
	}
	if err := studydir.Check(o.dir); err != nil {
		return nil, usageError{err}
	}
	return c, nil
}

// environment is what env.json tells about where a study ran.
type environment struct {
	version
	Started string     `json:"started"`
	CPU     string     `json:"cpu"`
	Workers int        `json:"workers"`
	Tuners  []tunerRef `json:"tuners,omitempty"`
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
func (a *app) environment(used []host.Ref) environment {
	e := environment{version: thisVersion(), Started: time.Now().UTC().Format(time.RFC3339), CPU: cpuid.CPU.BrandName, Workers: a.workers}
	if e.Workers == 0 {
		e.Workers = runtime.GOMAXPROCS(0)
	}
	for _, r := range used {
		e.Tuners = append(e.Tuners, refOf(r))
	}
	return e
}

// watch is the observer of a study: a display and a directory.
type watch struct {
	*progress.Display
	*studydir.Dir
}

var _ study.Observer = watch{}

// Progress shows a round.
func (w watch) Progress(p study.Progress) { w.Update(p) }

// Close ends the display and the directory.
func (w watch) Close() error {
	w.Display.Close()
	return w.Dir.Close()
}

// watch opens the display and the directory of a study of some rounds.
func (a *app) watch(s *study.Setup, dir string, rounds int, used []host.Ref) (watch, error) {
	d, err := studydir.Create(dir, &s.Config, a.environment(used))
	if err != nil {
		return watch{}, err
	}
	display := progress.New(a.err, isTerminal(a.err), rounds, head(s), time.Now)
	a.logs.redirect(display)
	return watch{display, d}, nil
}

func isTerminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
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
func (a *app) prepare(ctx context.Context, c *study.Config) (study.Setup, error) {
	fed, model, err := study.Prepare(ctx, c)
	if err != nil {
		return study.Setup{}, err
	}
	return study.Setup{Config: *c, Data: fed, Model: model, Workers: a.workers}, nil
}
