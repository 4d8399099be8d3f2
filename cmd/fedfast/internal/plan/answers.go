package plan

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/fedfast/fedfast/cmd/fedfast/internal/report"
	"github.com/fedfast/fedfast/fl"
	"github.com/fedfast/fedfast/fl/study/config"
	"github.com/fedfast/fedfast/fl/study/result"
	"github.com/fedfast/fedfast/fl/study/view"
	"github.com/fedfast/fedfast/internal/figure"
	"github.com/fedfast/fedfast/internal/list"
	"github.com/fedfast/fedfast/internal/stats"
	"github.com/fedfast/fedfast/tuners"
)

// Answers are what the studies of a plan say.
type Answers struct {
	Name     string        `json:"study"`
	Seeds    int           `json:"seeds"`
	Rounds   int           `json:"rounds"`
	Settings tuners.Params `json:"settings"`
	// Answers are those to the questions that were asked, in order, with what is most uncertain and what was not asked.
	Answers []*Answer `json:"answers"`
}

// Answer is the answer to one question.
type Answer struct {
	ID       string   `json:"id"`
	Question string   `json:"question"`
	Answer   []string `json:"answer"` // sentences, the most important one first
	Points   []Point  `json:"points,omitempty"`
	// Flattens says that more would hardly help: the last step of the curve may be chance.
	Flattens *bool `json:"flattens,omitempty"`

	figure *figure.Figure
	key    stats.Sample // the difference on which the answer rests
}

// Point is the test error at one value, over the seeds.
type Point struct {
	Name  string       `json:"name"`
	X     float64      `json:"x,omitempty"`
	Error stats.Sample `json:"error"`
	// Time is the error in as much simulated time as for the other points, and Seconds what a round takes.
	Time    *stats.Sample `json:"error_in_equal_time,omitempty"`
	Seconds float64       `json:"round_seconds,omitempty"`

	errors []float64
}

// Answer answers the questions of a plan by what was found.
func (p *Plan) Answer(f *Found) *Answers {
	c := p.base
	all := &Answers{Name: c.Name, Seeds: p.Seeds, Rounds: c.Rounds, Settings: f.study.Tune.Best.Params}
	var worst *Answer
	for _, q := range questions {
		if _, asked := f.of[q.id]; !asked {
			continue
		}
		a := &Answer{ID: q.id, Question: q.text}
		q.answer(f, p, a)
		all.Answers = append(all.Answers, a)
		if !told(a.key) && a.key.Half > 0 && (worst == nil || a.key.Half > worst.key.Half) {
			worst = a
		}
	}
	if worst != nil { // the widest interval that may be chance
		s := worst.key
		text := fmt.Sprintf("%q: %s, over %d seeds", worst.Question, f.differs(s, ""), s.N)
		if n := s.SeedsToTell(s.Mean); n <= 100 {
			text += fmt.Sprintf("; about %.0f would tell it", n)
		}
		a := &Answer{ID: "uncertain", Question: "What is most uncertain?", Answer: []string{text + "."}}
		all.Answers = append(all.Answers, a)
	}
	if len(f.left) > 0 {
		all.Answers = append(all.Answers, &Answer{ID: "left-out", Question: "What was not asked?", Answer: f.left})
	}
	return all
}

// text writes the mean of errors with half the width of its interval.
func (f *Found) text(s stats.Sample) string {
	return view.MeanText(result.Scale{Metric: f.name, Percent: f.share}, s)
}

// differs writes by how much errors are lower or higher, paired by seed, with what, and whether it may be chance.
func (f *Found) differs(s stats.Sample, with string) string {
	text := view.Difference(s.Mean, &s.Half, f.share) + with
	if s.Mean != 0 && !told(s) {
		text += view.Untold
	}
	return text
}

// told says that a difference is more than chance.
func told(s stats.Sample) bool { return math.Abs(s.Mean) > s.Half }

// over is by how much the errors of a point are above those of another, paired by seed.
func (p *Point) over(q *Point) stats.Sample {
	n := min(len(p.errors), len(q.errors))
	return stats.Known(list.Made(n, func(i int) float64 { return p.errors[i] - q.errors[i] }))
}

func mean(xs []float64) float64 { return stats.Known(xs).Mean }

// clock is the simulated time of a run, 0 without devices.
func clock(r *result.RunResult) float64 {
	if r.Fleet == nil {
		return 0
	}
	return r.Fleet.Clock
}

// seconds is the simulated time of a round.
func (t *trained) seconds() float64 { return mean(list.Of(t.runs, clock)) / float64(t.runs[0].Rounds) }

