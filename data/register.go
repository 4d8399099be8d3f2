package data

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/fedfast/fedfast/internal/list"
)

// SetInfo describes what a named set is and what it needs.
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
	// Encodings, Augments and Labels are the values of data.encoding, data.augment
	// and data.labels. Unset, an encoding and labels are the first ones, an
	// augmentation is "none"; all images also have flips and crops. What ColourView does is AugmentFedEx,
	// AugmentFedExTrain and AugmentCrop.
	Encodings, Augments, Labels []string
	// Vocab is the number of words when data.vocab does not say it, MaxVocab the
	// largest one; both are 0 for a set without words to choose.
	Vocab, MaxVocab int
	// Dealt says that the set has no clients of its own: data.partition deals it.
	Dealt bool
	// Partition and Alpha are how a Dealt set is dealt when data.partition is not set;
	// "" is iid.
	Partition string
	Alpha     float64
	// Synthetic is set if the examples are generated: they
	// follow from data.clients, data.samples and the seed.
	Synthetic bool
	// AlphaBeta says that data.alpha and data.beta shape the clients.
	AlphaBeta bool
	// OwnTest says that test samples, where the files have some, are the test
	// examples if data.split does not say otherwise.
	OwnTest bool
	// Table says that the keys of tables apply, and that Load describes columns.
	Table bool
}

// Examples are the examples of one client before they are split. Train and Test, of
// which one may be empty, must be parts of one view, see View.Part.
type Examples struct {
	Client      string
	Train, Test View
	// Pooled says that these are all examples of a set, of no clients, which
	// data.partition deals to some. There must be no other Examples then.
	Pooled bool
	// Central says that Test is a test set of no client, beside the clients, who
	// have no test examples then: it becomes Federation.Test.
	Central bool
}

// Load returns the form of a set's examples, in a Federation without clients, and
// the examples of its clients. The Config has its defaults filled in, but for a
// Split that is "" for a set with OwnTest. What Load returns must depend on the
// Config alone, or on files whose contents it reads.
type Load func(ctx context.Context, cfg Config) (*Federation, []Examples, error)

// Set is a named set: its facts and how to load it.
type Set struct {
	SetInfo
	Load Load
}

// registered are the sets of Register.
var registered struct {
	sync.Mutex
	sets []Set
}

// Register makes a dataset known, so that a Config may name it: its examples
// are then split, capped, dealt and measured as those of any other set. The
// built-in sets come in the same way, see package data/sets. It needs a name, a
// kind and a load; a Path only if data.path must be set. The error describes what is
// missing, or that the name is taken.
func Register(info SetInfo, load Load) error {
	registered.Lock()
	defer registered.Unlock()
	switch {
	case info.Name == "":
		return errors.New("register a dataset: no name")
	case load == nil:
		return fmt.Errorf("register the set %q: no load function", info.Name)
	case info.Dealt && info.Synthetic:
		return fmt.Errorf("register the set %q: Dealt is for sets without clients, Synthetic for those whose clients are drawn; use one of the two", info.Name)
	case info.Vocab < 0 || info.Vocab > info.MaxVocab:
		return fmt.Errorf("register the set %q: Vocab = %d, MaxVocab = %d; Vocab must be from 0 to MaxVocab", info.Name, info.Vocab, info.MaxVocab)
	case slices.ContainsFunc(registered.sets, func(s Set) bool { return s.Name == info.Name }):
		return fmt.Errorf("register the set %q: the name is already registered", info.Name)
	}
	registered.sets = append(registered.sets, Set{info, load})
	return nil
}

// sets returns all sets in the order in which they were registered.
func sets() []Set {
	registered.Lock()
	defer registered.Unlock()
	return slices.Clone(registered.sets)
}

// Sets returns the facts of all sets that are registered.
func Sets() []SetInfo {
	infos := list.Of(sets(), func(s Set) SetInfo { return s.SetInfo })
	return infos
}

// Totals tells what the files of a set hold, before anything is dealt, left out
// or cut.
type Totals struct {
	// Clients have training samples, or are all there are in a set whose files
	// do not tell the two apart; TestOnly have test samples only. Both are 0 for a
	// set without clients of its own.
	Clients  int `json:"clients"`
	TestOnly int `json:"test_only_clients"`
	// Train and Test are the samples; Test is 0 where the files have one kind.
	Train int `json:"train_samples"`
	Test  int `json:"test_samples"`
}

// Published are totals that a publication or a program gives for a whole set.
type Published struct {
	Source string `json:"source"`
	Totals
	// Unit is what is counted, if that is not the samples that the reader makes.
	Unit string `json:"unit,omitempty"`
}

// totalsOf sums what clients hold.
func totalsOf(writers []Examples) Totals {
	var t Totals
	for i := range writers {
		train, test := writers[i].Train.Len(), writers[i].Test.Len()
		if train > 0 {
			t.Clients++
		} else {
			t.TestOnly++
		}
		t.Train += train
		t.Test += test
	}
	return t
}
