package repro

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/fedfast/fedfast/fl/study"
	"github.com/fedfast/fedfast/fl/study/config"
	"github.com/fedfast/fedfast/fl/study/workdir"
	"github.com/fedfast/fedfast/nn"
	"github.com/fedfast/fedfast/nn/models"
	"github.com/fedfast/fedfast/plugins"
)

// Entry is a cell as `fedfast repro list` shows it.
type Entry struct {
	Name      string     `json:"name"`
	Paper     string     `json:"paper"`
	Where     string     `json:"where"`
	Unit      string     `json:"unit,omitempty"`
	Published *Published `json:"published"`
	// Instead stands in place of a published number that is null.
	Instead string `json:"instead,omitempty"`
	// Data is the set that it needs, AtHand whether that was found.
	Data   string `json:"data"`
	AtHand bool   `json:"at_hand"`
	// Training names what measures it; cells of one training cost it once.
	Training string `json:"training,omitempty"`
	Seeds    int    `json:"seeds,omitempty"`
	// SecondsEstimate is how long the first seed of the training takes on this machine with the
	// paper's whole data, from FLOP, its operations, and a short probe; null for a cell that
	// cannot be run. A seed that shares another one's rounds takes less.
	SecondsEstimate *float64 `json:"seconds_estimate"`
	FLOP            float64  `json:"flop,omitempty"`
	Why             string   `json:"why,omitempty"`
}

// List describes cells. The estimates are for a number of workers; 0 means one per processor.
// It looks whether the data are at hand, and opens none.
func List(ctx context.Context, cells []Cell, o Options, workers int) ([]Entry, error) {
	a := &appraiser{workdir.NewAppraiser(workers), map[string]*nn.Model{}}
	known := map[string]Entry{}
	var out []Entry
	for _, c := range cells {
		e := Entry{Name: c.Name, Paper: c.Paper, Where: c.Where, Unit: c.Unit, Published: c.Published, Instead: c.Instead, Why: c.Why}
		if t := c.Training; t != nil {
			e.Data, e.Training, e.Seeds = t.Needs, t.Key, o.seeds(t)
			_, err := Locate(t.Needs, o.Data)
			e.AtHand = err == nil
			one, ok := known[t.Key]
			if !ok {
				if err := a.cost(ctx, t, o, &one); err != nil {
					return nil, fmt.Errorf("%s: %w", c.Name, err)
				}
				known[t.Key] = one
			}
			e.SecondsEstimate, e.FLOP, e.Why = one.SecondsEstimate, one.FLOP, one.Why
		}
		out = append(out, e)
	}
	return out, nil
}

// appraiser estimates seeds, with the networks that it has built already.
type appraiser struct {
	*workdir.Appraiser
	networks map[string]*nn.Model
}

// cost writes to e what a seed takes, or why that is not known.
func (a *appraiser) cost(ctx context.Context, t *Training, o Options, e *Entry) error {
	if t.Board {
		e.Why = "two minutes of a core with its seeds"
		return nil
	}
	c, _, err := t.config(o, 1, "")
	if err != nil {
		return err
	}
	set, ok := papers().Data[t.Needs]
	if c.Budget.TrialSeconds > 0 || !ok {
		e.Why = "its data say how long it takes"
		return nil
	}
	key := fmt.Sprint(c.Model.Name, " ", set.Classes, " ", c.Precision)
	if a.networks[key] == nil {
		m, err := set.network(c)
		if err == nil {
			m, err = c.WithPrecision(m)
		}
		if err != nil {
			return err
		}
		a.networks[key] = m
	}
	s := &study.Setup{Config: *c, Model: a.networks[key], Tuner: plugins.Builtin()[c.Tuner.Name]}
	if name := c.ClientTuner.Name; name != "" {
		s.ClientTuner = plugins.Builtin()[name]
	}
	sides, rounds, err := a.Appraise(ctx, s, t.Mode, set.counts(c))
	e.SecondsEstimate, e.FLOP = new(sides.Seconds+rounds.Seconds), sides.FLOP+rounds.FLOP
	return err
}

// dataSet is the size of a whole set of data, and where it may lie: in one of Folders below what was named, by one of
// Files, which is what the reader is given when Whole is set, else their folder is.
type dataSet struct {
	Classes     int
	Clients     int      // natural ones
	Train, Test float64  // examples of all clients
	Input       nn.Shape // of an example, where studies have layers of their own

	Folders, Files []string
	Whole          bool
	Elsewhere      string // a folder in which the reader looks by itself
}

// network is the one that a configuration names, or has as layers.
func (f dataSet) network(c *config.Config) (*nn.Model, error) {
	if c.Model.Name == "" {
		return models.FromLayers(c.Model.Layers, f.Input, f.Classes)
	}
	return models.New(c.Model.Name, models.Options{Classes: f.Classes})
}

// counts returns how a configuration splits the whole set.
func (f dataSet) counts(c *config.Config) workdir.Counts {
	n := workdir.Counts{Clients: f.Clients, Proxy: float64(c.Data.ProxyTest)}
	if c.Data.Partition != "" {
		n.Clients = c.Data.Clients
	}
	share := float64(max(n.Clients, 1))
	n.Train, n.Test = f.Train/share, f.Test/share
	whole := c.Data.Samples == 0 && len(c.Data.Sizes) == 0
	switch {
	case c.Data.Partition == "" || whole:
	case len(c.Data.Sizes) > 0:
		n.Train = 0
		for _, size := range c.Data.Sizes {
			n.Train += float64(size) / float64(len(c.Data.Sizes))
		}
	default:
		n.Train = float64(c.Data.Samples)
	}
	if c.Data.MaxSamples > 0 {
		n.Train = min(n.Train, float64(c.Data.MaxSamples))
	}
	var train, val, test float64
	if _, err := fmt.Sscanf(c.Data.Split, "%g/%g/%g", &train, &val, &test); err != nil { // the last part is "files"
		n.Train, n.Val = n.Train*train/100, n.Train*val/100
		return n
	}
	all := n.Train
	if c.Data.Partition == "" || whole { // else all that a client is dealt is split
		all += n.Test
	}
	if c.Data.MaxSamples > 0 {
		all = min(all, float64(c.Data.MaxSamples))
	}
	n.Train, n.Val, n.Test = all*train/100, all*val/100, all*test/100
	return n
}

// Locate returns where a set of data lies in a directory, or in a folder of it that
// has the set's name. Where the reader finds the data by itself it is the empty
// path. The error says what was looked for.
func Locate(set, dir string) (string, error) {
	p := papers().Data[set]
	if dir != "" {
		for _, folder := range p.Folders {
			for _, file := range p.Files {
				path := filepath.Join(dir, filepath.FromSlash(folder))
				if !exists(filepath.Join(path, file)) {
					continue
				}
				if p.Whole {
					path = filepath.Join(path, file)
				}
				return path, nil
			}
		}
	}
	if p.Elsewhere != "" && exists(filepath.Join(p.Elsewhere, p.Files[0])) {
		return "", nil
	}
	where := "neither --data nor FEDFAST_DATA is set"
	if dir != "" {
		where = "there is no " + strings.Join(p.Files, " or ") + " in " + dir + " or in one of its folders " + strings.Join(p.Folders[1:], ", ")
	}
	return "", fmt.Errorf("data %s: %s; download it with `fedfast data fetch`, if available", set, where)
}
