package study

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/fedfast/fedfast/data"
	"github.com/fedfast/fedfast/fl"
	"github.com/fedfast/fedfast/fl/hyper"
	"github.com/fedfast/fedfast/fl/key"
	"github.com/fedfast/fedfast/fl/study/store"
	"github.com/fedfast/fedfast/nn"
	"github.com/fedfast/fedfast/nn/models"
	"github.com/fedfast/fedfast/tuners"
)

// Setup is what Run, Tune and Baseline need.
type Setup struct {
	// Config decides the result.
	Config Config
	// Data and Model come from Prepare.
	Data  *data.Federation
	Model *nn.Model
	// Tuner is the trial tuner, ClientTuner the client tuner; nil is none. A
	// Tuner that can be both, such as FedEx, is both when ClientTuner is nil.
	Tuner, ClientTuner tuners.Tuner
	// Workers is the number of client tasks that run at once; 0 is one a
	// processor.
	Workers int
	// Observer watches; nil is nobody.
	Observer Observer
	// Store keeps the study, so that another process can go on with it; nil
	// keeps nothing. A study of the same configuration that it holds is gone on
	// with; one of another configuration is a *ConfigError.
	Store *store.Store
	// KeepTrials leaves the last snapshot of every trial in the store, so that
	// studies that Share it need not train its rounds again.
	KeepTrials bool
	// Evaluated are models of a study whose rounds this one shares, with their
	// errors: a model among them is not evaluated again.
	Evaluated []Chosen
	// Environment says where the study runs, as JSON in its record.
	Environment any
	// SnapshotEvery is the least time between two snapshots of a running trial
	// outside of rungs and of the end; 0 is 30 s. A rung whose rounds took less
	// than a thirtieth of it goes without: they are run again faster.
	SnapshotEvery time.Duration
	// Log is told about failed trials and damaged files; nil drops that.
	Log *slog.Logger

	method fl.Method // nil is Config.Method; tests set another one
}

func (s *Setup) snapshotEvery() time.Duration {
	if s.SnapshotEvery == 0 {
		return 30 * time.Second
	}
	return s.SnapshotEvery
}

func (s *Setup) log() *slog.Logger {
	if s.Log == nil {
		return slog.New(slog.DiscardHandler)
	}
	return s.Log
}

// Prepare opens the federation and builds the model of a configuration. Where a
// small network stands in for the model of a preset, the configuration names it
// afterwards.
func Prepare(ctx context.Context, c *Config) (*data.Federation, *nn.Model, error) {
	fed, err := OpenData(ctx, c)
	if err != nil {
		return nil, nil, err
	}
	m, err := c.fitModel(fed)
	if err != nil {
		return nil, nil, err
	}
	if err := fl.CheckMemory(m, 1); err != nil {
		return nil, nil, err
	}
	if FromFile(c.Init) {
		w, err := fl.ReadSafetensors(c.Init, m)
		if err != nil {
			return nil, nil, fmt.Errorf("init: %w", err)
		}
		m = m.WithStart(w)
	}
	return fed, m, nil
}

// model builds the configured network for what the federation holds.
func (c *Config) model(fed *data.Federation) (*nn.Model, error) {
	input := nn.Shape{H: fed.H, W: fed.W, C: fed.C}
	if fed.Kind == data.Tokens {
		input = nn.Shape{Seq: fed.SeqLen, Vocab: fed.Vocab}
	}
	if c.Model.Name == "" {
		if len(c.Model.Layers) == 0 {
			return nil, fmt.Errorf("model: none is set; use one of %s or [[model.layers]]", strings.Join(models.Names(), ", "))
		}
		return models.FromLayers(models.WithInit(c.Model.Layers, c.drawnBy()), input, fed.Classes)
	}
	return models.New(c.Model.Name, models.Options{Classes: fed.Classes, Input: input, Init: c.drawnBy()})
}

// engine starts the workers for a set-up.
func (s *Setup) engine() (*fl.Engine, error) {
	c := &s.Config
	method, err := fl.MethodByName(c.Method)
	if err != nil {
		return nil, err
	}
	if s.method != nil {
		method = s.method
	}
	if c.Sampling != "with" && c.Sampling != "without" {
		return nil, fmt.Errorf("sampling = %q: must be \"with\" or \"without\" (replacement)", c.Sampling)
	}
	if s.Observer == nil {
		s.Observer = silent{}
	}
	return fl.New(fl.Config{
		Model: s.Model, Data: s.Data, Method: method, Cohort: c.Cohort, Replacement: c.Sampling == "with",
		Seed: c.Seed, Workers: s.Workers, HeadLayers: c.HeadLayers, Widths: c.Client.Widths, StateMemory: int64(c.Data.StateMemory) << 20,
	})
}

// Check returns an error for the first setting that cannot be used, as far as
// that can be said before data and tuners are opened.
func (c *Config) Check() error {
	if _, err := fl.MethodByName(c.Method); err != nil {
		return err
	}
	if known := models.Names(); c.Model.Name != "" && !slices.Contains(known, c.Model.Name) {
		return unknownName("model", c.Model.Name, known)
	}
	return errors.Join(append(c.checkKeys(), c.checkSet(), c.checkInit(), c.Client.Check(), c.Server.Check(), c.Score.check(c.Objective), c.Eval.check(), c.Tuner.check())...)
}

// CheckFor is Check for a command, ModeRun or ModeTune, that begins with the
// configuration: a run trains with its hyperparameters, a study with those of its
// space.
func (c *Config) CheckFor(mode string) error {
	if err := c.Check(); err != nil {
		return err
	}
	if mode == ModeTune {
		return c.CheckSpace()
	}
	method, err := fl.MethodByName(c.Method)
	if err != nil {
		return err
	}
	return checkHyper(c.hyper(), method)
}

// check returns an error for a fact about clients that is allowed twice.
func (t Tuner) check() error {
	for i, name := range t.Allow {
		if slices.Contains(t.Allow[:i], name) {
			return &key.Error{Key: "tuner.allow", Problem: fmt.Sprintf(" holds %q twice", name)}
		}
	}
	return nil
}

// checkKeys returns an error for each key whose value is not allowed. One that
// nobody has set is right, also where 0 or an empty text may not be set.
func (c *Config) checkKeys() []error {
	var errs []error
	given, unset := reflect.ValueOf(c).Elem(), DefaultConfig()
	for _, k := range keys {
		if _, ok := hyper.Find(k.Name); ok || reflect.DeepEqual(given.FieldByIndex(k.Index).Interface(), reflect.ValueOf(unset).FieldByIndex(k.Index).Interface()) {
			continue
		}
		errs = append(errs, k.Check(given))
	}
	return errs
}
