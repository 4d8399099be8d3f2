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
	set, ok := fullSets[t.Needs]
	if c.Budget.TrialSeconds > 0 || !ok {
		e.Why = "its data say how long it takes"
		return nil
	}
	key := fmt.Sprint(c.Model.Name, " ", set.classes, " ", c.Precision)
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

// fullSet is the size of a whole set of data, as its authors or METHODS' sources
// state it.
type fullSet struct {
	classes     int
	clients     int      // natural ones
	train, test float64  // examples of a client, or, where clients are dealt, of all
	input       nn.Shape // of an example, where studies have layers of their own
}

// network is the one that a configuration names, or has as layers.
func (f fullSet) network(c *config.Config) (*nn.Model, error) {
	if c.Model.Name == "" {
		return models.FromLayers(c.Model.Layers, f.input, f.classes)
	}
	return models.New(c.Model.Name, models.Options{Classes: f.classes})
}

var fullSets = map[string]fullSet{
	"leaf-femnist":      {62, 3550, 0.9 * 805263.0 / 3550, 0.1 * 805263.0 / 3550, nn.Shape{H: 28, W: 28, C: 1}},
	"leaf-shakespeare":  {101, 1129, 4226158.0 / 1129, 0, nn.Shape{}},
	"cifar10":           {10, 0, 50_000, 10_000, nn.Shape{H: 32, W: 32, C: 3}},
	"cifar100":          {100, 0, 50_000, 10_000, nn.Shape{H: 32, W: 32, C: 3}},
	"fashion-mnist":     {10, 0, 60_000, 10_000, nn.Shape{H: 28, W: 28, C: 1}},
	"qmnist":            {10, 539, 60_000.0 / 539, 10_000.0 / 539, nn.Shape{H: 28, W: 28, C: 1}},
	"heart":             {2, 4, 606.0 / 4, 314.0 / 4, nn.Shape{H: 1, W: 1, C: 21}},
	"shakespeare-roles": {80, 44, 199_781.0 / 44, 0, nn.Shape{Seq: 80, Vocab: 80}},
	"stackexchange":     {10_004, 190, 7325.0 / 190, 1009.0 / 190, nn.Shape{}}, // users of beer.stackexchange.com with ten sentences and more
	"stackoverflow":     {10_004, 342_477, 135818730.0 / 342477, 16586035.0 / 342477, nn.Shape{}},
}

// counts returns how a configuration splits the whole set.
func (f fullSet) counts(c *config.Config) workdir.Counts {
	n := workdir.Counts{Clients: f.clients, Train: f.train, Test: f.test, Proxy: float64(c.Data.ProxyTest)}
	whole := c.Data.Samples == 0 && len(c.Data.Sizes) == 0
	if c.Data.Partition != "" {
		n.Clients, n.Train = c.Data.Clients, float64(c.Data.Samples)
		if c.Data.Samples == 0 && f.clients > 0 { // all that the set has
			n.Train = f.train * float64(f.clients) / float64(n.Clients)
		} else if whole {
			n.Train = f.train / float64(n.Clients)
		}
		if len(c.Data.Sizes) > 0 {
			n.Train = 0
			for _, size := range c.Data.Sizes {
				n.Train += float64(size) / float64(len(c.Data.Sizes))
			}
		}
		n.Test = f.test / float64(n.Clients)
		if f.clients > 0 {
			n.Test = f.test * float64(f.clients) / float64(n.Clients)
		}
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

// place says where a set of data may lie: in one of Folders below what was named,
// by one of Files, which is what the reader is given when Whole is set, else their
// folder is.
type place struct {
	folders, files []string
	whole          bool
	elsewhere      string // a folder in which the reader looks by itself
}

var places = map[string]place{
	"leaf-femnist":      {folders: []string{"", "femnist", "leaf-femnist"}, files: []string{"train"}},
	"leaf-shakespeare":  {folders: []string{"", "moby", "shakespeare/moby", "shakespeare", "leaf-shakespeare"}, files: []string{"raw_data.txt.gz", "raw_data.txt"}, whole: true},
	"cifar10":           {folders: []string{"", "cifar-10-batches-bin", "cifar10/cifar-10-batches-bin", "cifar10"}, files: []string{"data_batch_1.bin.gz", "data_batch_1.bin"}},
	"cifar100":          {folders: []string{"", "cifar-100-binary", "cifar100/cifar-100-binary", "cifar100"}, files: []string{"train.bin.gz", "train.bin"}},
	"fashion-mnist":     {folders: []string{"", "fashion-mnist"}, files: []string{"train-images-idx3-ubyte.gz", "train-images-idx3-ubyte"}, elsewhere: "/usr/share/datasets/fashion-mnist"},
	"qmnist":            {folders: []string{"", "mnist", "qmnist"}, files: []string{"qmnist-train-labels-idx2-int.gz", "qmnist-train-labels-idx2-int"}},
	"shakespeare-roles": {folders: []string{"", "leaf_small", "shakespeare/leaf_small"}, files: []string{"train"}},
	"heart":             {folders: []string{"", "heart"}, files: []string{"processed.cleveland.data"}},
	"stackexchange":     {folders: []string{"", "beer.stackexchange.com", "stackexchange/beer.stackexchange.com"}, files: []string{"Posts.xml.gz", "Posts.xml"}},
	"stackoverflow":     {folders: []string{"", "stackoverflow"}, files: []string{"stackoverflow.sqlite", "stackoverflow.sqlite.lzma"}},
}

// Locate returns where a set of data lies in a directory, or in a folder of it that
// has the set's name. Where the reader finds the data by itself it is the empty
// path. The error says what was looked for.
func Locate(set, dir string) (string, error) {
	p := places[set]
	if dir != "" {
		for _, folder := range p.folders {
			for _, file := range p.files {
				path := filepath.Join(dir, filepath.FromSlash(folder))
				if !exists(filepath.Join(path, file)) {
					continue
				}
				if p.whole {
					path = filepath.Join(path, file)
				}
				return path, nil
			}
		}
	}
	if p.elsewhere != "" && exists(filepath.Join(p.elsewhere, p.files[0])) {
		return "", nil
	}
	where := "neither --data nor FEDFAST_DATA is set"
	if dir != "" {
		where = "there is no " + strings.Join(p.files, " or ") + " in " + dir + " or in one of its folders " + strings.Join(p.folders[1:], ", ")
	}
	return "", fmt.Errorf("data %s: %s; download it with `fedfast data fetch`, if available", set, where)
}
