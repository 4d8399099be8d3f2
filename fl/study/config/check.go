package config

import (
	"errors"
	"fmt"
	"reflect"
	"slices"

	"github.com/fedfast/fedfast/fl"
	"github.com/fedfast/fedfast/fl/hyper"
	"github.com/fedfast/fedfast/internal/key"
	"github.com/fedfast/fedfast/nn/models"
)

// Check returns an error for the first setting that cannot be used, as far as
// that can be said before data and tuners are opened.
func (c *Config) Check() error {
	if _, err := fl.MethodByName(c.Method); err != nil {
		return err
	}
	if known := models.Names(); c.Model.Name != "" && !slices.Contains(known, c.Model.Name) {
		return unknownName("model", c.Model.Name, known)
	}
	return errors.Join(append(c.checkKeys(), c.checkHead(), c.checkSet(), c.checkInit(), c.Client.Check(), c.Server.Check(), c.Score.check(c.Objective), c.Eval.check(), c.Tuner.check(), c.Loss.check())...)
}

// checkHead returns an error for a head that the method does not have.
func (c *Config) checkHead() error {
	m, err := fl.MethodByName(c.Method)
	if err != nil || c.HeadLayers == 1 || len(c.Client.Trainable) > 0 || slices.Contains(m.Settings(), "head_layers") {
		return err
	}
	return &key.Error{Key: "head_layers", Problem: fmt.Sprintf(" = %d: method %q treats no head apart; leave it out", c.HeadLayers, c.Method)}
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
	return method.CheckParams(c.Client.Client, c.Server)
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
	given, unset := reflect.ValueOf(c).Elem(), Default()
	for _, k := range allKeys() {
		if _, ok := hyper.Find(k.Name); ok || reflect.DeepEqual(given.FieldByIndex(k.Index).Interface(), reflect.ValueOf(unset).FieldByIndex(k.Index).Interface()) {
			continue
		}
		errs = append(errs, k.Check(given))
	}
	return errs
}

// facts are the probes that measure nothing but tell about a client.
var facts = []string{"client_key", "examples_train", "examples_val"}

// Allows returns an error for an unknown probe, and for a fact about
// clients that the study does not let tuners see. A scalar is always a fact.
func (c *Config) Allows(name string, scalar bool) error {
	if (scalar || slices.Contains(facts, name)) && !slices.Contains(c.Tuner.Allow, name) {
		return fmt.Errorf("it asks for %q of each client, but tuner.allow lists only %q", name, c.Tuner.Allow)
	}
	return fl.CheckProbes(name)
}
