package report

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/fedfast/fedfast/fl/study/config"
	"github.com/fedfast/fedfast/fl/study/view"
	"github.com/fedfast/fedfast/internal/figure"
)

// mostPoints is how many columns of a curve are drawn, the lowest and the highest
// point of each.
const mostPoints = 150

// thin leaves of many points the lowest and the highest of each of mostPoints columns,
// and the first and the last.
func thin(points []figure.Point) []figure.Point {
	if len(points) <= 2*mostPoints {
		return points
	}
	var out []figure.Point
	for c := range mostPoints {
		part := points[c*len(points)/mostPoints : (c+1)*len(points)/mostPoints]
		lo, hi := 0, 0
		for i, q := range part {
			if q.Y < part[lo].Y {
				lo = i
			}
			if q.Y > part[hi].Y {
				hi = i
			}
		}
		if lo != hi {
			out = append(out, part[min(lo, hi)])
		}
		out = append(out, part[max(lo, hi)])
	}
	if last := points[len(points)-1]; out[len(out)-1].X < last.X {
		out = append(out, last)
	}
	return out
}

// objective names the scores of the study.
func (s *Study) objective() string { return s.Scale().String() }

// unit is the unit of a score on an axis, with what it is multiplied by.
func (s *Study) unit() (unit string, by float64) {
	if s.Scale().Percent {
		return ", %", 100
	}
	return "", 1
}

// points are the points of a curve that are numbers.
func points(rounds []view.Round, of func(*view.Round) float64, by float64) []figure.Point {
	var all []figure.Point
	for i := range rounds {
		if y := of(&rounds[i]); !math.IsNaN(y) && !math.IsInf(y, 0) {
			all = append(all, figure.Point{X: float64(rounds[i].Round), Y: by * y})
		}
	}
	return thin(all)
}

// lines draws a curve of each trial: some by name, the others thin.
func (s *Study) lines(of func(*view.Round) float64, by float64) []figure.Line {
	var lines []figure.Line
	named := s.named()
	others := figure.Line{Name: "other trials"}
	for _, i := range named {
		if p := points(s.curves[i], of, by); len(p) > 0 {
			lines = append(lines, figure.Line{Name: s.trialName(i), Points: p})
		}
	}
	for i := range s.Trials {
		if p := points(s.curves[i], of, by); !slices.Contains(named, i) && len(p) > 0 && len(others.Runs) < mostRuns {
			others.Runs = append(others.Runs, p)
			others.Names = append(others.Names, s.trialName(i))
		}
	}
	if len(others.Runs) > 0 {
		lines = append(lines, others)
	}
	return lines
}

// mostRuns is how many other trials are drawn.
const mostRuns = 100

// wide reports whether lines span more than two powers of ten and need a logarithmic
// axis: otherwise one loss that exploded would flatten all others.
func wide(lines []figure.Line) bool {
	lo, hi := math.Inf(1), 0.0
	for _, l := range lines {
		for _, points := range append([][]figure.Point{l.Points}, l.Runs...) {
			for _, q := range points {
				lo, hi = min(lo, q.Y), max(hi, q.Y)
			}
		}
	}
	return lo > 0 && hi > 100*lo
}

// Sizes in points of pictures of which two stand side by side, and of wide ones.
const column, broad, row, low = 640, 1300, 215, 145

// window is over how many rounds scores of cohorts are averaged.
const window = 5

// smooth is the running mean of points over at most window of them.
func smooth(all []figure.Point) []figure.Point {
	out := slices.Clone(all)
	for i := range out {
		out[i].Y = 0
		from := max(0, i-window+1)
		for _, q := range all[from : i+1] {
			out[i].Y += q.Y / float64(i+1-from)
		}
	}
	return out
}

// rungs are the scores at the trials' rungs, by what stands below them.
func (s *Study) rungs(name string, x func(view.Rung) int) figure.Dots {
	_, by := s.unit()
	dots := figure.Dots{Name: name}
	for i := range s.Suggested() {
		for _, r := range s.Trials[i].Rungs {
			if !math.IsInf(r.Score, 0) && !math.IsNaN(r.Score) {
				dots.Points = append(dots.Points, figure.Dot{X: float64(x(r)), Y: by * r.Score, Name: s.trialName(i)})
			}
		}
	}
	return dots
}

var roundsOfTrial = figure.Axis{Label: "rounds of the trial", Zero: true}

// plot draws lines and dots, nil without any.
func plot(name, title string, x, y figure.Axis, lines []figure.Line, dots ...figure.Dots) *figure.Figure {
	if len(lines)+len(dots) == 0 {
		return nil
	}
	panel := figure.Panel{X: x, Y: y, Lines: lines, Dots: dots}
	return &figure.Figure{Name: name, Title: title, Width: column, Height: row, Panels: []figure.Panel{panel}}
}

