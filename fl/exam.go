package fl

import (
	"context"
	"fmt"
	"io"
	"sync/atomic"

	"golang.org/x/sync/errgroup"

	"github.com/fedfast/fedfast/data"
	"github.com/fedfast/fedfast/fl/internal/shard"
	"github.com/fedfast/fedfast/kernels"
)

// check returns an error for an exam that this engine does not have.
func (e *Engine) check(x *shard.Exam) error {
	n := len(e.cfg.Data.Clients)
	if x.Unseen {
		n = len(e.cfg.Data.Unseen)
	}
	if x.Central {
		n = len(e.centralParts())
	}
	for _, c := range x.Clients {
		if c < 0 || c >= n {
			return fmt.Errorf("evaluation: client %d is asked for; there are %d", c, n)
		}
	}
	switch {
	case len(x.Clients) > n:
		return fmt.Errorf("evaluation: %d clients are asked for; there are %d", len(x.Clients), n)
	case !(x.Alone >= 0 && x.Alone <= shard.MostCount):
		return fmt.Errorf("evaluation: clients train alone %v times: must be from 0 to %d", x.Alone, shard.MostCount)
	case x.Every < 0 || x.Every > 0 && !Measured(e.cfg.Model):
		return fmt.Errorf("evaluation: answers about one of %d samples cannot be had of model %s", x.Every, e.cfg.Model.Name())
	case x.Round < 0:
		return fmt.Errorf("evaluation: round %d: must be 0 or more", x.Round)
	case len(x.Weights) != e.cfg.Model.Size():
		return fmt.Errorf("evaluation: %d weights arrived, model %s has %d", len(x.Weights), e.cfg.Model.Name(), e.cfg.Model.Size())
	case x.Personal() && (x.Central || e.looks() || len(x.Params) != 1 && len(x.Params) != len(x.Clients)):
		return fmt.Errorf("evaluation: personalized scores of %d clients with %d configurations cannot be had here", len(x.Clients), len(x.Params))
	}
	return nil
}

// Measure has clients measure a model and writes their scores, in their order, for another
// engine to read. Methods whose clients keep a state, or look at the server's, have no
// personalized scores here.
func (e *Engine) Measure(ctx context.Context, x shard.Exam, w io.Writer) error {
	if err := e.check(&x); err != nil {
		return err
	}
	scores, err := e.measureHere(ctx, &x, nil, nil, func(int) {})
	if err != nil {
		return err
	}
	return writeScores(w, scores)
}

// measure has clients measure a model here or elsewhere; done receives how many more
// have done so.
func (e *Engine) measure(ctx context.Context, x *shard.Exam, state *State, memory Server, done func(clients int)) ([]clientScores, error) {
	if e.cfg.Elsewhere != nil && (!e.looks() || !x.Personal()) && len(x.Clients) > 0 {
		if n := e.cfg.Elsewhere.Exams(len(x.Clients)); n > 0 {
			return e.measureElsewhere(ctx, x, n, done)
		}
	}
	return e.measureHere(ctx, x, state, memory, done)
}

func (e *Engine) measureElsewhere(ctx context.Context, x *shard.Exam, n int, done func(clients int)) ([]clientScores, error) {
	all := make([]clientScores, len(x.Clients))
	g, ctx := errgroup.WithContext(ctx)
	n = min(n, len(all))
	for i := range n {
		lo, hi := i*len(all)/n, (i+1)*len(all)/n
		g.Go(func() error {
			shard := x.Of(lo, hi)
			var scores []clientScores
			err := e.cfg.Elsewhere.Measure(ctx, shard, func(r io.Reader) (err error) {
				if scores, err = readScores(r); err == nil {
					err = e.answers(&shard, scores)
				}
				return err
			})
			if err == nil && scores == nil {
				err = e.answers(&shard, scores)
			}
			if err != nil {
				return err
			}
			copy(all[lo:], scores)
			done(hi - lo)
			return nil
		})
	}
	return all, g.Wait()
}