// point sums up the runs of a study as they are after a simulated time: by what was measured last until then.
func (t *trained) point(until float64) Point {
	p := Point{Name: t.name, X: t.x, Seconds: t.seconds()}
	p.errors = list.Of(t.runs, func(r *result.RunResult) float64 {
		x := math.NaN()
		for i, c := range r.Curve { // before the first one nothing was measured
			if i == 0 || c.Clock == nil || *c.Clock <= until*(1+1e-9) {
				x = c.TestError
			}
		}
		return x
	})
	p.Error = stats.Known(p.errors)
	return p
}

// curve is the errors of all runs at each round that was measured in all.
func (t *trained) curve() (rounds []int, errors [][]float64) {
	n := slices.Min(list.Of(t.runs, func(r *result.RunResult) int { return len(r.Curve) })) // failed ones end early
	for i, p := range t.runs[0].Curve[:n] {
		rounds = append(rounds, p.Round)
		errors = append(errors, list.Of(t.runs, func(r *result.RunResult) float64 { return r.Curve[i].TestError }))
	}
	return rounds, errors
}

// curve has the studies of a question in the order of their values, with that of the tuned ones, at own: their points,
// and what more of it would change.
func (f *Found) curve(a *Answer, axis figure.Axis, x float64) (all []trained, own int) {
	tuned := f.of[federate][0]
	tuned.name, tuned.x = "tuned", x
	all = append(slices.Clone(f.of[a.ID]), tuned)
	slices.SortStableFunc(all, func(a, b trained) int { return cmp.Compare(a.x, b.x) })
	a.Points = points(all, math.Inf(1))
	a.figure = f.draw(a.ID, axis, line(interval, a.Points))
	a.flattens(a.Points)
	return all, slices.IndexFunc(all, func(t trained) bool { return t.name == "tuned" })
}

// flattens rests the answer on by how much the last point's error is lower than the one before.
func (a *Answer) flattens(all []Point) {
	n := len(all) - 1
	a.key = all[n].over(&all[n-1])
	flat := !(a.key.Mean < 0 && told(a.key))
	a.Flattens = &flat
}

// points are what studies came to after a simulated time.
func points(all []trained, until float64) []Point {
	return list.Of(all, func(t trained) Point { return t.point(until) })
}

// line is of points.
func line(name string, all []Point) figure.Line {
	return figure.Line{Name: name, Points: list.Of(all, func(p Point) figure.Point {
		return figure.Point{X: p.X, Y: p.Error.Mean, Half: p.Error.Half}
	})}
}

// draw draws lines of errors, which it multiplies by 100 where they are shares.
func (f *Found) draw(id string, x figure.Axis, lines ...figure.Line) *figure.Figure {
	y, title := figure.Axis{Label: "test " + f.name, Bands: true}, "Test "+f.name+" by "+x.Label
	if f.share {
		y.Label += ", %"
		for _, l := range lines {
			for i, p := range l.Points {
				l.Points[i].Y, l.Points[i].Half = 100*p.Y, 100*p.Half
			}
		}
	}
	return &figure.Figure{Name: id, Title: title, Panels: []figure.Panel{{X: x, Y: y, Lines: lines}}}
}

// interval names lines.
const interval = "mean, 90 % interval"

func (f *Found) whether(p *Plan, a *Answer) {
	c := *f.of[federate][0].config
	c.Objective = tuners.MetricError // as all answers
	var seeds view.Seeds
	for _, r := range f.of[federate][0].runs {
		seeds = append(seeds, &view.Overview{Mode: config.ModeRun, State: view.Completed, Config: &c, Run: r})
	}
	a.Answer = list.Of(seeds.Federation(), view.Sentence)
	axis := figure.Axis{Label: "model"}
	for i, m := range seeds.Without() {
		if g := m.OverLocal; g != nil && m.Name == "federated" {
			a.key = stats.Sample{N: p.Seeds, Mean: -g.Gain, SD: math.NaN(), Half: result.Defined(g.Half)}
		}
		s := stats.Sample{N: p.Seeds, Mean: m.Test, SD: math.NaN(), Half: result.Defined(m.TestHalf)}
		a.Points, axis.Names = append(a.Points, Point{Name: m.Name, X: float64(i + 1), Error: s}), append(axis.Names, m.Name)
	}
	a.figure = f.draw(a.ID, axis, line(interval, a.Points))
}

