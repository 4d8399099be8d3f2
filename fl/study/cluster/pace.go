package cluster

import (
	"slices"
	"sync"
	"time"
)

// A round is late when it takes lateFactor times as long as the median of the last
// paceRounds rounds of its trial or, if that has none yet, of all trials.
const (
	lateFactor = 4
	paceRounds = 16
)

// pace holds the durations of a few rounds.
type pace struct{ times []time.Duration }

func (p *pace) add(d time.Duration) {
	if len(p.times) == paceRounds {
		p.times = p.times[1:]
	}
	p.times = append(p.times, d)
}

// late returns the time after which a round is late, 0 if unknown.
func (p *pace) late(least time.Duration) time.Duration {
	if len(p.times) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(p.times))
	return max(least, lateFactor*sorted[len(sorted)/2])
}

// paces holds the durations of rounds, to tell which are late.
type paces struct {
	least time.Duration // before a round is late

	mu     sync.Mutex // guards what follows
	all    pace
	trials map[int]*pace
}

func newPaces(least time.Duration) *paces { return &paces{least: least, trials: map[int]*pace{}} }

// late returns the time after which a round of a trial is late, 0 if unknown.
func (p *paces) late(trial int) time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	if of := p.trials[trial]; of != nil {
		return of.late(p.least)
	}
	return p.all.late(p.least)
}

// took records the duration of a round of a trial.
func (p *paces) took(trial int, d time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	of := p.trials[trial]
	if of == nil {
		of = &pace{}
		p.trials[trial] = of
	}
	of.add(d)
	p.all.add(d)
}
