package report

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/fedfast/fedfast/internal/figure"
	"github.com/fedfast/fedfast/nn/models"
	"github.com/fedfast/fedfast/tuners"
)

// spreadOf begins the names of notes that tell how far clients are apart in what the
// note after it tells the mean of.
const spreadOf = "spread of "

// choice is a choice of the model that a client tuner tells its policy of.
type choice struct {
	note    string // its name
	options []string
}

// draw takes in what a plan picks.
func (n *noted) draw(clients []tuners.Params) {
	for _, params := range clients {
		for name := range params {
			if strings.HasPrefix(name, tuners.ArchPrefix) {
				if n.drawn[name] == nil {
					n.drawn[name] = map[float64]bool{}
				}
				n.drawn[name][params.Float(name, math.NaN())] = true
			}
		}
	}
}

// choices are the choices of the model that a client tuner's notes are named after, in the
// order of their names.
func (n *noted) choices(model string) []choice {
	var all []choice
	for name, first := range n.notes[len(n.notes)-1] {
		if strings.HasPrefix(name, tuners.ArchPrefix) && len(first) > 1 {
			all = append(all, choice{name, n.options(model, name, len(first))})
		}
	}
	slices.SortFunc(all, func(a, b choice) int { return strings.Compare(a.note, b.note) })
	return all
}

// options names the options of a choice: as a model of the program's has them, or as
// clients were given them, which are all of them sooner or later, or else by numbers.
func (n *noted) options(model, name string, many int) []string {
	var options []float64
	if m, err := models.New(model, models.Options{}); err == nil {
		for _, c := range m.Choices() {
			if tuners.ArchPrefix+c.Name == name {
				for _, x := range c.Options {
					options = append(options, float64(x))
				}
			}
		}
	} else {
		options = slices.Sorted(maps.Keys(n.drawn[name])) // as a study file has to list them
	}
	names := make([]string, many)
	for j := range names {
		names[j] = "option " + strconv.Itoa(j+1)
		if len(options) == many {
			names[j] = strconv.FormatFloat(options[j], 'g', -1, 64)
		}
	}
	return names
}

// policies show of a client tuner that picks sub-networks how likely it picks each
// option of each choice, in the mean over the clients, and how far the clients are
// apart in that.
func (s *Study) policies() []*figure.Figure {
	if len(s.noted) == 0 {
		return nil
	}
	n := &s.noted[0]
	choices := n.choices(s.Config.Model.Name)
	if len(choices) == 0 {
		return nil
	}
	chances := n.chances(choices, "", "probability")
	all := []*figure.Figure{{
		Name: "policy", Title: fmt.Sprintf("Client tuner: probability of each option, mean over clients (trial %d)", n.trial.Number),
		Panels: []figure.Panel{{X: figure.Axis{Label: "rounds of the trial"}, Y: figure.Axis{Label: "option"}, Heat: chances}},
	}}
	if spreads := n.chances(choices, spreadOf, "standard deviation"); spreads != nil {
		all = append(all, &figure.Figure{
			Name: "policy-spread", Title: fmt.Sprintf("Client tuner: standard deviation of these probabilities over clients (trial %d)", n.trial.Number),
			Note:   "Standard deviation over the clients with a policy. The maximum, 0.5, means that half of them always pick an option and half never do.",
			Panels: []figure.Panel{{X: figure.Axis{Label: "rounds of the trial"}, Y: figure.Axis{Label: "option"}, Heat: spreads}},
		})
	}
	return all
}

// chances maps the notes of choices, whose names a prefix goes before, with a row for
// each option and a gap between choices; nil where no round has such notes.
func (n *noted) chances(choices []choice, prefix, of string) *figure.Heat {
	var rows []heatRow
	for k, c := range choices {
		if k > 0 {
			rows = append(rows, heatRow{})
		}
		for j, option := range c.options {
			rows = append(rows, heatRow{strings.TrimPrefix(c.note, tuners.ArchPrefix) + " " + option, prefix + c.note, j})
		}
	}
	h := n.heat(of, rows)
	if !slices.ContainsFunc(h.Cells, func(cells []float64) bool {
		return slices.ContainsFunc(cells, func(x float64) bool { return !math.IsNaN(x) })
	}) {
		return nil
	}
	return h
}