func (f *Found) settings(_ *Plan, a *Answer) {
	a.Points = []Point{f.of[a.ID][0].point(math.Inf(1)), f.of[federate][0].point(math.Inf(1))}
	given, tuned := &a.Points[0], &a.Points[1]
	tuned.Name, a.key = "tuned", tuned.over(given)
	head := "Train with %s."
	if a.key.Mean > 0 {
		head = "Keep the values as given: tuning found no better ones; try a larger budget. All else here is with %s."
	}
	a.Answer = []string{
		fmt.Sprintf(head, result.Assigned(f.study.Tune.Best.Params, f.study.Tune.Best.Params.Keys())),
		fmt.Sprintf("The %s is then %s, and with the values as given %s: %s.", f.name, f.text(tuned.Error),
			f.text(given.Error), f.differs(a.key, "")),
	}
	for _, drawn := range f.study.Figures("result") {
		if drawn.Name == "history" { // of the best trial alone
			drawn.Panels[0].Dots, a.figure = nil, drawn
		}
	}
}

// slackShare is the share of an error by which another may be higher and still count as good enough.
const slackShare = 0.05

// good says that errors are good enough beside the best: the upper end of the interval of their difference is.
func good(s stats.Sample, best float64) bool { return s.Mean+max(0, s.Half) <= slackShare*best }

func (f *Found) rounds(p *Plan, a *Answer) {
	t := &f.of[federate][0]
	rounds, errors := t.curve()
	for i, r := range rounds {
		p := Point{Name: fmt.Sprint("round ", r), X: float64(r), Error: stats.Of(errors[i]), errors: errors[i]}
		a.Points = append(a.Points, p)
	}
	n := len(rounds) - 1
	end, flat := &a.Points[n], n // from flat on all are good enough
	for flat > 0 && good(a.Points[flat-1].over(end), end.Error.Mean) {
		flat--
	}
	a.key = end.over(&a.Points[slices.IndexFunc(rounds, func(r int) bool { return 4*r >= 3*rounds[n] })])
	flattens := 4*rounds[flat] <= 3*rounds[n]
	a.Flattens = &flattens
	text := fmt.Sprintf("%d or more: at the end the %s is %s, %s.", rounds[n], f.name, f.text(end.Error),
		f.differs(a.key, " than after three quarters"))
	if flattens {
		text = fmt.Sprintf("About %d of %d: from then on the %s stays within %v %% above that of the end, %s.", rounds[flat],
			rounds[n], f.name, 100*slackShare, f.text(end.Error))
	}
	a.Answer = []string{text}
	if goal := p.base.Eval.Goal; goal > 0 {
		var at []float64
		for _, r := range t.runs {
			if c := result.Reached(r.Curve, goal); c != nil {
				at = append(at, float64(c.Round))
			}
		}
		text = fmt.Sprintf("The accuracy %v is reached with %d of %d seeds", goal, len(at), p.Seeds)
		if len(at) > 0 {
			text += fmt.Sprintf(", in round %.0f in the mean (%v to %v)", mean(at), slices.Min(at), slices.Max(at))
		}
		a.Answer = append(a.Answer, text+".")
	}
	each := t.seconds()
	a.Answer = append(a.Answer, fmt.Sprintf("On these devices a round takes %v, %d rounds %v.", lasting(each),
		rounds[flat], lasting(each*float64(rounds[flat]))))
	a.figure = f.draw(a.ID, figure.Axis{Label: "round", Zero: true}, line(interval, a.Points))
}

// lasting writes simulated seconds.
func lasting(seconds float64) time.Duration {
	return time.Duration(round2(seconds)*1e6) * time.Microsecond
}

// beside says how the errors with the other values of a question compare with those of one.
func (f *Found) beside(all []Point, own int) string {
	var parts []string
	for i := range all {
		if i != own {
			parts = append(parts, f.differs(all[i].over(&all[own]), fmt.Sprint(" with ", all[i].X)))
		}
	}
	return fmt.Sprintf("beside %v, the %s is %s.", all[own].X, f.name, strings.Join(parts, ", "))
}

// enough is the value of the first point that is good enough, beside the best one.
func enough(all []Point) float64 {
	best := slices.MinFunc(all, func(p, q Point) int { return cmp.Compare(p.Error.Mean, q.Error.Mean) })
	good := func(p Point) bool { return p.X == best.X || good(p.over(&best), best.Error.Mean) }
	return all[slices.IndexFunc(all, good)].X
}

func (f *Found) rates(_ *Plan, a *Answer) {
	_, own := f.curve(a, figure.Axis{Label: "client.lr", Log: true}, round2(f.tuned.Client.LR))
	head := "Not very: "
	if slices.ContainsFunc(a.Points, func(p Point) bool { return told(p.over(&a.Points[own])) }) {
		head = "It matters: "
	}
	a.Answer = []string{head + f.beside(a.Points, own)}
}

