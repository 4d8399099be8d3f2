package config

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/fedfast/fedfast/data"
	"github.com/fedfast/fedfast/fl"
	"github.com/fedfast/fedfast/fl/hyper"
	"github.com/fedfast/fedfast/internal/key"
	"github.com/fedfast/fedfast/nn"
	"github.com/fedfast/fedfast/nn/models"
)

// Check returns an error for the first invalid setting, as far as it can be detected
// before data and tuners are opened.
func (c *Config) Check() error {
	if _, err := fl.MethodByName(c.Method); err != nil {
		return err
	}
	if known := models.Names(); c.Model.Name != "" && !slices.Contains(known, c.Model.Name) {
		return key.Unknown("model", clip(c.Model.Name), known)
	}
	_, badUpdate := c.Update.Chain()
	aggregation := c.Aggregation()
	_, badAggregator := aggregation.Aggregator()
	return errors.Join(append(
		c.checkKeys(), badUpdate, badAggregator, c.checkSet(), c.checkInit(), c.Fleet.Check(), c.Client.Check(),
		c.Server.Check(), c.checkDP(), c.Score.check(c.Objective), c.Eval.check(), c.checkBaselines(),
		c.checkBudget(), c.checkAim(), c.checkAims(), c.checkCohorts(), c.Tuner.check(), c.checkFrom(),
		c.Loss.check(),
	)...)
}

// CheckFor is like Check, for a command, ModeRun or ModeTune: a run trains with the
// configured hyperparameters, a study with those of its space.
func (c *Config) CheckFor(mode string) error {
	if err := c.Check(); err != nil {
		return err
	}
	if mode == ModeTune {
		if err := c.checkPrivateTuning(); err != nil {
			return err
		}
		return c.CheckSpace()
	}
	if _, err := c.Aggregator.Aggregator(); err != nil { // whatever the space has
		return err
	}
	method, err := fl.MethodByName(c.Method)
	if err != nil {
		return err
	}
	return method.CheckParams(c.Client.Client, c.Server)
}

// check returns an error for a fact about clients that is listed twice.
func (t Tuner) check() error {
	for i, name := range t.Allow {
		if slices.Contains(t.Allow[:i], name) {
			return &key.Error{Key: "tuner.allow", Problem: fmt.Sprintf(": %q is listed twice", name)}
		}
	}
	return nil
}

// checkFrom returns an error for a study that cannot begin with trials of others.
func (c *Config) checkFrom() error {
	from := c.Tuner.From
	refuse := func(problem string) error { return &key.Error{Key: "tuner.from", Problem: problem} }
	switch {
	case len(from) == 0:
		return nil
	case c.Private():
		return refuse(": what other studies found is not in the account of dp.epsilon; leave it out")
	case !c.Budget.InRounds() || c.ToGoal():
		return refuse(": trials of other studies count rounds; use budget.rounds, and not seconds_to_goal")
	}
	for i, dir := range from {
		if dir == "" || slices.Contains(from[:i], dir) {
			return refuse(fmt.Sprintf(": %q is empty or listed twice; list each directory of a finished study once", dir))
		}
	}
	return nil
}

// checkKeys returns an error for each key whose value is not allowed. A key that is not
// set is valid, even if 0 or an empty string is not allowed. Hyperparameters, the fleet,
// updates and aggregators have checks of their own.
func (c *Config) checkKeys() []error {
	var errs []error
	given, unset := reflect.ValueOf(c).Elem(), Default()
	for _, k := range allKeys() {
		if _, ok := hyper.Find(k.Name); ok || strings.HasPrefix(k.Name, "fleet.") || strings.HasPrefix(k.Name, "update.") ||
			strings.HasPrefix(k.Name, "aggregator.") || reflect.DeepEqual(given.FieldByIndex(k.Index).Interface(),
			reflect.ValueOf(unset).FieldByIndex(k.Index).Interface()) {
			continue
		}
		err := k.Check(given)
		if problem := unused(k, c.Method, &c.Time, c.Sampling); err == nil && problem != "" && !c.trainsHead(k.Name) {
			err = c.refused(k, k.Name, problem)
		}
		errs = append(errs, err)
	}
	return errs
}

// facts are the probes that describe a client instead of measuring it.
var facts = []string{"client_key", "examples_train", "examples_val"}

