// Package report lays out studies for people: one HTML page that needs nothing else,
// with a picture of each question that is asked of a study and the numbers behind it.
package report

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/fedfast/fedfast/fl"
	"github.com/fedfast/fedfast/fl/study/config"
	"github.com/fedfast/fedfast/fl/study/result"
	"github.com/fedfast/fedfast/fl/study/view"
	"github.com/fedfast/fedfast/internal/sys/oneline"
	"github.com/fedfast/fedfast/tuners"
)

// Study is what a report tells of a study.
type Study struct {
	*view.Overview
	// curves are the rounds of the trials, by their places.
	curves [][]view.Round
	// space is the study's search space; a client tuner may add to it.
	space tuners.Space
	// noted are the notes of the client tuner about the trials of the lowest scores.
	noted []noted
	// workers and stretches belong to a study with a cluster: who trained which
	// rounds.
	workers   []view.Worker
	stretches []view.Stretch
	// table is the table of the best trial's client tuner, if it has one.
	table []tuners.Cell
	// atWork are the rounds of the trial whose clients are shown, with their jobs on a
	// fleet; nil without one.
	atWork []view.Round
	// clients are the test errors of the returned model on single clients.
	clients []fl.ClientError
	// settings are the values of its keys, see settle.
	settings map[string]string
}

// noted are a client tuner's notes about a trial.
type noted struct {
	trial  *view.Trial
	rounds []int
	notes  []map[string][]float64
	// drawn are the options of the model's choices that clients were given.
	drawn map[string]map[float64]bool
}

// Read reads a study from its directory.
func Read(ctx context.Context, dir string) (*Study, error) {
	v, about, err := view.Open(ctx, dir)
	if err != nil {
		return nil, err
	}
	defer func() { _ = v.Close() }() // it was read only
	s := &Study{Overview: about}
	if s.curves, err = v.Curves(ctx, s.Overview); err != nil {
		return nil, fmt.Errorf("%s: %w", dir, err)
	}
	if s.workers, s.stretches, err = v.Workers(ctx, s.Overview, s.curves); err != nil {
		return nil, fmt.Errorf("%s: %w", dir, err)
	}
	if s.space, err = tuners.ParseSpace(s.Config.Space); err != nil {
		return nil, fmt.Errorf("%s: %w", dir, err)
	}
	if s.clients, err = v.Clients(ctx, s.Overview); err != nil {
		return nil, fmt.Errorf("%s: %w", dir, err)
	}
	if i := s.fleetTrial(); i >= 0 {
		if s.atWork, err = v.Curve(ctx, &s.Trials[i], 0, s.Config.Discount()); err != nil {
			return nil, fmt.Errorf("%s: %w", dir, err)
		}
	}
	for _, i := range s.named() {
		if err := s.readNotes(ctx, v, &s.Trials[i]); err != nil {
			return nil, fmt.Errorf("%s: %w", dir, err)
		}
	}
	return s, nil
}

// readNotes reads what the client tuner told about a trial.
func (s *Study) readNotes(ctx context.Context, v *view.Study, t *view.Trial) error {
	n := noted{trial: t, drawn: map[string]map[float64]bool{}}
	err := v.Plans(ctx, t.Number, 0, func(e *result.Entry) error {
		if len(e.Plan.Table) > 0 {
			s.table = e.Plan.Table
		}
		if len(e.Plan.Notes) > 0 {
			n.rounds, n.notes = append(n.rounds, e.Round), append(n.notes, e.Plan.Notes)
			n.draw(e.Plan.Clients)
		}
		return nil
	})
	if len(n.rounds) > 0 {
		s.noted = append(s.noted, n)
	}
	return err
}

// mostNamed is how many trials have a line of their own in pictures.
const mostNamed = 4

// named are the places of the trials that have a line of their own, the first of Ranked.
func (s *Study) named() []int {
	all := s.Ranked()
	return all[:min(mostNamed, len(all))]
}

// best is the place of the best trial, -1 without one. A plain run has one trial.
func (s *Study) best() int {
	for i := range s.Trials {
		if s.Best == nil && len(s.Trials) == 1 || s.Best != nil && s.Trials[i].Number == s.Best.Trial {
			return i
		}
	}
	return -1
}

// trialName names a trial in pictures.
func (s *Study) trialName(i int) string {
	name := fmt.Sprintf("trial %d", s.Trials[i].Number)
	if s.Trials[i].Reference {
		name = "default"
	}
	if s.Best != nil && s.Trials[i].Number == s.Best.Trial {
		name += " (best)"
	}
	return name
}

