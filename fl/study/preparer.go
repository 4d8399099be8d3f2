package study

import (
	"context"
	"math"
	"sync"

	"github.com/fedfast/fedfast/internal/play"
	"github.com/fedfast/fedfast/tuners"
)

// preparer runs the trials of a preparation: those of one proxy federation beside
// each other, one proxy federation after the other.
type preparer struct {
	driver *driver
	past   map[int]tuners.TrialReport

	mu     sync.Mutex // guards what follows
	starts map[int]tuners.Decision
	free   *sync.Cond // a trial has left the proxy federation at work
	at     *side      // nil for none
	users  int        // trials on it
	done   int        // trials in all
}

// Act takes note of a trial.
func (p *preparer) Act(_ context.Context, dec tuners.Decision) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if dec.Kind == tuners.Start {
		p.starts[dec.Trial] = dec
	}
	return nil
}

// Run trains a trial on its proxy federation, unless it is recorded what came of
// it.
func (p *preparer) Run(ctx context.Context, s play.Segment, _ func(int)) (tuners.TrialReport, error) {
	r, recorded := p.past[s.Trial]
	dec, at, err := p.enter(s.Trial, recorded)
	if err != nil || recorded {
		return r, err
	}
	r, err = at.trial(ctx, dec)
	p.mu.Lock()
	defer p.mu.Unlock()
	p.users--
	p.free.Broadcast()
	if err != nil {
		return r, err
	}
	p.done++
	p.driver.setup.Observer.Progress(Progress{
		Preparing: true, Trial: dec.Trial, TrialRound: dec.ToRound, ToRound: dec.ToRound,
		Round: p.done, Rounds: len(p.starts), Score: r.Score, Best: Standing{Score: math.NaN()}, Loss: math.NaN(),
	})
	return r, nil
}

// enter returns the decision to start a trial and its proxy federation, once no
// other one is at work. A trial that is recorded needs none.
func (p *preparer) enter(trial int, recorded bool) (tuners.Decision, *side, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	dec := p.starts[trial]
	if recorded {
		p.done++
		return dec, nil, nil
	}
	for p.at != nil && p.at.environment != *dec.Environment && p.users > 0 {
		p.free.Wait()
	}
	if p.at == nil || p.at.environment != *dec.Environment {
		p.leave()
		at, err := p.driver.side(dec.Environment)
		if err != nil {
			return dec, nil, err
		}
		p.at = at
	}
	p.users++
	return dec, p.at, nil
}

// leave ends the workers of the proxy federation at work.
func (p *preparer) leave() {
	if p.at != nil {
		p.at.engine.Close()
		p.at = nil
	}
}

// Reporting keeps what a trial came to.
func (p *preparer) Reporting(_ context.Context, r tuners.TrialReport) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	dec := p.starts[r.Trial]
	t := SideTrial{Environment: *dec.Environment, Params: dec.Params, Rounds: r.Round}
	if !r.Unusable() {
		t.Score = &r.Score
	}
	p.driver.sides = append(p.driver.sides, t)
	return nil
}