// measureHere has this engine's workers measure a model.
func (e *Engine) measureHere(ctx context.Context, x *shard.Exam, state *State, memory Server, done func(clients int)) ([]clientScores, error) {
	all := make([]clientScores, len(x.Clients))
	clients := e.cfg.Data.Clients
	if x.Unseen {
		clients = e.cfg.Data.Unseen
	}
	if x.Central {
		clients = e.centralParts()
	}
	frozen := e.frozen(len(all))
	score := func(w *worker, v data.View, t *tally) (setScore, error) { return w.score(x.Weights, frozen, v, t) }
	if x.Arch != "" {
		net, err := e.Subnet(ClientParams{Arch: x.Arch})
		if err != nil {
			return nil, fmt.Errorf("evaluation: %w", err)
		}
		score = func(w *worker, v data.View, t *tally) (setScore, error) {
			return w.scoreSubnet(net, x.Weights, frozen, v, t)
		}
	}
	// Personal models come after all scores of the shared one, whose weights stay rounded.
	err := e.each(ctx, len(all), func(i int, w *worker) (err error) {
		c, s := &clients[x.Clients[i]], &all[i]
		if x.GlobalVal {
			if s.globalVal, err = score(w, c.Val, e.newTally(e.scoredEvery(x.Every), 0, c.Val)); err != nil {
				return err
			}
		}
		if x.GlobalTest {
			if s.globalTest, err = score(w, c.Test, e.newTally(x.Every, x.Clients[i], c.Test)); err != nil {
				return err
			}
		}
		if !x.Personal() {
			done(1)
		}
		return nil
	})
	if err != nil || !x.Personal() {
		return all, err
	}
	err = e.each(ctx, len(all), func(i int, w *worker) error {
		if err := e.scorePersonal(w, x, i, &all[i], state, memory); err != nil {
			return err
		}
		done(1)
		return nil
	})
	return all, err
}

// scorePersonal has a client train and measure a model of its own.
func (e *Engine) scorePersonal(w *worker, x *shard.Exam, i int, s *clientScores, state *State, memory Server) error {
	params := x.Params[0]
	if len(x.Params) > 1 {
		params = x.Params[i]
	}
	if x.Unseen {
		return e.scoreJoined(w, x, x.Clients[i], params, s, memory)
	}
	var l *Local
	var err error
	if x.Alone > 0 {
		l, _, err = e.alone(w, x, x.Clients[i], params)
	} else {
		l, err = e.personal(w, x, x.Clients[i], params, state, memory)
	}
	if err != nil {
		return err
	}
	if x.PersonalVal {
		if s.personalVal, err = l.scoreSet(l.Val, e.newTally(e.scoredEvery(x.Every), 0, l.Val)); err != nil {
			return err
		}
	}
	if x.PersonalTest {
		test := e.cfg.Data.Clients[x.Clients[i]].Test
		s.personalTest, err = l.scoreSet(test, e.newTally(x.Every, x.Clients[i], test))
	}
	return err
}

// scoreJoined has an unseen client adapt, see Method.Closed, and measures the model that it
// makes. One without training examples makes none.
func (e *Engine) scoreJoined(w *worker, x *shard.Exam, unseen int, params ClientParams, s *clientScores, memory Server) error {
	c, number := &e.cfg.Data.Unseen[unseen], len(e.cfg.Data.Clients)+unseen
	if c.Train.Len() == 0 {
		return nil
	}
	l, err := w.begin(localTask{
		engine: e, client: number, params: params.Personal(), server: x.Server, round: x.Round, weights: x.Weights,
		state: memory, key: kernels.Key(e.cfg.Seed, uint64(number), purposeTest),
	})
	if err != nil {
		return err
	}
	score := func(of func(data.View, *tally) (setScore, error)) (err error) {
		if x.PersonalVal {
			if s.personalVal, err = of(c.Val, e.newTally(e.scoredEvery(x.Every), 0, c.Val)); err != nil {
				return err
			}
		}
		if x.PersonalTest {
			s.personalTest, err = of(c.Test, e.newTally(x.Every, unseen, c.Test))
		}
		return err
	}
	if m := &e.cfg.Method; m.Personalize != nil && m.StateLen == nil && len(e.kept) == 0 {
		err = m.Personalize(l)
	} else {
		l.score = func(weights []float32) error {
			return score(func(v data.View, t *tally) (setScore, error) { return w.score(weights, nil, v, t) })
		}
		if err = m.Local(l); err == nil && l.score == nil {
			return nil // the method has said which model it is
		}
	}
	if err != nil {
		return err
	}
	l.hold()
	return score(l.scoreSet)
}

// counted returns a function that adds up how many clients have measured.
func counted(done func(clients, of int), of int) func(int) {
	var sum atomic.Int64
	return func(n int) {
		now := int(sum.Add(int64(n)))
		if done != nil {
			done(now, of)
		}
	}
}
