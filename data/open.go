package data

import (
	"context"
	"errors"
	"fmt"
	"strings"
)

// SetInfo says what a named set is and what it needs.
type SetInfo struct {
	Name, Doc string
	Kind      Kind
	// Input is the form of an example: "28x28x1", "80 characters".
	Input string
	// Classes is 0 where only the file tells.
	Classes int
	// Clients and Samples tell what the whole set holds.
	Clients, Samples string
	// Published are the literature's numbers for the whole set.
	Published []Published
	// Path tells what data.path must be; DefaultPath is used when it is not set.
	Path, DefaultPath string
	// Encodings, Augments and Labels are the values of data.encoding,
	// data.augment and data.labels.
	Encodings, Augments, Labels []string
	// Dealt says that the set has no clients of its own: data.partition deals it.
	Dealt bool
	// Synthetic says that nobody wrote, drew or photographed the examples.
	Synthetic bool
	// vocab says that data.vocab is the number of words.
	vocab bool
	// own says that users bring the examples.
	own bool
	// alphaBeta says that data.alpha and data.beta shape the clients.
	alphaBeta bool
}

// set is a named set: its facts and how to load it. load returns the federation
// without clients, and the clients' samples before the split.
type set struct {
	SetInfo
	load func(ctx context.Context, cfg *Config) (*Federation, []writer, error)
}

// writer is a client before the split. Its views are of one source.
type writer struct {
	id          string
	train, test View
}

// sets returns all named sets in the order in which they are listed.
func sets() []set {
	registered.Lock()
	defer registered.Unlock()
	return append(builtIn(), registered.sets...)
}

// builtIn returns the sets that need no Register.
func builtIn() []set {
	return append([]set{
		glyphsSet(), femnistSet(), shakespeareSet(), mnistSet(), qmnistSet(), fashionSet(), cifar10Set(), cifar100Set(), syntheticSet(),
		tffFEMNISTSet(), tffDigitsSet(), tffShakespeareSet(), tffCIFAR100Set(), stackOverflowSet(), stackExchangeSet(),
	}, npzSets()...)
}

// Sets returns the facts of all named sets.
func Sets() []SetInfo {
	var infos []SetInfo
	for _, s := range sets() {
		s.Published = published[s.Name]
		infos = append(infos, s.SetInfo)
	}
	return infos
}

// Open returns the federation of cfg. Its errors are one line a problem and name
// the key of the configuration, or the file and the client in it.
func Open(ctx context.Context, cfg Config) (*Federation, error) {
	s, err := find(cfg.Name)
	if err != nil {
		return nil, err
	}
	c, err := cfg.resolved(&s.SetInfo)
	if err != nil {
		return nil, err
	}
	fed, writers, err := s.load(ctx, &c)
	if err != nil {
		return nil, fmt.Errorf("open %s: %w", s.Name, err)
	}
	fed.Name, fed.Doc, fed.Kind, fed.Synthetic = s.Name, s.Doc, s.Kind, s.Synthetic
	if !fed.dealt {
		if err := unique(writers); err != nil {
			return nil, errors.Join(fmt.Errorf("open %s: %s: %w", s.Name, c.Path, err), fed.Close())
		}
		fed.Files = totalsOf(writers)
		if !s.Synthetic {
			if fed.Fingerprint, err = fingerprint(writers, fed.Lazy); err != nil {
				return nil, errors.Join(fmt.Errorf("open %s: %w", s.Name, err), fed.Close())
			}
		}
		if c.dealt() {
			if writers, err = c.redeal(fed, writers); err != nil {
				return nil, errors.Join(fmt.Errorf("open %s: %w", s.Name, err), fed.Close())
			}
		}
	}
	if err := c.split(fed, writers); err != nil {
		return nil, errors.Join(fmt.Errorf("open %s: %w", s.Name, err), fed.Close())
	}
	return fed, nil
}

// unique returns an error if two writers have the same name.
func unique(writers []writer) error {
	seen := make(map[string]bool, len(writers))
	for _, w := range writers {
		if seen[w.id] {
			return fmt.Errorf("two clients are called %.64q", w.id)
		}
		seen[w.id] = true
	}
	return nil
}

// find returns the set of a name.
func find(name string) (*set, error) {
	all := sets()
	var names []string
	for i := range all {
		if all[i].Name == name {
			return &all[i], nil
		}
		names = append(names, all[i].Name)
	}
	if why := Gone(name); why != "" {
		return nil, fmt.Errorf("data.name = %q: %s", name, why)
	}
	list := strings.Join(names, ", ")
	if name == "" {
		return nil, fmt.Errorf("data.name is not set; use one of %s", list)
	}
	return nil, fmt.Errorf("data.name = %q: no such set; use one of %s", name, list)
}

// Gone says of the name of a set that earlier versions read what to use now, ""
// of any other name.
func Gone(name string) string {
	if of, ok := strings.CutPrefix(name, "fedjax-"); ok {
		if of != "stackoverflow" {
			of = "tff-" + of
		}
		if set, err := find(of); err == nil {
			return "FedJAX's own files are not read any more; use " + set.Name + ", which has the same samples in TFF's files"
		}
	}
	return ""
}
