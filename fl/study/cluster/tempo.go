package cluster

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/fedfast/fedfast/fl"
	"github.com/fedfast/fedfast/fl/study"
)

// Rounds says whether workers train the rounds of a trial together, in parts. It is a
// matter of time alone: a round has the same bits in both ways.
type Rounds string

// The ways in which rounds are trained.
const (
	// RoundsAuto has workers share rounds where measured times say that it pays:
	// workers are idle, and what a round takes at one of them is more than what the
	// parts and the ways of the weights take.
	RoundsAuto Rounds = "auto"
	// RoundsAlways has all rounds shared, RoundsNever none.
	RoundsAlways Rounds = "always"
	RoundsNever  Rounds = "never"
)

// Set reads it from a flag.
func (r *Rounds) Set(text string) error {
	switch Rounds(text) {
	case RoundsAuto, RoundsAlways, RoundsNever:
		*r = Rounds(text)
		return nil
	}
	return errors.New("must be auto, always or never")
}

// String is what Set reads.
func (r *Rounds) String() string { return string(*r) }

// Type names it in the help of a flag.
func (r *Rounds) Type() string { return "auto|always|never" }

// tempo is what is known of how long the rounds of a trial take, in seconds.
type tempo struct {
	whole    float64         // at one worker, 0 for unknown
	shared   map[int]float64 // in parts, by the number of workers
	tries    map[int]int     // how many rounds that were
	together bool            // its rounds are shared now
	workers  int             // with so many workers, at the last decision

	round    int // at work in parts
	began    time.Time
	left     int             // parts to come
	sharers  map[string]bool // names of those that have trained parts of it
	recorded string          // who is recorded to share the rounds
}

func (c *Coordinator) tempoOf(trial int) *tempo {
	p := c.tempos[trial]
	if p == nil {
		p = &tempo{shared: map[int]float64{}, tries: map[int]int{}, sharers: map[string]bool{}}
		c.tempos[trial] = p
	}
	return p
}

// smooth takes a new measurement into a mean in which the newest count most.
func smooth(mean, seconds float64) float64 {
	if mean == 0 {
		return seconds
	}
	return 0.7*mean + 0.3*seconds
}

// ended takes the time of a round in parts.
func (p *tempo) ended(now time.Time) {
	p.tries[p.workers]++
	p.shared[p.workers] = smooth(p.shared[p.workers], now.Sub(p.began).Seconds())
}

// ways are the seconds that a model takes to the server and from it.
type ways struct{ put, get float64 }

// measureWays sends the model there and back.
func (c *Coordinator) measureWays(ctx context.Context, s *study.Setup) error {
	start := time.Now()
	name, err := c.blobs.put(ctx, &fl.Snapshot{Weights: s.Model.NewParams()})
	if err != nil {
		return err
	}
	c.ways.put = time.Since(start).Seconds()
	start = time.Now()
	if _, err = c.blobs.get(ctx, name); err == nil {
		c.ways.get = time.Since(start).Seconds()
		err = c.blobs.remove(ctx, name)
	}
	return err
}

// gain is how much faster a round must be in parts than whole before it is tried: the
// ways from the workers may be longer than those that were measured, and a trial that
// moves pays for it.
const gain = 0.8

// fair is how many rounds so many workers share before their times are believed.
const fair = 3

// pays says whether n workers are faster together than one, as far as was measured.
func (c *Coordinator) pays(p *tempo, n int) bool {
	switch {
	case n < 2 || c.cohort < 2 || len(fl.ShardSizes(c.cohort, 2)) < 2 || p.whole == 0:
		return false
	case p.tries[n] >= fair:
		return p.shared[n] < p.whole
	case p.tries[n] > 0:
		return true
	}
	return c.expected(p, n) < gain*p.whole
}

// expected is how long a round may take that n workers share.
func (c *Coordinator) expected(p *tempo, n int) float64 {
	_, seconds := c.split(p, n)
	return seconds + c.ways.put + float64(n)*c.ways.get
}

