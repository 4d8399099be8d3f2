package cluster

import (
	"crypto/sha256"
	"fmt"
)

// judge compares what a worker says of a round, or of a part of one, with what another
// one has measured. The first one stands.
func (c *Coordinator) judge(worker string, t *turn) error {
	switch {
	case t.State == stateShared:
		return c.judgeShare(worker, t)
	case t.Record == nil:
		return nil
	}
	p, now := place{t.Trial, t.Rounds - 1}, result{sum: sha256.Sum256(t.Record), worker: worker}
	then, known := c.rounds[p]
	switch {
	case !known && p.rounds >= c.settled[p.trial]:
		c.rounds[p] = now
		return nil
	case !known:
		return nil
	}
	return c.agree(fmt.Sprintf("trial %d, round %d", p.trial, p.rounds+1), then, now)
}

// agree ends the study if two workers have come to different bits.
func (c *Coordinator) agree(at string, one, other result) error {
	if one.sum == other.sum {
		return nil
	}
	err := fmt.Errorf("%s: the workers %s and %s have come to different bits, so one of their machines computes wrongly: %s, %s; leave it out, and begin the study again",
		at, one.worker, other.worker, c.describe(one.worker), c.describe(other.worker))
	c.fail(err)
	return err
}

// settle forgets who trained the rounds of a trial up to a state that is here. What is
// trained again after all, since the state was lost, is compared with the journal.
func (c *Coordinator) settle(trial, rounds int) {
	for at := c.settled[trial]; at < rounds; at++ {
		if p := (place{trial, at}); !c.rounds[p].due {
			delete(c.rounds, p)
			delete(c.lost, p)
		}
	}
	c.settled[trial] = max(c.settled[trial], rounds)
}

// describe says what a worker is.
func (c *Coordinator) describe(name string) string {
	for _, s := range c.seats {
		if s.name == name {
			return fmt.Sprintf("%s is fedfast %s on %s, level %s", name, s.machine.Version, s.machine.CPU, s.machine.Level)
		}
	}
	return name
}
