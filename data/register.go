package data

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
)

// Examples are those of one client before they are split. Train and Test, of
// which one may be empty, must be parts of one view, see View.Part.
type Examples struct {
	Client      string
	Train, Test View
}

// Load returns the form of a set's examples, in a Federation without clients, and
// the examples of its clients. What it returns must depend on the Config alone, or
// on files whose contents it reads.
type Load func(ctx context.Context, cfg Config) (*Federation, []Examples, error)

// registered are the sets of Register.
var registered struct {
	sync.Mutex
	sets []set
}

// Register makes a set of the program's own known, so that a Config may name it:
// its examples are then split, capped, dealt and measured as those of any other
// set. It needs a name, a kind and a load; a Path only if data.path must be set. The
// error says what is missing, or that the name is taken.
func Register(info SetInfo, load Load) error {
	registered.Lock()
	defer registered.Unlock()
	switch {
	case info.Name == "":
		return errors.New("register a set of data: it has no name")
	case load == nil:
		return fmt.Errorf("register the set %q: it has no function that loads it", info.Name)
	case info.Dealt:
		return fmt.Errorf("register the set %q: Dealt is for sets without clients; give all examples to one client and set data.partition", info.Name)
	case info.Synthetic:
		return fmt.Errorf("register the set %q: Synthetic is for sets that data.clients and data.samples shape", info.Name)
	case slices.ContainsFunc(slices.Concat(builtIn(), registered.sets), func(s set) bool { return s.Name == info.Name }):
		return fmt.Errorf("register the set %q: there is one of that name", info.Name)
	}
	registered.sets = append(registered.sets, set{info, func(ctx context.Context, cfg *Config) (*Federation, []writer, error) {
		fed, examples, err := load(ctx, *cfg)
		if err != nil {
			return nil, nil, err
		}
		if fed == nil {
			return nil, nil, errors.New("the function that loads it returned no federation")
		}
		own := *fed // Open fills it in
		writers, err := own.writers(info.Kind, examples)
		return &own, writers, err
	}})
	return nil
}

// writers checks that examples have the form of f.
func (f *Federation) writers(kind Kind, examples []Examples) ([]writer, error) {
	floats, ids := f.H*f.W*f.C, 0
	if kind == Tokens {
		floats, ids = 0, f.SeqLen
	}
	if floats+ids < 1 || f.Classes < 1 || kind == Tokens && f.Vocab < 1 {
		return nil, fmt.Errorf("its federation must say the form of an example (H, W and C, or SeqLen and Vocab) and Classes: %d x %d x %d, %d of %d tokens, %d classes", f.H, f.W, f.C, f.SeqLen, f.Vocab, f.Classes)
	}
	writers := make([]writer, len(examples))
	for i, e := range examples {
		if e.Train.n > 0 && e.Test.n > 0 && e.Train.src != e.Test.src {
			return nil, fmt.Errorf("client %.64q: Train and Test must be parts of one view", e.Client)
		}
		for _, v := range []View{e.Train, e.Test} {
			if v.n == 0 {
				continue
			}
			if x, t := v.src.size(); x != floats || t != ids {
				return nil, fmt.Errorf("client %.64q: its examples have %d numbers and %d tokens, the federation's %d and %d", e.Client, x, t, floats, ids)
			}
			if err := f.checkIDs(v); err != nil {
				return nil, fmt.Errorf("client %.64q: %w", e.Client, err)
			}
		}
		writers[i] = writer{id: e.Client, train: e.Train, test: e.Test}
	}
	return writers, nil
}

// checkIDs returns an error if a label of v is no class or a token has no id of
// the federation, or where labels are at each token and must not be.
func (f *Federation) checkIDs(v View) error {
	every, steps := v.src.(stepSource)
	if steps != f.EveryStep {
		return fmt.Errorf("its examples have a label at each token: %v, EveryStep of the federation is %v", steps, f.EveryStep)
	}
	floats, ids := v.src.size()
	x, tokens, labels := make([]float32, floats), make([]int32, ids), make([]int32, max(1, ids))
	labels = labels[:1]
	if steps {
		labels = labels[:ids]
	}
	for i := range v.n {
		at := v.at(i)
		if steps {
			every.steps(at, labels)
		} else {
			labels[0] = v.src.label(at)
		}
		for _, l := range labels {
			if int(l) >= f.Classes || l < 0 && !steps {
				return fmt.Errorf("example %d has label %d, must be in [0, %d)", i, l, f.Classes)
			}
		}
		if ids == 0 {
			continue
		}
		v.src.read(at, x, tokens, nil)
		for _, id := range tokens {
			if int(id) >= f.Vocab || id < 0 {
				return fmt.Errorf("example %d has token %d, must be in [0, %d)", i, id, f.Vocab)
			}
		}
	}
	return nil
}
