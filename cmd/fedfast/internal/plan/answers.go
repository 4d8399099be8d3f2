package plan

import (
	"cmp"
	_ "embed" // for the texts of answers
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"text/template"

	"github.com/fedfast/fedfast/cmd/fedfast/internal/report"
	"github.com/fedfast/fedfast/fl/study/config"
	"github.com/fedfast/fedfast/fl/study/result"
	"github.com/fedfast/fedfast/fl/study/view"
	"github.com/fedfast/fedfast/internal/figure"
	"github.com/fedfast/fedfast/internal/list"
	"github.com/fedfast/fedfast/internal/stats"
	"github.com/fedfast/fedfast/internal/sys/memory"
	"github.com/fedfast/fedfast/tuners"
)

// Answers are what the studies of a plan say.
type Answers struct {
	Name  string `json:"study"`
	Title string `json:"-"` // says in a line what was planned
	Seeds int    `json:"seeds"`
	// Rounds is how many were trained, of Asked.
	Rounds int `json:"rounds"`
	Asked  int `json:"asked_rounds"`
	// Settings are the best ones, tuned or given.
	Settings tuners.Params `json:"settings"`
	// Answers are those to the questions that were asked, in order, with what is most uncertain and what was not asked.
	Answers []*Answer `json:"answers"`
}

// Answer is the answer to one question.
type Answer struct {
	report.Question
	Points []Point `json:"points,omitempty"`
	// Flattens says that more would hardly help: the last step of the curve may be chance.
	Flattens *bool `json:"flattens,omitempty"`

	axis   figure.Axis
	unsure stats.Sample // the difference of the widest interval that may be chance
	what   string       // says which one it is
}

// Point is the test error at one value, over the seeds.
type Point struct {
	Name  string       `json:"name"`
	X     float64      `json:"x,omitempty"`
	Error stats.Sample `json:"error"`
	// Time is the error in as much simulated time as for the other points, and Seconds what a round takes, if that is
	// known.
	Time    *stats.Sample `json:"error_in_equal_time,omitempty"`
	Seconds float64       `json:"round_seconds,omitempty"`

	errors []float64
}

// Answer answers the questions of a plan by what was found.
func (p *Plan) Answer(f *Found) (*Answers, error) {
	all := &Answers{Name: p.base.Name, Seeds: p.Seeds, Rounds: p.base.Rounds, Asked: p.Rounds, Settings: f.values}
	all.Title = fmt.Sprintf("%s: planned by %s with %d seeds", all.Name, p.trained(), p.Seeds)
	unsure := &Answer{}
	add := func(id, text string, answer ...string) *Answer {
		a := &Answer{Question: report.Question{ID: id, Text: text, Answer: answer}}
		all.Answers = append(all.Answers, a)
		return a
	}
	questions, _, err := f.questions()
	for _, q := range questions {
		studies, asked := f.of[q.ID]
		if !asked {
			continue
		}
		a, data := add(q.ID, q.Text), map[string]any{}
		a.axis, a.Points = q.Axis, points(studies, math.Inf(1))
		a.Figure = f.draw(a, line(interval, a.Points))
		if answer := answers[q.ID]; answer != nil {
			data = answer(f, a, studies)
		}
		err = cmp.Or(err, f.tell(a, data))
		if a.unsure.Half > unsure.unsure.Half {
			unsure = a
		}
	}
	slices.Reverse(all.Answers[:2]) // what matters most comes first
	if s := unsure.unsure; s.Half > 0 {
		text := fmt.Sprintf("%q: %s, over %d seeds", unsure.Text, unsure.what, s.N)
		if n := s.SeedsToTell(s.Mean); n <= 100 {
			text += fmt.Sprintf("; about %.0f would tell it", n)
		}
		add("uncertain", "What is most uncertain?", text+".")
	}
	if len(p.LeftOut) > 0 {
		add("left-out", "What was not asked?", p.LeftOut...)
	}
	return all, err
}

//go:embed answers.tmpl
var texts string

