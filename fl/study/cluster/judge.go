package cluster

import (
	"bytes"
	"crypto/sha256"
	"fmt"

	"github.com/fedfast/fedfast/fl/study/cluster/internal/wire"
)

// judge compares a worker's result of a round, or of a part of one, with that of another
// worker. The first result is kept.
func (c *Coordinator) judge(worker string, t *wire.Request) error {
	switch {
	case t.State == wire.StateShared:
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

// agree ends the study if two workers computed different bits.
func (c *Coordinator) agree(at string, one, other result) error {
	if one.sum == other.sum {
		return nil
	}
	err := fmt.Errorf("%s: workers %s and %s computed different bits, so one of the machines is faulty: %s, %s; remove it and start the study again",
		at, one.worker, other.worker, c.describe(one.worker), c.describe(other.worker))
	c.fail(err)
	return err
}

// settle forgets the results of a trial's rounds up to a state that is here. If the
// state is lost and they are trained again, they are compared with the journal.
func (c *Coordinator) settle(trial, rounds int) {
	for at := c.settled[trial]; at < rounds; at++ {
		if p := (place{trial, at}); !c.rounds[p].due {
			delete(c.rounds, p)
			delete(c.lost, p)
		}
	}
	c.settled[trial] = max(c.settled[trial], rounds)
}

// describe describes a worker's machine.
func (c *Coordinator) describe(name string) string {
	for _, s := range c.handles {
		if s.name == name {
			return fmt.Sprintf("%s is fedfast %s on %s, level %s", name, s.machine.Version, s.machine.CPU, s.machine.Level)
		}
	}
	return name
}

// digest returns the digest of a task's result.
func digest(parts ...[]byte) [32]byte {
	return sha256.Sum256(bytes.Join(parts, nil))
}
