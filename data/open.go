package data

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"

	"github.com/fedfast/fedfast/internal/deal"
)

// Open returns the federation of cfg. Its errors are one line a problem and name
// the key of the configuration, or the file and the client in it. It finds the sets
// that were registered: importing package data/sets registers the built-in ones.
func Open(ctx context.Context, cfg Config) (*Federation, error) {
	s, err := find(cfg.Name)
	if err != nil {
		return nil, err
	}
	c, err := cfg.resolved(&s.SetInfo)
	if err != nil {
		return nil, err
	}
	loaded, examples, err := s.Load(ctx, c)
	if err != nil {
		if _, missing := os.Stat(c.Path); c.Path != "" && errors.Is(missing, fs.ErrNotExist) && !strings.ContainsAny(c.Path,
			"*?[,") {
			return nil, fmt.Errorf("data.path = %q: no such file or folder", c.Path)
		}
		return nil, fmt.Errorf("open %s: %w", s.Name, err)
	}
	if loaded == nil {
		return nil, fmt.Errorf("open %s: the function that loads it returned no federation", s.Name)
	}
	fed := new(*loaded) // what a set keeps is not changed
	fed.Name, fed.Doc, fed.Kind, fed.Synthetic = s.Name, s.Doc, s.Kind, s.Synthetic
	fed.Fingerprint, fed.Notes = "", slices.Clip(fed.Notes)
	if err := c.fill(fed, examples); err != nil {
		return nil, errors.Join(fmt.Errorf("open %s: %w", s.Name, err), fed.Close())
	}
	return fed, nil
}

// fill fills fed in with the clients that c makes of a set's examples.
func (c *Config) fill(fed *Federation, examples []Examples) error {
	if err := fed.check(examples); err != nil {
		return err
	}
	if fed.Lazy && c.Proxy > 0 {
		return fmt.Errorf("data.proxy = %d: the samples are not in memory; leave it out", c.Proxy)
	}
	if fed.Lazy && (c.Augment != "" || len(c.ImageStd) > 0) {
		return errors.New("the samples are not in memory; leave data.augment and data.image_mean out")
	}
	examples, err := c.normalize(fed, c.move(fed, examples))
	if err != nil {
		return err
	}
	examples, fed.Test = central(examples)
	if fed.Target != OneClass {
		if err := c.checkTarget(fed.Target); err != nil {
			return err
		}
	}
	c.chooseSplit(fed, examples)
	pooled := len(examples) == 1 && examples[0].Pooled
	if pooled && !c.dealt() {
		return fmt.Errorf("its samples have no clients; set how to deal them, for example data.partition = %q", deal.WayIID)
	}
	if pooled {
		all := examples[0]
		examples, err = c.deal(fed, all.Train.join(all.Test), all.Train.Len())
	} else {
		examples, err = c.keep(fed, examples)
	}
	if err != nil {
		return err
	}
	if err := c.split(fed, examples); err != nil {
		return err
	}
	return c.measure(fed)
}

// keep notes what a set's own clients hold, and deals it anew if c says so.
func (c *Config) keep(fed *Federation, examples []Examples) ([]Examples, error) {
	if err := unique(examples); err != nil {
		return nil, fmt.Errorf("%s: %w", c.Path, err)
	}
	fed.Files = totalsOf(examples)
	fed.Files.Test += fed.Test.Len()
	if !fed.Synthetic {
		read := examples
		if fed.Test.Len() > 0 {
			read = append(slices.Clip(examples), Examples{Test: fed.Test})
		}
		var err error
		if fed.Fingerprint, err = fingerprint(read, fed.Lazy); err != nil {
			return nil, err
		}
	}
	if c.dealt() {
		return c.redeal(fed, examples)
	}
	return examples, nil
}

// central takes the test set of no client out of a set's examples.
func central(examples []Examples) (clients []Examples, test View) {
	i := slices.IndexFunc(examples, func(e Examples) bool { return e.Central })
	if i < 0 {
		return examples, View{}
	}
	return slices.Delete(slices.Clone(examples), i, i+1), examples[i].Test
}

// unique returns an error if two clients have the same name.
func unique(examples []Examples) error {
	seen := make(map[string]bool, len(examples))
	for _, e := range examples {
		if seen[e.Client] {
			return fmt.Errorf("duplicate client %.64q", e.Client)
		}
		seen[e.Client] = true
	}
	return nil
}

// find returns the set of a name.
func find(name string) (*Set, error) {
	all := sets()
	if len(all) == 0 {
		return nil, fmt.Errorf("data.name = %q: no set is registered; import github.com/fedfast/fedfast/data/sets for the built-in ones", name)
	}
	var names []string
	for i := range all {
		if all[i].Name == name {
			return &all[i], nil
		}
		names = append(names, all[i].Name)
	}
	list := strings.Join(names, ", ")
	if name == "" {
		return nil, fmt.Errorf("data.name is not set; use one of %s", list)
	}
	return nil, fmt.Errorf("data.name = %q: unknown dataset; use one of %s", name, list)
}

// checkTarget returns an error for what goes by the class of an example, where it
// has none.
func (c *Config) checkTarget(t Target) error {
	switch {
	case c.dealt() && c.Partition != deal.WayIID:
		return fmt.Errorf("data.partition = %q: the samples have %s instead of class labels to deal by; use %q", c.Partition,
			t, deal.WayIID)
	case c.Proxy > 0:
		return fmt.Errorf("data.proxy = %d: the samples have %s instead of class labels, which proxy federations need; leave it out", c.Proxy, t)
	}
	return nil
}