// tell writes the sentences of an answer, whose numbers are by name in data.
func (f *Found) tell(a *Answer, data map[string]any) error {
	data["points"], data["clients"], data["timed"] = a.Points, f.plan.Clients, f.timed()
	data["error"], data["share"], data["given"] = f.name, f.share, f.best == f.given
	data["values"] = result.Assigned(f.values, f.values.Keys())
	text, err := render(a.ID, texts, template.FuncMap{
		"mean":     func(s stats.Sample, share bool) string { return view.MeanText(result.Scale{Percent: share}, s) },
		"differs":  func(p, q Point, beside string) string { return f.differs(a, p.over(&q), "", beside) },
		"beside":   func(all []Point) string { return f.beside(a, all) },
		"flattens": a.flattens, "enough": enough, "matters": matters, "lasting": view.Simulated,
		"size": func(bytes, rounds float64) string { return memory.Size(int64(bytes * rounds)) },
	}, data)
	a.Answer = strings.Split(text, "\n")
	return err
}

// differs writes by how much errors are lower or higher, paired by seed, and whether it may be chance: which those are,
// and beside what.
func (f *Found) differs(a *Answer, s stats.Sample, which, beside string) string {
	text := view.Difference(s.Mean, &s.Half, f.share) + which
	if !told(s) && s.Mean != 0 {
		text += view.Untold
	}
	if !told(s) && s.Half > a.unsure.Half {
		a.unsure, a.what = s, "beside "+beside+", "+text
	}
	return text
}

// told says that a difference is more than chance.
func told(s stats.Sample) bool { return math.Abs(s.Mean) > s.Half }

// over is by how much the errors of a point are above those of another, paired by seed.
func (p *Point) over(q *Point) stats.Sample {
	return stats.Known(list.Made(len(p.errors), func(i int) float64 { return p.errors[i] - q.errors[i] }))
}

// mean sums up a number of each run.
func (t *trained) mean(of func(*result.RunResult) float64) stats.Sample {
	return stats.Known(list.Of(t.runs, of))
}

// clock is the simulated time of a run.
func clock(r *result.RunResult) float64 { return r.Fleet.Clock }

// seconds is the simulated time of a round.
func (t *trained) seconds() float64 { return t.mean(clock).Mean / float64(t.runs[0].Rounds) }

// point sums up the runs of a study as they are after a simulated time: by what was measured last until then.
func (t *trained) point(until float64) Point {
	p := Point{Name: t.Name, X: t.X}
	p.errors = list.Of(t.runs, func(r *result.RunResult) float64 {
		n := list.Count(r.Curve, func(c result.CurvePoint) bool { return c.Clock == nil || *c.Clock <= until*(1+1e-9) })
		return r.Curve[max(0, n-1)].TestError // before the first one nothing was measured
	})
	p.Error = stats.Known(p.errors)
	return p
}

// points are what studies came to after a simulated time.
func points(all []trained, until float64) []Point {
	return list.Of(all, func(t trained) Point { return t.point(until) })
}

// curve is the errors of all runs at each round that was measured in all.
func (t *trained) curve() []Point {
	n := slices.Min(list.Of(t.runs, func(r *result.RunResult) int { return len(r.Curve) })) // failed ones end early
	return list.Made(n, func(i int) Point {
		p := Point{Name: fmt.Sprint("round ", t.runs[0].Curve[i].Round), X: float64(t.runs[0].Curve[i].Round)}
		p.errors = list.Of(t.runs, func(r *result.RunResult) float64 { return r.Curve[i].TestError })
		p.Error = stats.Of(p.errors)
		return p
	})
}

// flattens says of a curve whether its last step is more than chance.
func (a *Answer) flattens(all []Point) string {
	p, q := &all[len(all)-2], &all[len(all)-1]
	step, does := q.over(p), "flattens"
	flat := !(step.Mean < 0 && told(step))
	if a.Flattens = &flat; !flat {
		does = "still falls"
	}
	return fmt.Sprintf("The curve over %s %s from %v to %v.", a.axis.Label, does, p.X, q.X)
}

