package cluster

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/fedfast/fedfast/fl/internal/shard"
)

// costModel holds how long the rounds of a trial take, in seconds.
type costModel struct {
	whole    float64         // on one worker, 0 if unknown
	shared   map[int]float64 // in parts, by number of workers
	tries    map[int]int     // number of rounds measured, by number of workers
	together bool            // rounds are currently shared
	workers  int             // number of workers at the last decision

	round    int // currently trained in parts
	began    time.Time
	left     int             // outstanding parts
	sharers  map[string]bool // names of the workers that have trained parts of it
	recorded string          // workers recorded as sharing the rounds
}

// costs decides by measured times whether workers share rounds.
type costs struct {
	mode      Rounds
	cohort    int
	whole     error // why rounds cannot be shared, nil if they can
	transfers transferTimes

	mu     sync.Mutex         // guards what follows
	trials map[int]*costModel // by trial
}

func newCosts(mode Rounds, cohort int, whole error) *costs {
	return &costs{mode: mode, cohort: cohort, whole: whole, trials: map[int]*costModel{}}
}

// of returns the model of a trial. Like pays, expected and split it is called with mu
// locked.
func (c *costs) of(trial int) *costModel {
	p := c.trials[trial]
	if p == nil {
		p = &costModel{shared: map[int]float64{}, tries: map[int]int{}, sharers: map[string]bool{}}
		c.trials[trial] = p
	}
	return p
}

// smooth updates an exponential moving average.
func smooth(mean, seconds float64) float64 {
	if mean == 0 {
		return seconds
	}
	return 0.7*mean + 0.3*seconds
}

// ended records the duration of a shared round.
func (p *costModel) ended(now time.Time) {
	p.tries[p.workers]++
	p.shared[p.workers] = smooth(p.shared[p.workers], now.Sub(p.began).Seconds())
}

// gain is how much faster a shared round must be expected to be before it is tried:
// transfers from the workers may be slower than those measured, and moving a trial costs
// time too.
const gain = 0.8

// fair is the number of shared rounds after which measured times are trusted.
const fair = 3

// pays reports whether n workers together are faster than one, as far as measured.
func (c *costs) pays(p *costModel, n int) bool {
	switch {
	case n < 2 || c.cohort < 2 || len(shard.Split(c.cohort, 2)) < 2 || p.whole == 0:
		return false
	case p.tries[n] >= fair:
		return p.shared[n] < p.whole
	case p.tries[n] > 0:
		return true
	}
	_, seconds := c.split(p, n)
	return seconds+c.transfers.put+float64(n)*c.transfers.get < gain*p.whole
}

// split returns the best number of parts for n workers, and how long training and
// sending them takes: many small parts balance the load, but cost more transfers.
func (c *costs) split(p *costModel, n int) (parts int, seconds float64) {
	client, way := p.whole/float64(c.cohort), c.transfers.put+c.transfers.get
	if p.whole == 0 { // only the number of clients is known
		client, way = 1, 0
	}
	for ask := c.cohort; ; {
		spans := shard.Split(c.cohort, ask)
		loads := make([]int, n)
		for _, s := range spans {
			slices.Sort(loads)
			loads[0] += s.Hi - s.Lo
		}
		if took := float64(slices.Max(loads))*client + float64(len(spans))*way; parts == 0 || took <= seconds {
			parts, seconds = len(spans), took
		}
		if len(spans) == 1 {
			return parts, seconds
		}
		ask = (len(spans) + 1) / 2
	}
}

// shares decides whether a trial's next round is shared by a supply of workers. A trial whose
// rounds begin to be shared has a notice.
func (c *costs) shares(trial int, of supply) (yes bool, notice string) {
	switch {
	case c.whole != nil || c.mode == RoundsNever:
		return false, ""
	case c.mode == RoundsAlways:
		return true, ""
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	p, n := c.of(trial), of.idle
	if of.placing > 0 { // trials wait for workers
		n = 0
	}
	before := p.together
	p.together, p.workers = c.pays(p, n), n
	if p.together && !before {
		notice = fmt.Sprintf("trial %d: %d workers share its rounds, starting with round %d", trial, n, p.round+1)
	}
	return p.together, notice
}

// shards returns the number of shards a round is split into, 0 if it is not.
func (c *costs) shards(trial, round, clients int, of supply) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	p, n := c.of(trial), 0
	switch {
	case c.mode == RoundsAlways:
		n = max(1, of.staying)
	case p.together:
		n = of.idle
	}
	if n == 0 {
		return 0
	}
	n, _ = c.split(p, n)
	p.round, p.began, p.left = round, time.Now(), len(shard.Split(clients, n))
	clear(p.sharers)
	return n
}

// examShare is the time of a client's evaluation relative to its training, at least.
const examShare = 0.3

// exams returns the number of parts an evaluation on the given number of clients is
// split into: two per worker, so that none waits long for the last one.
func (c *costs) exams(clients int, of supply) int {
	switch c.mode {
	case RoundsNever:
		return 0
	case RoundsAlways:
		return 2 * max(1, of.staying)
	case RoundsAuto:
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	var whole float64
	for _, p := range c.trials {
		whole = max(whole, p.whole)
	}
	n := of.idle
	here := examShare * whole / float64(c.cohort) * float64(clients)
	if n == 0 || of.placing > 0 || here/float64(n)+c.transfers.put+float64(n)*c.transfers.get > gain*here {
		return 0
	}
	return 2 * n
}

// tookWhole records the duration of a round on one worker.
func (c *costs) tookWhole(trial, rounds int, d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	p := c.of(trial)
	p.whole, p.round, p.recorded = smooth(p.whole, d.Seconds()), rounds, ""
}

// trained notes that a worker has trained a part of a trial's round. It returns the workers
// that share the rounds at the first shared round, and whenever they change.
func (c *costs) trained(trial int, worker string) []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	p := c.of(trial)
	p.left--
	p.sharers[worker] = true
	names := slices.Sorted(maps.Keys(p.sharers))
	text := strings.Join(names, " ")
	changed := p.left <= 0 && text != p.recorded
	if p.left == 0 || changed {
		p.ended(time.Now())
	}
	if !changed {
		return nil
	}
	p.recorded = text
	return names
}

// Rounds decides whether workers share the rounds of a trial, each training a part. It
// only affects time: a round has the same bits either way.
type Rounds string

// The values of Rounds.
const (
	// RoundsAuto shares rounds where measured times show that it pays: workers are
	// idle, and a round on one worker takes longer than its parts and the transfer of
	// the weights.
	RoundsAuto Rounds = "auto"
	// RoundsAlways shares all rounds.
	RoundsAlways Rounds = "always"
	// RoundsNever shares no rounds.
	RoundsNever Rounds = "never"
)

// Set implements the Value interface of flags.
func (r *Rounds) Set(text string) error {
	switch Rounds(text) {
	case RoundsAuto, RoundsAlways, RoundsNever:
		*r = Rounds(text)
		return nil
	}
	return errors.New("must be auto, always or never")
}

// String returns the value as Set accepts it.
func (r *Rounds) String() string { return string(*r) }

// Type returns the placeholder in a flag's help text.
func (r *Rounds) Type() string { return "auto|always|never" }
