package study

import (
	"context"
	"errors"
	"fmt"

	"github.com/fedfast/fedfast/fl/study/config"
	"github.com/fedfast/fedfast/fl/study/internal/record"
	"github.com/fedfast/fedfast/fl/study/internal/replay"
	"github.com/fedfast/fedfast/fl/study/result"
	"github.com/fedfast/fedfast/internal/list"
	"github.com/fedfast/fedfast/internal/store"
)

// Share begins a study with the rounds of another one, which differs from it in the
// target alone, and perhaps in its name: what clients train does not depend on the
// target, so no round is trained twice. It returns the models that the other one
// has evaluated, for Setup.Evaluated. The store to must be empty. Both studies need
// score.both, and the other one no reserve of snapshots, but with Setup.KeepTrials
// its trials go on from where they ended instead of from their beginning. Which
// trials go on, and which model is returned, is decided anew.
func Share(ctx context.Context, from *store.View, to *store.Store, c *config.Config) ([]result.Chosen, error) {
	other, err := result.Read(ctx, from)
	if err != nil {
		return nil, err
	}
	if err := sharable(other, c); err != nil {
		return nil, err
	}
	h := replay.New(to)
	if err := h.AppendStudy(c, config.ModeTune); err != nil {
		return nil, err
	}
	// States and snapshots without their rounds would be of no use, rounds without
	// them cost time: so rounds come first.
	err = from.Each(ctx, func(r store.Row) error {
		if r.Kind != store.KindRound {
			return to.Append(r.Kind, r.Trial, r.Round, r.Data)
		}
		rec, err := record.Decode[record.Round](store.KindRound, r.Data)
		if err != nil {
			return err
		}
		if rec.Other == nil {
			return fmt.Errorf("trial %d, round %d has no score under the other target", r.Trial, r.Round)
		}
		rec.Score, *rec.Other = *rec.Other, rec.Score
		return h.Append(store.KindRound, r.Trial, r.Round, rec)
	}, store.KindData, store.KindTrial, store.KindPlan, store.KindRound, store.KindFail)
	if err != nil {
		return nil, err
	}
	err = from.EachState(ctx, func(session, slot, calls int, data []byte) error {
		if session < 0 { // it decides by scores
			return nil
		}
		return to.SetState(session, slot, calls, data)
	})
	evaluated := list.Of(other.Tune.Models(), func(m *result.Chosen) result.Chosen { return *m })
	return evaluated, errors.Join(err, to.Flush(), to.ShareSnapshots(from))
}

// sharable returns an error unless a study may share the rounds of a recorded one.
func sharable(other *result.Stored, c *config.Config) error {
	if other.Mode != config.ModeTune || !other.Finished() {
		return errors.New("its rounds cannot be shared: not a finished study of `fedfast tune`")
	}
	o, err := config.Load(config.Source{Text: other.Config})
	if err != nil {
		return err
	}
	if !c.Score.Both || !o.Score.Both {
		return errors.New("its rounds cannot be shared: both studies need score.both = true")
	}
	if c.Target == o.Target {
		return fmt.Errorf("its rounds cannot be shared: it has the same target, %s", c.Target)
	}
	o.Target, o.Name = c.Target, c.Name
	r := record.Study{Mode: other.Mode, Config: other.Config}
	if text, err := config.Encode(o); err == nil {
		r.Config = string(text)
	}
	err = r.Match("", c, config.ModeTune)
	if differ, ok := errors.AsType[*config.DiffError](err); ok {
		return fmt.Errorf("its rounds cannot be shared: more than the target differs: %s", differ.Diff[0])
	}
	return err
}