// curve draws lines over the rounds of trials, nil without any.
func curve(name, title string, y figure.Axis, lines []figure.Line, dots ...figure.Dots) *figure.Figure {
	if len(lines) == 0 {
		return nil
	}
	return plot(name, title, roundsOfTrial, y, lines, dots...)
}

// answerCurve is of what the answer tells first: the test error over the rounds where that is of
// the same models, or the validation score. A plain run without either has its training loss.
func (s *Study) answerCurve() *figure.Figure {
	test := s.testCurve()
	switch {
	case test != nil && (s.Mode == config.ModeRun || s.measures() == s.Judged()):
		return test
	case s.Mode == config.ModeRun:
		return s.lossCurve()
	}
	return cmp.Or(s.scoreCurve(), test)
}

// testCurve is the test error over the rounds.
func (s *Study) testCurve() *figure.Figure {
	m := s.errors()
	lines := s.lines(func(r *view.Round) float64 { return r.TestError }, m.by)
	return curve("test", "Test "+m.name+" of "+s.models()+" over rounds", figure.Axis{Label: s.testScale().label}, lines)
}

// scoreCurve is the running mean of the cohorts' scores, over the single ones.
func (s *Study) scoreCurve() *figure.Figure {
	unit, by := s.unit()
	lines := s.lines(func(r *view.Round) float64 { return r.Score }, by)
	for i := range lines {
		if lines[i].Points != nil {
			lines[i].Runs, lines[i].Names = [][]figure.Point{lines[i].Points}, []string{"single cohorts"}
			lines[i].Points = smooth(lines[i].Points)
		}
	}
	f := curve("score", "Validation "+s.Scale().Metric+" of the trials, with rungs", figure.Axis{Label: s.objective() + unit}, lines, s.rungs("rung", func(r view.Rung) int { return r.Round }))
	if f != nil {
		f.Note = fmt.Sprintf("Lines: mean over %d rounds; thin: single rounds, each measured on one cohort.", window)
	}
	return f
}

func (s *Study) lossCurve() *figure.Figure {
	lines := s.lines(func(r *view.Round) float64 { return r.TrainLoss }, 1)
	return curve("loss", "Training loss", figure.Axis{Label: "training loss", Log: wide(lines)}, lines)
}

// curvePictures are those that answerCurve is not.
func (s *Study) curvePictures() (all []*figure.Figure) {
	first := s.answerCurve()
	if s.Mode == config.ModeTune {
		all = append(all, s.testCurve(), s.scoreCurve())
	}
	m := s.errors()
	unseen := s.lines(func(r *view.Round) float64 { return r.Unseen }, m.by)
	all = append(all, s.lossCurve(), curve("unseen", "Test "+m.name+" on clients that never train, over rounds", figure.Axis{Label: "test " + m.name + m.unit}, unseen))
	if len(s.clients) > 0 {
		all = append(all, s.spread())
	}
	return slices.DeleteFunc(all, func(f *figure.Figure) bool { return f != nil && first != nil && f.Name == first.Name })
}

// history shows what the study had found as it spent its rounds, and random search
// beside it.
func (s *Study) history() *figure.Figure {
	unit, by := s.unit()
	dots := []figure.Dots{s.rungs("a trial at a rung (one cohort)", func(r view.Rung) int { return r.Spent })}
	if len(dots[0].Points) < 2 { // one rung is in the table of trials
		return nil
	}
	best := figure.Line{Name: "lowest so far (noisy: one cohort each)", Step: true}
	if s.Scale().Maximize {
		best.Name = "highest so far (noisy: one cohort each)"
	}
	for _, p := range s.online() {
		if !math.IsNaN(p.score) && !math.IsInf(p.score, 0) {
			best.Points = append(best.Points, figure.Point{X: float64(p.spent), Y: by * p.score})
		}
	}
	best.Points = thin(best.Points)
	lines := []figure.Line{best}
	if line := s.randomSearch(); len(line.Points) > 0 {
		lines = append(lines, line)
	}
	if s.Best != nil && s.Best.Returned && len(s.Finalists) > 0 && !math.IsInf(s.Best.Score, 0) {
		dots = append(dots, figure.Dots{Name: "winner (all clients)", Points: []figure.Dot{{X: float64(s.Rounds), Y: by * s.Best.Score, Name: s.trialName(s.best())}}})
	}
	x, y := figure.Axis{Label: "total rounds of all trials", Zero: true}, figure.Axis{Label: s.objective() + unit}
	return plot("history", "Validation "+s.Scale().Metric+" over the rounds spent", x, y, lines, dots...)
}