// Allows returns an error for an unknown probe, and for a fact about clients that tuners
// may not see. A scalar is always a fact.
func (c *Config) Allows(name string, scalar bool) error {
	if (scalar || slices.Contains(facts, name)) && !slices.Contains(c.Tuner.Allow, name) {
		return fmt.Errorf("requests %q of each client, but tuner.allow has only %q", name, c.Tuner.Allow)
	}
	return fl.Plan{Probes: []string{name}}.CheckProbes()
}

// Loss holds the keys loss.*.
type Loss struct {
	// training loss, as in PyTorch; default: cross_entropy for classes (logistic has one output for two of
	// them), sigmoid for multi-label data, squared for regression
	Name string `toml:"name" also:"criterion loss_function"`
	// label smoothing of cross_entropy: the share of a label that is spread over all classes
	LabelSmoothing float64 `toml:"label_smoothing" in:"[0, 1)" also:"smoothing"`
	// one weight per class: cross_entropy becomes the weighted mean, sigmoid multiplies the terms of
	// positive labels; default: equal weights
	ClassWeights []float64 `toml:"class_weights" in:"[0, inf)" also:"weight pos_weight"`
	// with sigmoid, the number of largest outputs that count as predictions, for recall and the error 1 -
	// recall; default: 5, or 1 for up to 5 outputs
	RecallAt int `toml:"recall_at" in:"[1, inf)" also:"top_k k"`
	// Balanced takes all training samples / (classes x those of the class) as weights.
	//
	// class weights by the classes' shares, from counts that clients send once
	Balanced bool `toml:"balanced"`
	// Options are the options of the named loss.
	//
	// an option of the loss, such as delta of huber; fedfast list losses NAME shows all
	Options map[string]any `toml:"options" also:"delta beta"`
}

// of returns the loss for the data's target. The error names an option that the loss
// does not have.
func (l Loss) of(t data.Target) (nn.Loss, error) {
	loss := nn.Loss{Kind: nn.LossKind(l.Name), Smoothing: l.LabelSmoothing, Weights: l.ClassWeights, Top: l.RecallAt}
	if l.Name == "" {
		switch t {
		case data.ManyLabels:
			loss.Kind = nn.Sigmoid
		case data.Numbers:
			loss.Kind = nn.Squared
		case data.OneClass:
		}
	}
	kind, err := loss.Type()
	if err != nil {
		return loss, err
	}
	loss.Options, err = nn.ReadOptions(kind.Options, l.Options)
	return loss, err
}

// check returns an error for options that the loss does not have; those of a loss that
// is not named are refused.
func (l Loss) check() error {
	t, err := nn.Loss{Kind: nn.LossKind(l.Name)}.Type()
	if err != nil {
		return nil // an error of loss.name
	}
	return checkOptions("loss.options", t.Options, l.Options)
}

// balance sets the weights of a loss by the classes' training samples of all clients.
func (c *Config) balance(loss *nn.Loss, fed *data.Federation) error {
	const problem = "balanced weighs classes by their counts; "
	switch {
	case c.Private():
		return errors.New(problem + "those of the clients have no noise; with dp, leave it out and set loss.class_weights")
	case len(c.Loss.ClassWeights) > 0 || fed.Target != data.OneClass:
		return errors.New(problem + "leave it out with loss.class_weights and where samples do not have one class each")
	}
	counts, all := make([]int, fed.Classes), 0
	for i := range fed.Clients {
		own, err := fed.Clients[i].Train.ClassCounts(fed.Classes)
		if err != nil {
			return err
		}
		for class, n := range own {
			counts[class], all = counts[class]+n, all+n
		}
	}
	for _, n := range counts {
		loss.Weights = append(loss.Weights, float64(all)/float64(len(counts)*max(1, n)))
	}
	note(fed, "for class weights (loss.balanced) each client sends counts of %d bytes, once", 8*len(counts))
	return nil
}

// withLoss returns the model with the configured loss.
func (c *Config) withLoss(m *nn.Model, fed *data.Federation) (*nn.Model, error) {
	loss, err := c.Loss.of(fed.Target)
	if err == nil && c.Loss.Balanced {
		err = c.balance(&loss, fed)
	}
	if err == nil {
		m, err = m.WithLoss(loss)
	}
	if err != nil {
		return nil, &key.Error{Key: "loss", Problem: fmt.Sprintf(": %v", err)}
	}
	return m, nil
}