func (f *Found) epochs(_ *Plan, a *Answer) {
	axis := figure.Axis{Label: "local epochs a round", Log: true}
	all, own := f.curve(a, axis, f.tuned.Client.Epochs)
	least := math.Inf(1)
	for _, t := range all {
		least = min(least, slices.Min(list.Of(t.runs, clock)))
	}
	timed := points(all, least)
	for i := range timed {
		a.Points[i].Time = &timed[i].Error
	}
	a.flattens(timed)
	first, last := &a.Points[0], &a.Points[len(all)-1]
	a.Answer = []string{
		fmt.Sprintf("In equal time take %v: %s", enough(timed), f.beside(timed, own)),
		"In equal rounds, and so equal bytes, " + f.beside(a.Points, own),
		fmt.Sprintf("A round takes %v with %v, %v with %v.", lasting(first.Seconds), first.X, lasting(last.Seconds), last.X),
	}
	a.figure = f.draw(a.ID, axis, line("in equal rounds, and so bytes", a.Points), line("in equal time", timed))
}

func (f *Found) cohorts(p *Plan, a *Answer) {
	_, own := f.curve(a, figure.Axis{Label: "clients a round", Whole: true}, float64(f.tuned.Cohort))
	a.Answer = []string{fmt.Sprintf("Take %v of %d: %s", enough(a.Points), p.Clients, f.beside(a.Points, own))}
}

func (f *Found) slow(p *Plan, a *Answer) {
	axis := figure.Axis{Label: "simulated seconds", Zero: true}
	all, _ := f.curve(a, axis, -1)
	cut := &all[2] // at a deadline
	until := mean(list.Of(cut.runs, clock))
	timed := points(all, until)
	var lines []figure.Line
	for i := range all {
		a.Points[i].X, a.Points[i].Time = 0, &timed[i].Error
		line := figure.Line{Name: all[i].name}
		rounds, errors := all[i].curve()
		for j, r := range rounds {
			if at := a.Points[i].Seconds * float64(r); at <= 1.01*until {
				line.Points = append(line.Points, figure.Point{X: at, Y: mean(errors[j])})
			}
		}
		lines = append(lines, line)
	}
	lines[0].Name = "none slow"
	a.figure, a.key, a.Flattens = f.draw(a.ID, axis, lines...), timed[3].over(&timed[2]), nil
	lost, taken := 0.0, 0.0
	for _, r := range cut.runs {
		lost, taken = lost+float64(r.Fleet.Late), taken+float64(r.Fleet.Updates)
	}
	a.Answer = []string{
		fmt.Sprintf("With %v of %d clients %d times slower, a round that waits takes %.1f times as long.", p.slowSites(),
			p.Clients, slower, timed[1].Seconds/timed[0].Seconds),
		fmt.Sprintf("After %v, rounds that wait have an %s of %s, rounds with a deadline of %v %s: this leaves out %.0f %% "+
			"of the updates, which are late, as if their sites were away.", lasting(until), f.name, f.text(timed[1].Error),
			lasting(cut.config.Time.Deadline), f.text(timed[2].Error), 100*lost/(lost+taken)),
		fmt.Sprintf("Asynchronous training has %s, %s.", f.text(timed[3].Error), f.differs(a.key, " than with the deadline")),
	}
}

func (f *Found) epsilons(_ *Plan, a *Answer) {
	axis := figure.Axis{Label: "epsilon", Log: true}
	all, own := f.curve(a, axis, 1000) // behind all others
	open, dp := &a.Points[own], all[0].config.DP
	who := map[bool]string{true: "sample", false: "client"}[dp.Mechanism == fl.SampleNoise]
	text := strings.NewReplacer("with ", "with epsilon ", "beside 1000", "Beside "+f.text(open.Error)+" without privacy")
	a.Answer = []string{
		text.Replace(f.beside(a.Points, own)),
		fmt.Sprintf("This protects each %s, at delta %v; the other settings are the tuned ones.", who, dp.Delta),
	}
	level := line("without privacy", []Point{*open, *open})
	level.Points[0].X, level.Points[1].X = a.Points[0].X, a.Points[own-1].X
	a.figure = f.draw(a.ID, axis, line(interval, a.Points[:own]), level)
	open.Name, open.X = "without privacy", 0
}

// Page lays the answers out for a report.
func (all *Answers) Page() *report.Plan {
	page := &report.Plan{Title: all.Name + ": plan", Subtitle: fmt.Sprintf("%d rounds, %d seeds; means with %.0f %% "+
		"confidence intervals, differences paired by seed", all.Rounds, all.Seeds, 100*stats.Confidence)}
	for _, a := range all.Answers {
		page.Add(a.ID, a.Question, a.Answer, a.figure)
	}
	return page
}