// line is of points.
func line(name string, all []Point) figure.Line {
	return figure.Line{Name: name, Points: list.Of(all, func(p Point) figure.Point {
		return figure.Point{X: p.X, Y: p.Error.Mean, Half: p.Error.Half}
	})}
}

// draw draws lines of errors, which it multiplies by 100 where they are shares.
func (f *Found) draw(a *Answer, lines ...figure.Line) *figure.Figure {
	y, title := figure.Axis{Label: "test " + f.name, Bands: true}, "Test "+f.name+" by "+a.axis.Label
	if f.share {
		y.Label += ", %"
		for _, l := range lines {
			for i, p := range l.Points {
				l.Points[i].Y, l.Points[i].Half = 100*p.Y, 100*p.Half
			}
		}
	}
	return &figure.Figure{Name: a.ID, Title: title, Panels: []figure.Panel{{X: a.axis, Y: y, Lines: lines}}}
}

// answers draw what is not a curve over values, and return what the texts of answers need besides.
var answers = map[string]func(*Found, *Answer, []trained) map[string]any{
	federate: (*Found).federate, "rounds": (*Found).rounds, "epochs": (*Found).epochs,
	"slow": (*Found).slow, "epsilon": (*Found).epsilons,
}

// interval names lines.
const interval = "mean, 90 % interval"

func (f *Found) federate(a *Answer, all []trained) map[string]any {
	seeds := view.Seeds(list.Of(all[0].runs, func(r *result.RunResult) *view.Overview {
		return &view.Overview{Mode: config.ModeRun, State: view.Completed, Config: all[0].config, Run: r}
	}))
	a.Points = nil
	for i, m := range seeds.Without() {
		if g := m.OverLocal; g != nil && m.Name == "federated" {
			gain := stats.Sample{N: len(seeds), Mean: -g.Gain, SD: math.NaN(), Half: result.Defined(g.Half)}
			f.differs(a, gain, "", "training alone")
		}
		p := Point{Name: strings.Replace(m.Name, config.BaselineLocal, "alone", 1), X: float64(i + 1)}
		p.Error = stats.Sample{N: len(seeds), Mean: m.Test, SD: math.NaN(), Half: result.Defined(m.TestHalf)}
		a.Points, a.axis.Names = append(a.Points, p), append(a.axis.Names, p.Name)
	}
	a.Figure = f.draw(a, line(interval, a.Points))
	return map[string]any{"said": list.Of(seeds.Federation(), view.Sentence)}
}

// slackShare is the share of an error by which another may be higher and still count as good enough.
const slackShare = 0.05

// good says that errors are good enough beside the best: the upper end of the interval of their difference is.
func good(s stats.Sample, best float64) bool { return s.Mean+max(0, s.Half) <= slackShare*best }

func (f *Found) rounds(a *Answer, _ []trained) map[string]any {
	t, goal := &f.of[federate][0], f.plan.base.Eval.Goal
	a.Points = t.curve()
	a.Figure = f.draw(a, line(interval, a.Points))
	flat := len(a.Points) - 1 // from it on all are good enough
	end := a.Points[flat]
	for flat > 0 && good(a.Points[flat-1].over(&end), end.Error.Mean) {
		flat--
	}
	late := a.Points[slices.IndexFunc(a.Points, func(p Point) bool { return 4*p.X >= 3*end.X })]
	need, last := a.Points[flat].X, end.over(&late)
	flattens := 4*need <= 3*end.X
	if a.Flattens = &flattens; !flattens {
		need = end.X
	}
	return map[string]any{
		"flat": flattens, "falls": last.Mean < 0 && told(last), "need": need, "end": end, "late": late, "goal": goal,
		"seeds": len(t.runs), "round": t.seconds(), "whole": t.seconds() * need,
		"bytes": t.mean(func(r *result.RunResult) float64 {
			return float64(r.Traffic.Down+r.Traffic.Up) / float64(max(1, r.Traffic.Updates))
		}).Mean,
		"at": t.mean(func(r *result.RunResult) float64 {
			if c := result.Reached(r.Curve, goal); c != nil {
				return float64(c.Round)
			}
			return math.NaN()
		}),
	}
}

