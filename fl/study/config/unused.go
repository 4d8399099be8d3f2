package config

import (
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/fedfast/fedfast/fl"
	"github.com/fedfast/fedfast/fl/fleet"
	"github.com/fedfast/fedfast/internal/key"
	"github.com/fedfast/fedfast/internal/list"
	"github.com/fedfast/fedfast/tuners"
)

// CheckSet returns an error for the first key, by name, that the study file or an assignment sets
// and that has no effect for what a command trains, even if its value is the default. Study files
// are shared: one may have keys of both ModeRun and ModeTune, and such as an assignment of another
// key, of the method for example, leaves without effect; but an assignment that only the other
// command uses is refused. An empty mode is neither. An assignment may take back what a preset or a
// file sets. What presets and records say is not checked.
func (p Places) CheckSet(c *Config, mode string) error {
	for _, name := range slices.Sorted(maps.Keys(p.of)) {
		open, _ := openKey(name)
		i := slices.IndexFunc(keys, func(k key.Key) bool { return k.Name == name || open != "" && k.Name == open })
		at := p.of[name]
		if i < 0 || at.by == byPreset {
			continue
		}
		problem := ""
		if at.by == byFile {
			problem = p.file.unused(keys[i])
		} else if problem = c.elsewhere(keys[i], mode); problem == "" && !at.over {
			problem = c.unused(keys[i])
		}
		if problem != "" {
			return p.Explain(c.refused(keys[i], name, problem))
		}
	}
	return nil
}

// refused returns the error for a key, or one below an open key, that has a value.
func (c *Config) refused(k key.Key, name, problem string) error {
	if name == k.Name {
		problem = fmt.Sprintf(" = %s: %s", (&writer{}).literal(reflect.Indirect(reflect.ValueOf(c).Elem().FieldByIndex(k.Index)).Interface()), problem)
	} else {
		problem = ": " + problem
	}
	return &key.Error{Key: name, Problem: problem}
}

// elsewhere returns why a command of a mode does not use a key, empty if it does.
func (c *Config) elsewhere(k key.Key, mode string) string {
	instead := map[string]string{"rounds": ", or set budget.rounds", "budget.rounds": ", or set rounds", "budget.trial_rounds": ", or set rounds"}
	switch {
	case mode != "" && k.By != "" && k.By != mode:
		return fmt.Sprintf("only `fedfast %s` uses it; leave it out%s", k.By, instead[k.Name])
	case k.Name == "eval.patience" && c.Impatient(mode) != "":
		return c.Impatient(mode)
	case mode == ModeTune && c.searches(k.Name) && !c.Compares():
		return fmt.Sprintf("the study searches it; set %s, or remove it there with --set '%[1]s=%s'", SpaceKey(strconv.Quote(k.Name)), none)
	case strings.HasPrefix(k.Name, "client_tuner.") && c.ClientTuner.Name == "" && k.Name != "client_tuner.name":
		return "there is no client tuner; set client_tuner.name, or leave it out"
	}
	return ""
}

// Impatient returns why eval.patience ends no training of a mode, empty if it does or is not set.
func (c *Config) Impatient(mode string) string {
	if mode != ModeTune || c.Eval.Patience == 0 || c.Budget.TrialRounds == c.Budget.Rounds {
		return ""
	}
	return "trials end by budget.trial_rounds; leave it out, or use a tuner that ends the worst early, such as asha"
}

// unused returns why a key has no effect whatever the command is, empty if it has one.
func (c *Config) unused(k key.Key) string {
	table, _, _ := strings.Cut(k.Name, ".")
	switch {
	case table == "update":
		return c.Update.Ignores(k.Name)
	case table == "fleet":
		return c.Fleet.Ignores(k)
	case table == "aggregator":
		if a, err := c.Aggregator.Aggregator(); err == nil {
			return a.Ignores(k.Name)
		}
	case table == "dp" && !c.Private() && k.Name != "dp.epsilon" && k.Name != "dp.noise":
		return "only private training uses it; set dp.epsilon, such as 8, or leave it out"
	case table == "finalists" && c.Select != SelectFinalists:
		return fmt.Sprintf("not used with select = %q; leave it out", c.Select)
	case slices.Contains(adaptive, k.Name) && !c.MayAdapt():
		return "only allowed with client.optimizer = adam or adamw"
	case (k.Name == "budget.rounds" || k.Name == "budget.trial_rounds") && !c.Budget.InRounds():
		return fmt.Sprintf("not used with %s; leave one of them out", c.Budget.Key())
	case k.Name == "server.weighted" && c.Private() && c.DP.Mechanism != fl.SampleNoise:
		return "with dp all clients weigh equally; leave it out"
	case k.Name == "server.weighted" && c.Time.Asynchronous():
		return fmt.Sprintf("with time.mode = %q updates weigh by time.weighted and time.staleness; leave it out", c.Time.Mode)
	case k.Name == "server.weighted" && c.Sampling == fl.SamplingSize:
		return `with sampling = "size" all clients weigh equally; leave it out`
	case k.Name == "server.weighted" && slices.Contains(unweighing, c.Aggregator.Name):
		return fmt.Sprintf("with aggregator.name = %q all clients count equally; leave it out", c.Aggregator.Name)
	case c.trainsHead(k.Name):
		return ""
	}
	return unused(k, c.Method, &c.Time, c.Sampling)
}