// testAt is the newest test error of a trial up to a round, NaN without any.
func (s *Study) testAt(trial, round int) float64 {
	test := math.NaN()
	for i := range s.Trials {
		if s.Trials[i].Number != trial {
			continue
		}
		for _, r := range s.curves[i] {
			if r.Round <= round && !math.IsNaN(r.TestError) {
				test = r.TestError
			}
		}
	}
	return test
}

// step is the best result of a study after spent rounds.
type step struct {
	spent int
	// score is the best of a rung so far, test the test error of its trial then.
	score, test float64
}

// online is what the study had found at each of its rungs. Of a single trial, which has
// few or none, it is what was measured.
func (s *Study) online() []step {
	type rung struct {
		trial int
		view.Rung
	}
	var rungs []rung
	for i := range s.Suggested() {
		for _, r := range s.Trials[i].Rungs {
			rungs = append(rungs, rung{s.Trials[i].Number, r})
		}
	}
	slices.SortFunc(rungs, func(a, b rung) int { return cmp.Compare(a.Spent, b.Spent) })
	var steps []step
	best, test := math.NaN(), math.NaN()
	for _, r := range rungs {
		if s.Config.Aim().Better(r.Score, best) {
			best, test = r.Score, s.testAt(r.trial, r.Round)
		}
		steps = append(steps, step{r.Spent, best, test})
	}
	if len(s.curves) != 1 {
		return steps
	}
	var measured []step
	for _, r := range s.curves[0] {
		now := step{r.Round, math.NaN(), r.TestError}
		for _, x := range steps {
			if x.spent <= r.Round {
				now.score = x.score
			}
		}
		if !math.IsNaN(r.TestError) {
			measured = append(measured, now)
		}
	}
	if len(measured) > 0 {
		return measured
	}
	return steps
}

// measured is how errors are written.
type measured struct {
	name, unit string  // of an axis: "error" and ", %"
	by         float64 // what they are multiplied by
}

// errors says how the study's errors are written.
func (s *Study) errors() measured {
	name, share := result.MeasureName(s.Measure())
	if !share {
		return measured{name, "", 1}
	}
	return measured{name, ", %", 100}
}

// measures is the target of the models whose test errors curves have, and models names these.
func (s *Study) measures() string { return s.Config.Measures(s.Mode) }
func (s *Study) models() string   { return config.Models(s.measures()) }

// trialTables list the trials, the best first, with the hyperparameters in which they
// differ: those that were not pruned, and the pruned ones.
func (s *Study) trialTables() (kept, pruned *Table) {
	if len(s.Trials) == 0 || s.Mode == config.ModeRun {
		return nil, nil
	}
	var places [2][]int
	for _, i := range s.Ranked() {
		group := 0
		if s.Trials[i].State == view.Pruned && i != s.best() {
			group = 1
		}
		places[group] = append(places[group], i)
	}
	kept, pruned = s.TrialTable(places[0], s.Keys()), s.TrialTable(places[1], s.Keys())
	kept.Title, pruned.Title = "Trials, best first: "+strings.Join(s.TrialsTitle(), "; "), oneline.Count(len(places[1]), "pruned trial")
	switch {
	case len(places[0]) == 0:
		return pruned, nil
	case len(places[1]) == 0:
		return kept, nil
	}
	return kept, pruned
}

// cellTable is the table in which clients look their hyperparameters up.
func (s *Study) cellTable() *Table {
	if len(s.table) == 0 {
		return nil
	}
	g := &Table{Title: "Client tuner: reference table", Head: []string{"heterogeneity index", "samples"}}
	g.Head = append(g.Head, s.table[0].Params.Keys()...)
	for _, c := range s.table {
		row := []string{strconv.FormatFloat(c.Keys[tuners.KeyHI], 'g', 4, 64), strconv.FormatFloat(c.Keys[tuners.KeySamples], 'g', -1, 64)}
		for _, key := range s.table[0].Params.Keys() {
			row = append(row, short(c.Params[key]))
		}
		g.Rows = append(g.Rows, row)
	}
	return g
}

func (s *Study) sessionTable() *Table {
	g := &Table{Title: "Sessions", Head: []string{"started", "version", "processor", "instruction set", "workers"}}
	for _, x := range s.Sessions {
		g.Rows = append(g.Rows, []string{stamp(x.At), x.Version, x.CPU, x.Level, strconv.Itoa(x.Workers)})
	}
	if len(g.Rows) == 0 {
		return nil
	}
	return g
}
