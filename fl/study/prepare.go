package study

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"time"

	"github.com/fedfast/fedfast/data"
	"github.com/fedfast/fedfast/fl"
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

// Prepare opens the federation and builds the model of a configuration.
func Prepare(ctx context.Context, c *Config) (*data.Federation, *nn.Model, error) {
	fed, err := data.Open(ctx, c.data())
	if err != nil {
		return nil, nil, err
	}
	m, err := c.model(fed)
	if err != nil {
		return nil, nil, err
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
		return models.FromLayers(c.Model.Layers, input, fed.Classes)
	}
	return models.New(c.Model.Name, models.Options{Classes: fed.Classes, Input: input})
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
	if c.Model.Name != "" {
		if err := oneOf("model", c.Model.Name, models.Names()...); err != nil {
			return err
		}
	}
	return errors.Join(
		oneOf("sampling", c.Sampling, "without", "with"),
		oneOf("objective", c.Objective, tuners.MetricError, tuners.MetricLoss),
		oneOf("nonfinite", c.Nonfinite, NonfiniteDrop, NonfiniteFail),
		oneOf("target", c.Target, tuners.TargetPersonalized, tuners.TargetGlobal),
		atLeast(1, "rounds", c.Rounds),
		atLeast(1, "cohort", c.Cohort),
		c.client().Check(),
		c.server().Check(),
		inUnit("score.discount", c.Score.Discount),
		c.Score.check(c.Objective),
		atLeast(1, "head_layers", c.HeadLayers),
		atLeast(0, "data.state_memory", c.Data.StateMemory),
		atLeast(0, "eval.clients", c.Eval.Clients),
		atLeast(0, "eval.every", c.Eval.Every),
		atLeast(0, "eval.every_clients", c.Eval.EveryClients),
		inUnit("eval.goal", c.Eval.Goal),
		c.Eval.check(),
	)
}

func oneOf(key, value string, valid ...string) error {
	if slices.Contains(valid, value) {
		return nil
	}
	return fmt.Errorf("%s = %q: must be one of %s", key, value, strings.Join(valid, ", "))
}

func atLeast(least int, key string, n int) error {
	if n < least {
		return fmt.Errorf("%s = %d: must be %d or more", key, n, least)
	}
	return nil
}

func inUnit(key string, x float64) error {
	if !(x >= 0 && x <= 1) {
		return fmt.Errorf("%s = %v: must be in [0, 1]", key, x)
	}
	return nil
}
