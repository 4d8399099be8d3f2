package data

import (
	"fmt"
	"slices"
)

// check returns an error unless a set's examples have the form of f.
func (f *Federation) check(examples []Examples) error {
	floats, ids := f.H*f.W*f.C, 0
	if f.Kind == Tokens {
		floats, ids = 0, f.SeqLen
	}
	if floats+ids < 1 || f.Classes < 1 || f.Kind == Tokens && f.Vocab < 1 {
		return fmt.Errorf("its federation must say the form of a sample (H, W and C, or SeqLen and Vocab) and Classes: %d "+
			"x %d x %d, %d of %d tokens, %d classes", f.H, f.W, f.C, f.SeqLen, f.Vocab, f.Classes)
	}
	last := checked{}
	central := slices.ContainsFunc(examples, func(e Examples) bool { return e.Central })
	for _, e := range examples {
		switch {
		case e.Pooled && len(examples) > 1:
			return fmt.Errorf("client %.64q: samples of no clients must be the only ones", e.Client)
		case e.Central && (e.Train.n > 0 || e.Test.n == 0) || central && !e.Central && e.Test.n > 0:
			return fmt.Errorf("client %.64q: beside a test set of no client, which has test samples only, the clients must have none", e.Client)
		}
		if e.Train.n > 0 && e.Test.n > 0 && e.Train.src != e.Test.src {
			return fmt.Errorf("client %.64q: Train and Test must be parts of one view", e.Client)
		}
		for _, v := range []View{e.Train, e.Test} {
			if v.n == 0 {
				continue
			}
			if x, t := v.src.size(); x != floats || t != ids {
				return fmt.Errorf("client %.64q: its samples have %d numbers and %d tokens, the federation's %d and %d", e.Client, x, t, floats, ids)
			}
			if err := f.checkTargets(v); err != nil {
				return fmt.Errorf("client %.64q: %w", e.Client, err)
			}
			if _, lazy := v.src.(lazySource); lazy {
				if !f.Lazy {
					return fmt.Errorf("client %.64q: its samples are read when they are asked for; the federation must be Lazy", e.Client)
				}
				continue // LazyRows checks what it reads
			}
			if err := f.checkIDs(v, &last); err != nil {
				return fmt.Errorf("client %.64q: %w", e.Client, err)
			}
		}
	}
	return nil
}

// idSource is a source that tells the largest id of its tokens and their labels at
// once, which saves going through examples that share them.
type idSource interface {
	source
	largest() int
}

// checked is the source that was looked at last.
type checked struct {
	src     source
	largest int
}

// checkIDs returns an error if a label of v is no class or a token has no id of
// the federation, or where labels are at each token and must not be.
func (f *Federation) checkIDs(v View, last *checked) error {
	every, steps := v.src.(stepSource)
	if steps != f.EveryStep {
		return fmt.Errorf("its samples have a label at each token: %v, EveryStep of the federation is %v", steps, f.EveryStep)
	}
	if s, ok := v.src.(idSource); ok {
		if last.src != v.src {
			*last = checked{v.src, s.largest()}
		}
		if last.largest < min(f.Vocab, f.Classes) {
			return nil
		}
	}
	_, ids := v.src.size()
	tokens, labels := make([]int32, ids), make([]int32, max(1, ids))
	if !steps {
		labels = labels[:1]
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
				return fmt.Errorf("sample %d has label %d, must be in [0, %d)", i, l, f.Classes)
			}
		}
		if ids == 0 {
			continue
		}
		v.src.read(at, nil, tokens, nil)
		for _, id := range tokens {
			if int(id) >= f.Vocab || id < 0 {
				return fmt.Errorf("sample %d has token %d, must be in [0, %d)", i, id, f.Vocab)
			}
		}
	}
	return nil
}
