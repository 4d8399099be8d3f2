package tuners

import (
	"fmt"
	"slices"
	"strings"

	"github.com/fedfast/fedfast/internal/list"
)

// Space is a search space: dimensions in ascending order of their names, see
// NewSpace.
type Space []Dim

// ArchPrefix begins the names of the dimensions that pick a client's sub-network:
// client.arch. and the name of one of the model's choices.
const ArchPrefix = "client.arch."

// NewSpace sorts the dimensions by name and checks them.
func NewSpace(dims ...Dim) (Space, error) {
	s := Space(slices.Clone(dims))
	slices.SortStableFunc(s, func(a, b Dim) int { return strings.Compare(a.Name, b.Name) })
	return s, s.Check()
}

// Check says what is wrong with the space: a bad dimension, names that repeat or
// stand out of order.
func (s Space) Check() error {
	for i, d := range s {
		if err := d.Check(); err != nil {
			return err
		}
		if i > 0 && s[i-1].Name == d.Name {
			return fmt.Errorf("%s occurs twice in the space", d.Name)
		}
		if i > 0 && s[i-1].Name > d.Name {
			return fmt.Errorf("space must be sorted by name, but %s follows %s", d.Name, s[i-1].Name)
		}
	}
	return s.checkConditions()
}

// Dim returns the dimension of that name, and whether there is one.
func (s Space) Dim(name string) (Dim, bool) {
	i, ok := slices.BinarySearchFunc(s, name, func(d Dim, name string) int { return strings.Compare(d.Name, name) })
	if !ok {
		return Dim{}, false
	}
	return s[i], true
}

// With returns the space with more dimensions; a name that is there already keeps
// the space's own dimension.
func (s Space) With(dims ...Dim) (Space, error) {
	more := list.Where(dims, func(d Dim) bool { _, ok := s.Dim(d.Name); return !ok })
	return NewSpace(slices.Concat(s, more)...)
}

// Matching returns the dimensions whose names match one of the patterns: a name, or
// a prefix followed by "*" as in "client.*".
func (s Space) Matching(patterns ...string) Space {
	return list.Where(s, func(d Dim) bool { return Matches(d.Name, patterns...) })
}

// Matches says whether a name matches one of the patterns of Description.Controls.
func Matches(name string, patterns ...string) bool {
	for _, p := range patterns {
		if prefix, ok := strings.CutSuffix(p, "*"); ok && strings.HasPrefix(name, prefix) || p == name {
			return true
		}
	}
	return false
}

// drawn returns the dimensions in the order in which they are drawn: those of
// clients and server by their names, then the others, which client tuners add. So a
// tuner draws the same values of the former with a client tuner and without: what
// is compared then differs in nothing else.
func (s Space) drawn() Space {
	own := s.Matching("client.*", "server.*")
	others := slices.DeleteFunc(slices.Clone(s), func(d Dim) bool { return Matches(d.Name, "client.*", "server.*") })
	return slices.Concat(own, others)
}

// Sample draws a point: one number per dimension, those of clients and server
// first, in the order of their names. The point lacks the dimensions whose condition it
// does not meet.
func (s Space) Sample(d *Draws) Params {
	p := make(Params, len(s))
	for _, dim := range s.drawn() {
		p[dim.Name] = dim.Sample(d.Float64())
	}
	return s.Active(p)
}

// Perturb draws a neighbour of centre, dimension by dimension in the order of
// Sample; see Dim.Perturb. A dimension that centre lacks is sampled. Names outside
// of the space are not in the result.
func (s Space) Perturb(centre Params, eps float64, d *Draws) Params {
	p := make(Params, len(s))
	for _, dim := range s.drawn() {
		u := d.Float64()
		if v, ok := centre[dim.Name]; ok {
			p[dim.Name] = dim.Perturb(v, eps, u)
		} else {
			p[dim.Name] = dim.Sample(u)
		}
	}
	return p
}

// Unit maps a point to the unit cube, in the order of the dimensions: the drawn scale for
// numbers, the place among the choices for a choice, 0.5 for what is missing.
func (s Space) Unit(p Params) []float64 {
	at := make([]float64, len(s))
	for i, d := range s {
		at[i] = 0.5
		v, ok := p[d.Name]
		switch {
		case !ok:
		case d.Kind == Choice:
			if n := slices.Index(d.Choices, v); n >= 0 && len(d.Choices) > 1 {
				at[i] = float64(n) / float64(len(d.Choices)-1)
			}
		case d.Hi > d.Lo:
			at[i] = (d.Scale(v) - d.Lo) / (d.Hi - d.Lo)
		}
	}
	return at
}

// Contains says why p is no point of the space: a dimension is missing, a value
// lies outside, a name is unknown. nil when it is one.
func (s Space) Contains(p Params) error {
	for _, d := range s {
		v, ok := p[d.Name]
		if !s.active(d, p) {
			if ok {
				return fmt.Errorf("%s = %s, but %s is not %s", d.Name, v, d.When.Parent, valuesText(d.When.Values))
			}
			continue
		}
		if !ok {
			return fmt.Errorf("%s is missing", d.Name)
		}
		if err := d.Contains(v); err != nil {
			return err
		}
	}
	for _, k := range p.Keys() {
		if _, ok := s.Dim(k); !ok {
			return fmt.Errorf("%s is not a dimension of the space", k)
		}
	}
	return nil
}

// What a tuner may ask for in one answer, and of proxy federations in all. A study
// of more trials takes several answers.
const (
	MaxDecisions   = 10_000
	MaxPoints      = 4_096   // of one Score or Local
	MaxLocalScores = 250_000 // of the clients of a Local, one for each point
	MaxSideTrials  = 100_000
	MaxSideRounds  = 1_000_000 // of one trial
	MaxSideClients = 1_000_000
	MaxSideSamples = 1_000_000_000 // of one client
)

// What the notes of one plan may hold: names, and numbers of all of them together.
const (
	MaxNotes       = 64
	MaxNoteNumbers = 1024
)
