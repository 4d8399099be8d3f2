package report

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/fedfast/fedfast/fl/study/config"
	"github.com/fedfast/fedfast/fl/study/view"
	"github.com/fedfast/fedfast/internal/figure"
	"github.com/fedfast/fedfast/internal/list"
)

// Part is a group of pictures of a study.
type Part struct {
	ID, Title string
	more      bool // folded in reports
}

// Parts are the parts of a report, in their order.
var Parts = []Part{
	{"result", "Result", false},
	{"clients", "Clients", false},
	{"fleet", "Fleet", false},
	{"params", "Hyperparameters", false},
	{"tuner", "Client tuner", false},
	{"classes", "Classes", true},
	{"curves", "More curves", true},
	{"timeline", "Timeline", true},
}

// Figures are the pictures of a part, by its ID.
func (s *Study) Figures(part string) []*figure.Figure {
	switch part {
	case "result":
		if s.Mode == config.ModeRun {
			return some(s.answerCurve(), s.clockCurve(), s.history(), s.reliability())
		}
		return some(s.front(), s.answerCurve(), s.history(), s.reliability())
	case "clients":
		if len(s.clients) == 0 {
			return some(s.spread())
		}
		return some(s.ecdf(), s.sizes())
	case "classes":
		return some(s.skews())
	case "fleet":
		all := some(s.clientTimeline(), s.fleetUse(), s.staleness())
		if s.Mode == config.ModeTune {
			all = append(all, some(s.clockCurve())...)
		}
		return all
	case "params":
		return some(s.importance(), s.parallel(), s.scatters())
	case "tuner":
		return some(slices.Concat([]*figure.Figure{s.sides()}, s.policies(), s.vectors(), s.planned())...)
	case "curves":
		return some(append(s.curvePictures(), s.traces()...)...)
	case "timeline":
		return some(s.timeline(), Shifts(s.Overview, s.workers, s.stretches))
	}
	return nil
}

// reliability shows how often the predictions of a probability are right.
func (s *Study) reliability() *figure.Figure {
	ideal := figure.Line{Name: "as often as predicted", Points: []figure.Point{{}, {X: 1, Y: 1}}}
	lines := []figure.Line{ideal}
	for _, p := range view.Tests(s.Judged())[:2] {
		if e := s.Errors(); e == nil || e.Evaluation == nil || p.Over(e.Evaluation).Measures == nil {
			continue
		}
		line := figure.Line{Name: p.Name}
		for _, b := range p.Over(s.Errors().Evaluation).Measures.Reliability {
			line.Points = append(line.Points, figure.Point{X: b.Confidence, Y: b.Accuracy})
		}
		if len(line.Points) > 0 {
			lines = append(lines, line)
		}
	}
	if len(lines) == 1 {
		return nil
	}
	x := figure.Axis{Label: "mean probability of the predicted class", Zero: true}
	y := figure.Axis{Label: "share of right predictions", Zero: true}
	return plot("reliability", "Reliability of probabilities, 15 bins", x, y, lines)
}

// Figures returns the figures of a report on studies: of one all of its parts, of several those of their
// comparison.
func Figures(studies []*Study) (all []*figure.Figure, err error) {
	if len(studies) > 1 {
		c, err := Compare(studies)
		if err != nil {
			return nil, err
		}
		return c.Figures, nil
	}
	for _, s := range studies {
		for _, p := range Parts {
			all = append(all, s.Figures(p.ID)...)
		}
	}
	return all, nil
}

// some are the figures that are there.
func some(figures ...*figure.Figure) (all []*figure.Figure) {
	return list.Where(figures, func(f *figure.Figure) bool { return f != nil })
}

// Tables are the tables of a part, by its ID.
func (s *Study) Tables(part string) (all []Table) {
	var found []*Table
	switch part {
	case "params":
		found = []*Table{s.FinalistTable()}
	case "clients":
		found = []*Table{s.fairnessTable(), s.worstTable()}
	case "classes":
		found = []*Table{s.recallTable()}
	case "fleet":
		found = []*Table{s.fleetTable(), s.speedTable()}
	case "tuner":
		found = []*Table{s.cellTable()}
	case "config":
		found = []*Table{s.settingsTable()}
	case "timeline":
		found = []*Table{s.sessionTable(), s.workerTable()}
	}
	for _, t := range found {
		if t != nil {
			all = append(all, *t)
		}
	}
	return all
}

// Remark is what a part says besides, by its ID.
func (s *Study) Remark(part string) string {
	note := view.Sentence(s.StartNote())
	switch {
	case part == "config":
		return note
	case part == "params" && s.Mode == config.ModeTune && len(s.dims()) > 0:
		if arms, _ := s.arms(); len(arms) < view.LeastTrials {
			note = strings.TrimSpace(fmt.Sprintf("%s Hyperparameter importance needs at least %d trials with a score, drawn "+
				"before the tuner had any (this study has %d).", note, view.LeastTrials, len(arms)))
		}
		return note
	case part == "clients":
		return s.personalization()
	}
	return ""
}

// TrialFigures are the curves of one trial, and of the winner how its errors are spread
// over clients; none of a number that no trial has.
func (s *Study) TrialFigures(number int) []*figure.Figure {
	i := slices.IndexFunc(s.Trials, func(t view.Trial) bool { return t.Number == number })
	if i < 0 {
		return nil
	}
	unit, by := s.unit()
	m := s.errors()
	raw := points(s.curves[i], func(r *view.Round) float64 { return r.Score }, by)
	score := figure.Line{Name: fmt.Sprintf("mean over %d rounds", window), Points: smooth(raw), Runs: [][]figure.Point{raw}, Names: []string{"single cohorts"}}
	rungs := figure.Dots{Name: "rung"}
	for _, r := range s.Trials[i].Rungs {
		if !math.IsNaN(r.Score) && !math.IsInf(r.Score, 0) {
			rungs.Points = append(rungs.Points, figure.Dot{X: float64(r.Round), Y: by * r.Score})
		}
	}
	test := figure.Line{Name: "all clients measured", Points: points(s.curves[i], func(r *view.Round) float64 { return r.TestError }, m.by)}
	var all []*figure.Figure
	if s.Mode == config.ModeTune && len(raw) > 0 {
		all = append(all, curve("score", "Validation "+s.Scale().Metric, figure.Axis{Label: s.objective() + unit}, []figure.Line{score}, rungs))
	}
	if len(test.Points) > 0 {
		all = append(all, curve("test", "Test "+m.name+" of "+s.models(), figure.Axis{Label: s.testScale().label}, []figure.Line{test}))
	}
	if i == s.best() {
		all = append(all, s.spread())
	}
	return some(all...)
}
