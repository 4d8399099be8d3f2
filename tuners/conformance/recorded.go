package conformance

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"

	"github.com/fedfast/fedfast/kernels/det"
	"github.com/fedfast/fedfast/tuners"
)

// Recorded is a surface of scores that were measured: a point scores as the nearest
// recorded one, between recorded rounds on the straight line.
type Recorded struct {
	Budget    tuners.Budget // of the study that was recorded; zero when unknown
	Objective tuners.Objective
	space     tuners.Space
	curves    []*curve
}

// curve is one recorded point.
type curve struct {
	params tuners.Params
	at     []float64 // in the unit cube
	scores []scored  // by round
}

// scored is a score after a round.
type scored struct {
	round int
	score float64
}

// NewRecorded returns an empty surface over a space.
func NewRecorded(space tuners.Space) *Recorded { return &Recorded{space: space} }

// Add records a score. The params must be a point of the space and the score
// finite.
func (r *Recorded) Add(p tuners.Params, round int, score float64) error {
	if err := r.space.Contains(p); err != nil {
		return err
	}
	if round < 1 || !det.Finite(score) {
		return fmt.Errorf("round %d, score %v: round must be at least 1 and score finite", round, score)
	}
	i := slices.IndexFunc(r.curves, func(c *curve) bool { return c.params.Equal(p) })
	if i < 0 {
		i = len(r.curves)
		r.curves = append(r.curves, &curve{params: p, at: r.space.Unit(p)})
	}
	c := r.curves[i]
	at, found := slices.BinarySearchFunc(c.scores, round, func(s scored, round int) int { return s.round - round })
	if found {
		c.scores[at].score = score
	} else {
		c.scores = slices.Insert(c.scores, at, scored{round, score})
	}
	return nil
}

// Points returns how many points were recorded.
func (r *Recorded) Points() int { return len(r.curves) }

// Space returns the space of the surface.
func (r *Recorded) Space() tuners.Space { return r.space }

// Score is the score of the nearest recorded point; of several the first.
func (r *Recorded) Score(p tuners.Params, round int) float64 {
	at := r.space.Unit(p)
	best, nearest := math.Inf(1), (*curve)(nil)
	for _, c := range r.curves {
		sum := 0.0
		for i, x := range c.at {
			sum += (x - at[i]) * (x - at[i])
		}
		if sum < best {
			best, nearest = sum, c
		}
	}
	return nearest.score(round)
}

// score reads the curve at a round; before the first and after the last recorded
// round it is flat.
func (c *curve) score(round int) float64 {
	at, found := slices.BinarySearchFunc(c.scores, round, func(s scored, round int) int { return s.round - round })
	switch {
	case found || at == 0:
		return c.scores[at].score
	case at == len(c.scores):
		return c.scores[at-1].score
	}
	a, b := c.scores[at-1], c.scores[at]
	return a.score + (b.score-a.score)*float64(round-a.round)/float64(b.round-a.round)
}

// Lowest is the lowest recorded score at a round, or the highest where higher is
// better.
func (r *Recorded) Lowest(round int) float64 {
	low := math.NaN()
	for _, c := range r.curves {
		if s := c.score(round); math.IsNaN(low) || r.Objective.Better(s, low) {
			low = s
		}
	}
	return low
}

// head is the first line of a recorded surface.
type head struct {
	Space    map[string]any `json:"space"`
	Budget   *budgetLine    `json:"budget"`
	Maximize bool           `json:"maximize"`
}

// budgetLine is the budget in the first line.
type budgetLine struct {
	Rounds      int `json:"rounds"`
	TrialRounds int `json:"trial_rounds"`
}

// scoreLine is every other line.
type scoreLine struct {
	Params tuners.Params `json:"params"`
	Round  int           `json:"round"`
	Score  *float64      `json:"score"`
}

// ReadRecorded reads a recorded surface: lines of JSON, first one with the space as
// a study file writes it,
//
//	{"space": {"client.lr": {"log10": [-4, 0]}}, "budget": {"rounds": 100, "trial_rounds": 10}}
//
// where the budget, and "maximize": true, may be left out, then one for each score:
//
//	{"params": {"client.lr": 0.01}, "round": 10, "score": 0.31}
//
// Errors name the line.
func ReadRecorded(from io.Reader) (*Recorded, error) {
	lines := bufio.NewScanner(from)
	lines.Buffer(nil, 1<<20)
	var r *Recorded
	for n := 1; lines.Scan(); n++ {
		line := bytes.TrimSpace(lines.Bytes())
		if len(line) == 0 {
			continue
		}
		var err error
		if r == nil {
			r, err = readHead(line)
		} else {
			var s scoreLine
			if err = strict(line, &s); err == nil && s.Score == nil {
				err = errors.New("no score")
			}
			if err == nil {
				err = r.Add(s.Params, s.Round, *s.Score)
			}
		}
		if err != nil {
			return nil, fmt.Errorf("line %d: %w", n, err)
		}
	}
	switch {
	case lines.Err() != nil:
		return nil, lines.Err()
	case r == nil || r.Points() == 0:
		return nil, errors.New("no score is recorded")
	}
	return r, nil
}

// readHead reads the first line.
func readHead(line []byte) (*Recorded, error) {
	var h head
	if err := strict(line, &h); err != nil {
		return nil, err
	}
	var dims []tuners.Dim
	for _, name := range slices.Sorted(maps.Keys(h.Space)) {
		d, err := tuners.ParseDim(name, h.Space[name])
		if err != nil {
			return nil, err
		}
		dims = append(dims, d)
	}
	if len(dims) == 0 {
		return nil, errors.New(`the first line must be {"space": {...}}`)
	}
	space, err := tuners.NewSpace(dims...)
	if err != nil {
		return nil, err
	}
	r := NewRecorded(space)
	if h.Budget != nil {
		r.Budget = tuners.Budget{Rounds: h.Budget.Rounds, TrialRounds: h.Budget.TrialRounds}
	}
	if h.Maximize {
		r.Objective.Direction = tuners.Maximize
	}
	return r, nil
}

// strict decodes JSON with known keys only.
func strict(line []byte, into any) error {
	d := json.NewDecoder(bytes.NewReader(line))
	d.DisallowUnknownFields()
	return d.Decode(into)
}