// unweighing are the aggregators that read no weights.
var unweighing = []string{"median", "trimmed", "krum", "multikrum"}

// adaptive are the hyperparameters of adaptive local optimizers.
var adaptive = []string{"client.beta1", "client.beta2", "client.eps"}

// searches reports whether all trials of a study take a hyperparameter from its space.
func (c *Config) searches(name string) bool {
	dim, err := tuners.ParseDim(name, c.Space[name])
	return c.Space[name] != nil && err == nil && dim.When == nil && c.ClientTuner.Name == ""
}

// trainsHead reports whether a key is head_layers and client.trainable may name the head.
func (c *Config) trainsHead(name string) bool {
	return name == "head_layers" && len(c.Client.Trainable) > 0
}

// unused returns why a method, and a server that works so and draws clients by a kind of sampling,
// do not use a key, empty if they do.
func unused(k key.Key, method string, t *fleet.Time, sampling string) string {
	switch {
	case k.Name == "data.state_memory": // bounds what there is
	case strings.HasPrefix(k.Name, "sampler."):
		if !k.UsedWith(sampling) {
			return fmt.Sprintf("only sampling = %q uses it; leave it out", strings.Join(k.With, " and "))
		}
	case strings.HasPrefix(k.Name, "time."):
		if !k.UsedWith(t.Mode) && slices.Contains([]string{fleet.Sync, fleet.Buffered, fleet.Async, fleet.Window}, t.Mode) {
			return fmt.Sprintf("not used with time.mode = %q, but with %s; leave it out", t.Mode, strings.Join(k.With, " and "))
		}
		if shape := shapeOf(k.Name); shape != "" && shape != t.Staleness {
			return fmt.Sprintf("not used with time.staleness = %q, but with %q; leave it out", t.Staleness, shape)
		}
	default:
		if m, err := fl.MethodByName(method); err == nil {
			return m.Ignores(k.Name)
		}
	}
	return ""
}

// Places records where the keys of a configuration were set: the line of a file, or an
// assignment. The zero Places is empty.
type Places struct {
	of    map[string]place
	file  Config            // without assignments
	notes map[string]string // by key, where files of relative names were found
}

// Notes says in a line each where the files were found that a study file names relatively.
func (p Places) Notes() (all []string) {
	return list.Of(slices.Sorted(maps.Keys(p.notes)), func(key string) string { return p.notes[key] })
}

// note notes where the file of a key was found.
func (p *Places) note(key, text string) {
	if p.notes == nil {
		p.notes = map[string]string{}
	}
	p.notes[key] = text
}

// place is where a key was set, by whom, and whether a lower layer had set it.
type place struct {
	at   func() string
	by   layer
	over bool
}

// layer says who sets keys: a preset or a record, the user's file, or the user's assignments.
type layer int

const (
	byPreset layer = iota
	byFile
	bySet
)

// set records where a layer sets a key, replacing lower layers.
func (p *Places) set(key string, by layer, at func() string) {
	if p.of == nil {
		p.of = map[string]place{}
	}
	_, over := p.of[key]
	p.of[key] = place{at, by, over}
	maps.DeleteFunc(p.notes, func(of, _ string) bool { return of == key || strings.HasPrefix(of, key+"[") })
}

// Explain prefixes an error about a key, or each of joined ones, with the place where
// the key was set, if known.
func (p Places) Explain(err error) error {
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		all := list.Of(joined.Unwrap(), p.Explain)
		return errors.Join(all...)
	}
	about, ok := errors.AsType[*key.Error](err)
	if !ok {
		return err
	}
	if place, ok := p.of[about.Key]; ok {
		return fmt.Errorf("%s: %w", place.at(), err)
	}
	return err
}