// timed says that something is known of the network whose time is simulated.
func (f *Found) timed() bool { return f.plan.RoundSeconds > 0 || f.plan.base.Devices() != nil }

// beside says how the errors with the other values of a question compare with those of the best ones.
func (f *Found) beside(a *Answer, all []Point) string {
	own, unit := &all[slices.IndexFunc(all, func(p Point) bool { return p.Name == best })], ""
	beside, parts := fmt.Sprint(own.X), []string(nil)
	if own.X == open {
		unit, beside = "epsilon ", view.MeanText(result.Scale{Percent: f.share}, own.Error)+" without privacy"
	}
	for i := range all {
		if p := &all[i]; p != own {
			parts = append(parts, f.differs(a, p.over(own), fmt.Sprint(" with ", unit, p.X), beside))
		}
	}
	return fmt.Sprintf("beside %s, the %s is %s", beside, f.name, strings.Join(parts, ", "))
}

// enough is the value of the first point that is good enough, beside the best one.
func enough(all []Point) float64 {
	best := slices.MinFunc(all, func(p, q Point) int { return cmp.Compare(p.Error.Mean, q.Error.Mean) })
	good := func(p Point) bool { return p.X == best.X || good(p.over(&best), best.Error.Mean) }
	return all[slices.IndexFunc(all, good)].X
}

// matters says whether another point differs from the second of three.
func matters(all []Point) bool {
	return slices.ContainsFunc(all, func(p Point) bool { return told(p.over(&all[1])) })
}

func (f *Found) epochs(a *Answer, all []trained) map[string]any {
	in, least := "as many local epochs in all", math.Inf(1)
	for _, t := range all {
		least = min(least, slices.Min(list.Of(t.runs, clock)))
	}
	even := points(all, least)
	for i := range even {
		if a.Points[i].Time = &even[i].Error; f.timed() {
			a.Points[i].Seconds, in = all[i].seconds(), "equal time"
		}
	}
	a.Figure = f.draw(a, line("in equal rounds, and so bytes", a.Points), line("in "+in, even))
	return map[string]any{"in": in, "even": even}
}

func (f *Found) slow(a *Answer, all []trained) map[string]any {
	usual := trained{study{Name: a.axis.Names[0], X: 1}, f.of[federate][0].runs}
	until := all[1].mean(clock).Mean
	a.Points = points(append([]trained{usual}, all...), until)
	a.Figure = f.draw(a, line(interval, a.Points))
	return map[string]any{
		"sites": f.plan.slowSites(), "slack": slack, "until": until / f.seconds,
		"longer": stats.Known(list.Made(len(usual.runs), func(i int) float64 {
			return clock(all[0].runs[i]) / clock(usual.runs[i])
		})),
		"late": all[1].mean(func(r *result.RunResult) float64 {
			return float64(r.Fleet.Late) / float64(r.Fleet.Late+r.Fleet.Updates)
		}),
	}
}

func (f *Found) epsilons(a *Answer, all []trained) map[string]any {
	n := len(all) - 1
	level := []Point{a.Points[n], a.Points[n]}
	level[0].X, level[1].X = all[0].X, all[n-1].X
	a.Figure = f.draw(a, line(interval, a.Points[:n]), line("without privacy", level))
	return map[string]any{"dp": all[0].config.DP, "fixed": f.plan.Columns}
}

// WritePage writes the answers as a page.
func (all *Answers) WritePage(w io.Writer) error {
	note := fmt.Sprintf("Means with %.0f %% confidence intervals, differences paired by seed.", 100*stats.Confidence)
	sections := list.Of(all.Answers, func(a *Answer) report.Question { return a.Question })
	return report.WritePlan(w, all.Title, note, sections)
}