// split returns into how many parts n workers best share a round, and how long training
// and sending them takes: many small parts leave nobody waiting, and take longer ways.
func (c *Coordinator) split(p *tempo, n int) (parts int, seconds float64) {
	client, way := p.whole/float64(c.cohort), c.ways.put+c.ways.get
	if p.whole == 0 { // nothing is known but who has how many clients
		client, way = 1, 0
	}
	for ask := c.cohort; ; {
		sizes := fl.ShardSizes(c.cohort, ask)
		loads := make([]int, n)
		for _, size := range sizes {
			slices.Sort(loads)
			loads[0] += size
		}
		if took := float64(slices.Max(loads))*client + float64(len(sizes))*way; parts == 0 || took <= seconds {
			parts, seconds = len(sizes), took
		}
		if len(sizes) == 1 {
			return parts, seconds
		}
		ask = (len(sizes) + 1) / 2
	}
}

// idle counts the workers that wait for something to do, with the one that trains a
// trial.
func (c *Coordinator) idle(trial int) int {
	n := 0
	for _, s := range c.seats {
		if s.free() || s.lease != 0 && s.share == nil && s.trial == trial && !s.leaving {
			n++
		}
	}
	return n
}

// Shares says whether the next round of a trial is trained in parts.
func (c *Coordinator) Shares(trial int) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.whole != nil || c.options.Rounds == RoundsNever {
		return false
	}
	if c.options.Rounds == RoundsAlways {
		return true
	}
	p := c.tempoOf(trial)
	n := c.idle(trial)
	if c.placing > 0 { // trials wait for workers
		n = 0
	}
	before := p.together
	p.together, p.workers = c.pays(p, n), n
	if p.together && !before {
		c.options.Notice(fmt.Sprintf("trial %d: %d workers train its rounds together from round %d on", trial, n, p.round+1))
	}
	return p.together
}

// Shards says into how many shards a round is split.
func (c *Coordinator) Shards(trial, round, clients int) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	p := c.tempoOf(trial)
	n := 0
	switch {
	case c.options.Rounds == RoundsAlways:
		n = max(1, c.staying())
	case p.together:
		n = c.idle(trial)
	}
	if n == 0 {
		return 0
	}
	n, _ = c.split(p, n)
	for at := range c.shares {
		if at.trial == trial && at.rounds < round {
			delete(c.shares, at)
		}
	}
	for at := range c.lostShares {
		if at.trial == trial && at.rounds < round {
			delete(c.lostShares, at)
		}
	}
	p.round, p.began, p.left = round, time.Now(), len(fl.ShardSizes(clients, n))
	clear(p.sharers)
	return n
}

// staying counts the workers that were not asked to end.
func (c *Coordinator) staying() int {
	n := 0
	for _, s := range c.seats {
		if !s.out && !s.leaving {
			n++
		}
	}
	return n
}

// examShare is how much of a client's training its evaluation takes, at least.
const examShare = 0.3

// Exams says into how many parts an evaluation by so many clients is split: two for each
// worker, so that none waits long for the last one.
func (c *Coordinator) Exams(clients int) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch c.options.Rounds {
	case RoundsNever:
		return 0
	case RoundsAlways:
		return 2 * max(1, c.staying())
	case RoundsAuto:
	}
	var whole float64
	for _, p := range c.tempos {
		whole = max(whole, p.whole)
	}
	n := c.idle(-1)
	here := examShare * whole / float64(c.cohort) * float64(clients)
	if n == 0 || c.placing > 0 || here/float64(n)+c.ways.put+float64(n)*c.ways.get > gain*here {
		return 0
	}
	return 2 * n
}

// tookWhole takes the time of a round at one worker.
func (c *Coordinator) tookWhole(trial, rounds int, d time.Duration) {
	p := c.tempoOf(trial)
	p.whole, p.round, p.recorded = smooth(p.whole, d.Seconds()), rounds, ""
}
