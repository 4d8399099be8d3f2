package plan

import (
	"cmp"
	"context"
	_ "embed" // for the texts of answers
	"errors"
	"fmt"
	"maps"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"text/template"

	"github.com/fedfast/fedfast/cmd/fedfast/internal/report"
	fedstudy "github.com/fedfast/fedfast/fl/study"
	"github.com/fedfast/fedfast/fl/study/config"
	"github.com/fedfast/fedfast/fl/study/result"
	"github.com/fedfast/fedfast/fl/study/view"
	"github.com/fedfast/fedfast/fl/study/workdir"
	"github.com/fedfast/fedfast/internal/figure"
	"github.com/fedfast/fedfast/internal/key"
	"github.com/fedfast/fedfast/internal/list"
	"github.com/fedfast/fedfast/internal/stats"
	"github.com/fedfast/fedfast/internal/sys/memory"
	"github.com/fedfast/fedfast/tuners"
)

// Answers are what the studies of a plan say.
type Answers struct {
	*Plan
	// Title says in a line what was planned, and Note what is known of the federation, and how to read the answers.
	Title string `json:"-"`
	Note  string `json:"-"`
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

	plan *Plan
	axis figure.Axis
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

// Train brings all studies of a plan in a directory to their ends, one after the other; those that
// have ended are only read. begin is told which one is next. It returns what they say.
func (p *Plan) Train(ctx context.Context, dir string, o workdir.Options, begin func(string)) (*Answers, error) {
	p.of, p.given, p.best = map[string][]study{}, p.tune(), p.tune()
	begin("tuning")
	text, err := config.Encode(p.given)
	if err == nil {
		p.tuning, err = workdir.Tune(ctx, filepath.Join(dir, "tune"), p.given, o)
	}
	if err == nil {
		p.tuned, _, err = report.Anew(string(text), p.tuning)
	}
	for i := 0; err == nil; i++ {
		all, bad := p.questions() // with the best values as they are known now
		if bad != nil {
			return nil, bad
		} else if i == len(all.Question) {
			return p.answer(all.Question)
		}
		if q := &all.Question[i]; slices.Contains(p.Questions, q.ID) {
			err = p.ask(ctx, q, dir, o, begin)
			_, unfit := errors.AsType[*key.Error](err)
			if i >= always && (unfit || errors.Is(err, fedstudy.ErrFailed)) {
				p.LeftOut, err = append(p.LeftOut, q.ID+": "+err.Error()), nil
			}
		}
	}
	return nil, err
}

// ask trains the studies of a question.
func (p *Plan) ask(ctx context.Context, q *question, dir string, o workdir.Options, begin func(string)) error {
	studies, err := p.studies(q)
	for i := 0; i < len(studies) && err == nil; i++ {
		s := &studies[i]
		if s.Name == best {
			s.runs = p.of[federate][0].runs
			continue
		}
		begin(q.ID + ": " + s.Name)
		s.runs, err = workdir.RunSeeds(ctx, filepath.Join(dir, s.Name), s.config, p.Seeds, o)
	}
	if err != nil {
		return err
	}
	if p.of[q.ID] = studies; q.ID == settings {
		p.choose(&studies[0], &studies[1])
	}
	return nil
}

// choose takes the values whose error is lower on validation samples, as a study chooses among finalists.
func (p *Plan) choose(given, tuned *study) {
	part, of := view.Parts[0], given
	if p.given.Judged(config.ModeRun) == tuners.TargetPersonalized {
		part = view.Parts[2]
	}
	score := func(t *study) float64 {
		return t.mean(func(r *result.RunResult) float64 { return result.Defined(part.Of(&r.Rates)) }).Mean
	}
	if r := p.tuning.Reference.Model; r != nil && !(score(tuned) < score(given)) {
		p.best, p.values = p.given, r.Params
	} else {
		p.best, p.values, of = p.tuned, p.tuning.Best.Params, tuned
	}
	p.seconds = of.seconds()
	p.name, p.share = result.MeasureName(of.runs[0].Measure)
}

// answer answers the questions by what was trained.
func (p *Plan) answer(questions []question) (*Answers, error) {
	all := &Answers{Plan: p, Settings: p.values}
	add := func(id, text string, answer ...string) *Answer {
		a := &Answer{Question: report.Question{ID: id, Text: text, Answer: answer}, plan: p}
		all.Answers = append(all.Answers, a)
		return a
	}
	head := &Answer{Question: report.Question{ID: "note"}, plan: p}
	err := head.tell(map[string]any{"study": p.base.Name})
	all.Title, all.Note = head.Answer[0], head.Answer[1]
	for _, q := range questions {
		if _, asked := p.of[q.ID]; !asked {
			continue
		}
		a, data := add(q.ID, q.Text), map[string]any{}
		a.axis, a.Points = q.Axis, points(p.of[q.ID], math.Inf(1))
		if answer := answers[q.ID]; answer != nil {
			data = answer(p, a, p.of[q.ID])
		}
		if a.Figure == nil {
			a.draw(p.line(interval, a.Points))
		}
		err = cmp.Or(err, a.tell(data))
		for _, t := range p.of[q.ID] {
			if t.Name != best { // its seeds belong to another question
				a.Answer = append(a.Answer, t.warnings()...)
			}
		}
	}
	slices.Reverse(all.Answers[:2]) // what matters most comes first
	if s := p.unsure; s.Half > 0 {
		a := add("uncertain", "What is most uncertain?")
		err = cmp.Or(err, a.tell(map[string]any{"what": p.what, "seeds": s.N, "tell": s.SeedsToTell(s.Mean)}))
	}
	if len(p.LeftOut) > 0 {
		add("left-out", "What was not asked?", p.LeftOut...)
	}
	return all, err
}

//go:embed answers.tmpl
var texts string

// tell writes the sentences of an answer, whose numbers are by name in data.
func (a *Answer) tell(data map[string]any) error {
	p := a.plan
	maps.Copy(data, map[string]any{
		"p": p, "points": a.Points, "timed": p.timed(), "given": p.best == p.given, "error": p.name,
		"values": result.Assigned(p.values, p.values.Keys()),
		"scale":  result.Scale{Percent: p.share}, "percent": result.Scale{Percent: true}, "plain": result.Scale{},
	})
	text, err := render(a.ID, texts, template.FuncMap{
		"mean": view.MeanText, "differs": a.differs, "others": a.others, "flattens": a.flattens, "enough": enough,
		"told": told, "own": own, "lasting": view.Simulated,
		"size": func(bytes, rounds float64) string { return memory.Size(int64(bytes * rounds)) },
	}, data)
	a.Answer = strings.Split(text, "\n")
	return err
}

// differs writes by how much errors are lower or higher, paired by seed, and whether it may be chance: which those are,
// and beside what.
func (a *Answer) differs(s stats.Sample, which, beside string) string {
	text := view.Difference(s.Mean, &s.Half, a.plan.share) + which
	if !told(s) && !strings.HasPrefix(text, "equal") {
		text += view.Untold
	}
	if !told(s) && s.Half > a.plan.unsure.Half {
		a.plan.unsure, a.plan.what = s, fmt.Sprintf("%q: beside %s, %s", a.Text, beside, text)
	}
	return text
}

// told says that a difference is more than chance.
func told(s stats.Sample) bool { return math.Abs(s.Mean) > s.Half }

// Over is by how much the errors of a point are above those of another, paired by seed.
func (p Point) Over(q Point) stats.Sample {
	return stats.Known(list.Made(len(p.errors), func(i int) float64 { return p.errors[i] - q.errors[i] }))
}

// mean sums up a number of each run.
func (s *study) mean(of func(*result.RunResult) float64) stats.Sample {
	return stats.Known(list.Of(s.runs, of))
}

// clock is the simulated time of a run.
func clock(r *result.RunResult) float64 { return r.Fleet.Clock }

// seconds is the simulated time of a round.
func (s *study) seconds() float64 { return s.mean(clock).Mean / float64(s.runs[0].Rounds) }

// newPoint sums up errors, by seed.
func newPoint(name string, x float64, errors []float64) Point {
	return Point{Name: name, X: x, Error: stats.Known(errors), errors: errors}
}

// points are what studies came to after a simulated time: what was measured last until then.
func points(all []study, until float64) []Point {
	return list.Of(all, func(s study) Point {
		return newPoint(s.Name, s.X, list.Of(s.runs, func(r *result.RunResult) float64 {
			n := list.Count(r.Curve, func(c result.CurvePoint) bool { return c.Clock == nil || *c.Clock <= until*(1+1e-9) })
			return r.Curve[max(0, n-1)].TestError // before the first one nothing was measured
		}))
	})
}

// curve is the errors, or losses of training, of all runs in each round that was measured in all.
func (s *study) curve(loss bool) []Point {
	all := list.Of(s.runs, func(r *result.RunResult) []figure.Point {
		if loss {
			return list.Made(len(r.TrainLoss), func(i int) figure.Point {
				return figure.Point{X: float64(i + 1), Y: r.TrainLoss[i]}
			})
		}
		return list.Of(r.Curve, func(c result.CurvePoint) figure.Point {
			return figure.Point{X: float64(c.Round), Y: c.TestError}
		})
	})
	n := slices.Min(list.Of(all, func(c []figure.Point) int { return len(c) })) // failed ones end early
	return list.Made(n, func(i int) Point {
		errors := list.Of(all, func(c []figure.Point) float64 { return c[i].Y })
		return newPoint(fmt.Sprint("round ", all[0][i].X), all[0][i].X, errors)
	})
}

// flattens says of a curve whether its last step is more than chance.
func (a *Answer) flattens(all []Point) string {
	p, q := all[len(all)-2], all[len(all)-1]
	step, does := q.Over(p), "flattens"
	flat := !(step.Mean < 0 && told(step))
	if a.Flattens = &flat; !flat {
		does = "still falls"
	}
	return fmt.Sprintf("The curve over %s %s from %v to %v.", a.axis.Label, does, p.X, q.X)
}

// line is of points, whose errors are in percent where they are shares.
func (p *Plan) line(name string, all []Point) figure.Line {
	by := map[bool]float64{true: 100, false: 1}[p.share]
	return figure.Line{Name: name, Points: list.Of(all, func(q Point) figure.Point {
		return figure.Point{X: q.X, Y: by * q.Error.Mean, Half: by * q.Error.Half}
	})}
}

// draw draws lines of errors.
func (a *Answer) draw(lines ...figure.Line) {
	name := a.plan.name
	y := figure.Axis{Label: "test " + name + map[bool]string{true: ", %"}[a.plan.share], Bands: true}
	a.Figure = &figure.Figure{
		Name: a.ID, Title: "Test " + name + " by " + a.axis.Label, Width: 420, Height: 190,
		Panels: []figure.Panel{{X: a.axis, Y: y, Lines: lines}},
	}
}

// answers find and draw what is no curve over values, and return what the texts of answers need besides.
var answers = map[string]func(*Plan, *Answer, []study) map[string]any{
	federate: (*Plan).federate, "rounds": (*Plan).rounds, "epochs": (*Plan).epochs,
	"slow": (*Plan).slow, "epsilon": (*Plan).epsilons,
}

// interval names lines.
const interval = "mean, 90 % interval"

func (p *Plan) federate(a *Answer, all []study) map[string]any {
	seeds := view.Seeds(list.Of(all[0].runs, func(r *result.RunResult) *view.Overview {
		return &view.Overview{Mode: config.ModeRun, State: view.Completed, Config: all[0].config, Run: r}
	}))
	a.Points = nil
	for i, m := range seeds.Without() {
		if g := m.OverLocal; g != nil && m.Name == "federated" {
			gain := stats.Sample{N: len(seeds), Mean: -g.Gain, SD: math.NaN(), Half: result.Defined(g.Half)}
			a.differs(gain, "", "training alone")
		}
		p := Point{Name: strings.Replace(m.Name, config.BaselineLocal, "alone", 1), X: float64(i + 1)}
		p.Error = stats.Sample{N: len(seeds), Mean: m.Test, SD: math.NaN(), Half: result.Defined(m.TestHalf)}
		a.Points, a.axis.Names = append(a.Points, p), append(a.axis.Names, p.Name)
	}
	return map[string]any{"said": list.Of(seeds.Federation(), view.Sentence)}
}

// warnings are what is worst with how many seeds, such as that they diverged.
func (s *study) warnings() []string {
	all := view.Warnings(list.Of(s.runs, func(r *result.RunResult) []string {
		v := r.Verdict()
		return v[:min(1, len(v))]
	}), "seed")
	return list.Of(all, func(text string) string { return "Beware of " + s.Name + ": " + text + "." })
}

// slackShare is the share of an error by which another may be higher and still count as good enough.
const slackShare = 0.05

// good says that errors are good enough beside the best: the upper end of the interval of their difference is.
func good(s stats.Sample, best float64) bool { return s.Mean+max(0, s.Half) <= slackShare*best }

func (p *Plan) rounds(a *Answer, _ []study) map[string]any {
	t, goal := &p.of[federate][0], p.base.Eval.Goal
	a.Points = t.curve(false)
	flat := len(a.Points) - 1 // from it on all are good enough
	end := a.Points[flat]
	for flat > 0 && good(a.Points[flat-1].Over(end), end.Error.Mean) {
		flat--
	}
	late := a.Points[slices.IndexFunc(a.Points, func(p Point) bool { return 4*p.X >= 3*end.X })]
	need, last := a.Points[flat].X, end.Over(late)
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
func (p *Plan) timed() bool { return p.RoundSeconds > 0 || p.base.Devices() != nil }

// own is the point of the best values.
func own(all []Point) Point {
	return all[slices.IndexFunc(all, func(p Point) bool { return p.Name == best })]
}

// others says how the errors with the other values of a question, in a unit, compare with those of the best ones.
func (a *Answer) others(all []Point, unit, beside string) string {
	own, parts := own(all), []string(nil)
	for _, p := range all {
		if p.Name != best {
			parts = append(parts, a.differs(p.Over(own), fmt.Sprint(" with ", unit, p.X), beside))
		}
	}
	return strings.Join(parts, ", ")
}

// enough is the value of the first point that is good enough, beside the best one.
func enough(all []Point) float64 {
	best := slices.MinFunc(all, func(p, q Point) int { return cmp.Compare(p.Error.Mean, q.Error.Mean) })
	good := func(p Point) bool { return p.X == best.X || good(p.Over(best), best.Error.Mean) }
	return all[slices.IndexFunc(all, good)].X
}

func (p *Plan) epochs(a *Answer, all []study) map[string]any {
	in := "as many local epochs in all"
	even := points(all, slices.Min(list.Of(all, func(s study) float64 { return slices.Min(list.Of(s.runs, clock)) })))
	for i := range even {
		if a.Points[i].Time = &even[i].Error; p.timed() {
			a.Points[i].Seconds, in = all[i].seconds(), "equal time"
		}
	}
	a.draw(p.line("in equal rounds, and so bytes", a.Points), p.line("in "+in, even))
	return map[string]any{"in": in, "even": even}
}

func (p *Plan) slow(a *Answer, all []study) map[string]any {
	usual := study{Name: a.axis.Names[0], X: 1, runs: p.of[federate][0].runs}
	until := all[1].mean(clock).Mean
	a.Points = points(append([]study{usual}, all...), until)
	return map[string]any{
		"sites": p.slowSites(), "slack": slack, "until": until / p.seconds,
		"longer": stats.Known(list.Made(len(usual.runs), func(i int) float64 {
			return clock(all[0].runs[i]) / clock(usual.runs[i])
		})),
		"late": all[1].mean(func(r *result.RunResult) float64 {
			return float64(r.Fleet.Late) / float64(r.Fleet.Late+r.Fleet.Updates)
		}),
	}
}

func (p *Plan) epsilons(a *Answer, all []study) map[string]any {
	n := len(all) - 1
	level := []Point{a.Points[n], a.Points[n]}
	level[0].X, level[1].X = all[0].X, all[n-1].X
	a.draw(p.line(interval, a.Points[:n]), p.line("without privacy", level))
	return map[string]any{"dp": all[0].config.DP, "fixed": p.Columns}
}
