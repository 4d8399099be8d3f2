package report

import (
	"math"
	"slices"

	"github.com/fedfast/fedfast/fl/study/config"
	"github.com/fedfast/fedfast/internal/figure"
	"github.com/fedfast/fedfast/internal/view"
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

// unit is that of a score on an axis, with what it is multiplied by.
func (s *Study) unit() (unit string, by float64) {
	if s.Scale().Percent {
		return ", %", 100
	}
	return "", 1
}

// points are those of a curve that are numbers.
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

// curvePictures are those of what each round measured.
func (s *Study) curvePictures() []*figure.Figure {
	unit, by := s.unit()
	x := figure.Axis{Label: "rounds of the trial", Zero: true}
	var all []*figure.Figure
	add := func(name, title, label string, of func(*view.Round) float64, by float64, dots []figure.Dots) {
		if lines := s.lines(of, by); len(lines) > 0 {
			y := figure.Axis{Label: label, Log: name == "loss" && wide(lines)}
			all = append(all, &figure.Figure{Name: name, Title: title, Panels: []figure.Panel{{X: x, Y: y, Lines: lines, Dots: dots}}})
		}
	}
	rungs := figure.Dots{Name: "rung"}
	for i := range s.Trials {
		for _, r := range s.Trials[i].Rungs {
			if !math.IsInf(r.Score, 0) && !math.IsNaN(r.Score) {
				rungs.Points = append(rungs.Points, figure.Dot{X: float64(r.Round), Y: by * r.Score, Name: s.trialName(i)})
			}
		}
	}
	if s.Mode == config.ModeTune {
		add("score", "Validation error of the trials, with rungs", s.objective()+unit, func(r *view.Round) float64 { return r.Mean }, by, []figure.Dots{rungs})
	}
	add("loss", "Training loss", "training loss", func(r *view.Round) float64 { return r.TrainLoss }, 1, nil)
	m := s.errors()
	add("test", "Test error of the global model", "test "+m.name+m.unit, func(r *view.Round) float64 { return r.TestError }, m.by, nil)
	return all
}

// history shows what the study had found as it spent its rounds.
func (s *Study) history() *figure.Figure {
	unit, by := s.unit()
	dots := figure.Dots{Name: "a trial at a rung"}
	for i := range s.Trials {
		for _, r := range s.Trials[i].Rungs {
			if !math.IsInf(r.Score, 0) && !math.IsNaN(r.Score) {
				dots.Points = append(dots.Points, figure.Dot{X: float64(r.Spent), Y: by * r.Score, Name: s.trialName(i)})
			}
		}
	}
	best := figure.Line{Name: "best score of a rung so far (one cohort each)", Step: true}
	for _, p := range s.online() {
		if !math.IsNaN(p.score) && !math.IsInf(p.score, 0) {
			best.Points = append(best.Points, figure.Point{X: float64(p.spent), Y: by * p.score})
		}
	}
	if len(dots.Points) < 2 { // one rung is in the table of trials
		return nil
	}
	best.Points = thin(best.Points)
	return &figure.Figure{Name: "history", Title: "Scores reported to the tuner", Panels: []figure.Panel{{
		X: figure.Axis{Label: "total rounds of all trials", Zero: true}, Y: figure.Axis{Label: s.objective() + unit},
		Lines: []figure.Line{best}, Dots: []figure.Dots{dots},
	}}}
}

// spent shows the test error of the best trial so far as the study spends its rounds.
func (s *Study) spent() *figure.Figure {
	if len(s.Trials) == 1 {
		return nil // it is the trial's curve
	}
	y := s.testScale()
	line := figure.Line{Name: "test error of the best trial so far", Step: true}
	for _, p := range s.online() {
		if !math.IsNaN(p.test) {
			line.Points = append(line.Points, figure.Point{X: float64(p.spent), Y: y.of(p)})
		}
	}
	if len(line.Points) == 0 {
		return nil
	}
	line.Points = thin(line.Points)
	return &figure.Figure{Name: "spent", Title: "Test error over total rounds", Panels: []figure.Panel{{
		X: figure.Axis{Label: "total rounds of all trials", Zero: true}, Y: figure.Axis{Label: y.label}, Lines: []figure.Line{line},
	}}}
}

// lastScore is a trial's last score, NaN without any that is a number.
func (s *Study) lastScore(i int) float64 {
	if x := s.Trials[i].Score(); x != nil && !math.IsInf(*x, 0) {
		_, by := s.unit()
		return by * *x
	}
	return math.NaN()
}
