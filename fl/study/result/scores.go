package result

import (
	"fmt"
	"math"

	"github.com/fedfast/fedfast/internal/sys/oneline"
	"github.com/fedfast/fedfast/tuners"
)

// StandingRounds is over how many of a trial's newest rounds a Standing is the mean.
const StandingRounds = 5

// Standing is an estimate of how good a trial's model is: the mean score of its
// newest rounds, each scored on that round's cohort alone. The best score of any
// single round would be that of the luckiest cohort.
type Standing struct {
	// Trial had run Round rounds.
	Trial, Round int
	// Score is the mean, NaN without any score.
	Score float64
	// Rounds is how many rounds it is of, at most 5; Clients the mean size of their
	// cohorts.
	Rounds, Clients int
	// Short is set while the trial is on the way to its first rung and has run
	// fewer than 5 rounds: others stand before it.
	Short bool
}

// Before reports whether a standing is better than another one; of equal ones, that of
// the lower trial number is.
func (s Standing) Before(o Standing, aim tuners.Objective) bool {
	switch {
	case math.IsNaN(s.Score) != math.IsNaN(o.Score):
		return math.IsNaN(o.Score)
	case s.Short != o.Short:
		return o.Short
	case s.Score != o.Score:
		return aim.Better(s.Score, o.Score)
	}
	return s.Trial < o.Trial
}

// Basis describes what the estimate is from: "mean of 5 rounds, 10 clients each".
func (s Standing) Basis() string {
	if s.Rounds == 1 {
		return fmt.Sprintf("1 round, %s", oneline.Count(s.Clients, "client"))
	}
	return fmt.Sprintf("mean of %d rounds, %s each", s.Rounds, oneline.Count(s.Clients, "client"))
}

// Recent holds the newest rounds of a trial, which it is given in their order. The
// zero value stands for no rounds.
type Recent struct {
	scores  [StandingRounds]float64
	clients [StandingRounds]int
	rounds  int // in all
}

// Add adds a round with its own score and the size of its cohort.
func (r *Recent) Add(score float64, clients int) {
	at := r.rounds % StandingRounds
	r.scores[at], r.clients[at] = score, clients
	r.rounds++
}

// Standing returns that of a trial after a number of rounds; rung means that one closes
// there.
func (r *Recent) Standing(trial, round int, rung bool) Standing {
	n := min(r.rounds, StandingRounds)
	s := Standing{Trial: trial, Round: round, Score: math.NaN(), Rounds: n, Short: n < StandingRounds && !rung}
	if n == 0 {
		return s
	}
	sum := 0.0
	for i := r.rounds - n; i < r.rounds; i++ {
		sum += r.scores[i%StandingRounds]
		s.Clients += r.clients[i%StandingRounds]
	}
	s.Score, s.Clients = sum/float64(n), (s.Clients+n/2)/n
	return s
}

// Discounted is the mean of a series in which an entry of age a weighs
// discount^a, the newest having age 0, or the mean of its newest entries. The zero value
// stands for no entries.
type Discounted struct {
	sum, weight float64
	newest      []float64
}

// Add adds an entry and returns the mean. discount, see config.Config.Discount, is the same
// at every call: 0 is the newest entry alone, a number from 2 on the mean of as many newest
// entries.
func (d *Discounted) Add(x, discount float64) float64 {
	if discount > 1 {
		d.newest = append(d.newest, x)
		d.newest = d.newest[max(0, len(d.newest)-int(discount)):]
		sum := 0.0
		for _, y := range d.newest {
			sum += y
		}
		return sum / float64(len(d.newest))
	}
	d.sum = float64(d.sum*discount) + x
	d.weight = float64(d.weight*discount) + 1
	return d.sum / d.weight
}
