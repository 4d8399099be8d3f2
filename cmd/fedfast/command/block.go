package command

import (
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"time"

	"github.com/fedfast/fedfast/cmd/fedfast/internal/ui/screen"
	"github.com/fedfast/fedfast/cmd/fedfast/internal/ui/table"
	"github.com/fedfast/fedfast/fl"
	"github.com/fedfast/fedfast/fl/study/config"
	"github.com/fedfast/fedfast/fl/study/result"
	"github.com/fedfast/fedfast/fl/study/view"
	"github.com/fedfast/fedfast/internal/sys/oneline"
)

// curvePoints is the number of errors by which a block shows a learning curve.
const curvePoints = 4

// block is the answer with which commands on studies end: a line about the study, and
// rows of a label and what it is.
type block struct {
	w    io.Writer
	head string
	*table.Table
}

// newBlock begins a block. The head is one line.
func newBlock(w io.Writer, head ...string) *block {
	return &block{w, oneline.Of(strings.Join(head, ", ")), table.New(w)}
}

// print writes the block.
func (b *block) print() error {
	for _, line := range table.Lines(b.w, b.head) {
		if _, err := fmt.Fprintln(b.w, screen.Paint(b.w, line, screen.Bold)); err != nil {
			return err
		}
	}
	return b.Flush()
}

// errors adds the test errors of a model, those of a target first, with their
// spread over clients.
func (b *block) errors(target string, e *result.Errors) {
	name, _ := result.MeasureName(e.Measure)
	for _, p := range view.Tests(target) {
		if p.Of(&e.Rates) == nil {
			continue
		}
		b.Row(p.Name+" "+name, errorText(e.Measure, p.Of(&e.Rates)), spreadText(e.Measure, p.Over(e.Evaluation)))
		for i := range e.Masked {
			b.Row("  "+e.Masked[i].Mask, errorText(e.Measure, p.Of(&e.Masked[i].Rates)))
		}
	}
	if text := view.MeasureText(target, e); text != "" {
		b.Row("measures", text)
	}
}

// federation adds whether federation pays, if that was measured.
func (b *block) federation(studies ...*view.Overview) {
	for i, text := range view.Seeds(studies).Federation() {
		b.Row([]string{"verdict", ""}[min(i, 1)], plain(text))
	}
}

// spreadText writes how the errors of clients spread.
func spreadText(measure string, s *fl.Summary) string {
	var parts []string
	if s.R2 != nil {
		parts = append(parts, "R2 "+result.Number(*s.R2))
	}
	switch {
	case s.Central:
		parts = append(parts, "on the dataset's own test set")
	case s.Clients > 1:
		_, share := result.MeasureName(measure)
		scale := result.Scale{Percent: share}
		parts = append(parts, "clients: "+joined(scale, []string{"P10 " + few(scale, s.P10), "median " + few(scale, s.P50), "P90 " + few(scale, s.P90)}))
	}
	return strings.Join(parts, "; ")
}

// curve adds a few test errors by round, and how a training ended early or broke down.
func (b *block) curve(l learned) {
	_, share := result.MeasureName(l.Measure)
	b.points(l.target+" test by round", "", result.Scale{Percent: share}, len(l.Curve), func(i int) (int, float64) { return l.Curve[i].Round, l.Curve[i].TestError })
	for _, note := range l.Notes() {
		b.Row(note[0], note[1])
	}
}

// rungs adds a few scores of a trial by round, which come from each round's clients, where the
// curve has errors of other models than the scores.
func (b *block) rungs(c *config.Config, scale result.Scale, n int, at func(i int) (round int, score float64)) {
	if c.Measures(config.ModeTune) != scale.Target || c.Eval.Every == 0 {
		b.points("each round's cohort", " "+scale.String(), scale, n, at)
	}
}

// points adds a few of n errors or scores after rounds, behind them what they are.
func (b *block) points(label, what string, scale result.Scale, n int, at func(i int) (round int, x float64)) {
	if n == 0 {
		return
	}
	var values, rounds []string
	for _, i := range spread(n, curvePoints) {
		round, x := at(i)
		values, rounds = append(values, few(scale, x)), append(rounds, oneline.Digits(round))
	}
	after := " after round "
	if len(rounds) > 1 {
		after = " after rounds "
	}
	b.Row(label, joined(scale, values)+what+after+strings.Join(rounds, ", "))
}

// few writes an error or a score with few digits; joined writes several with their unit.
func few(scale result.Scale, x float64) string {
	if scale.Percent {
		return fmt.Sprintf("%.1f", 100*x)
	}
	return scale.Text(x)
}

func joined(scale result.Scale, texts []string) string {
	if scale.Percent {
		texts = append(texts[:len(texts)-1:len(texts)-1], texts[len(texts)-1]+" %")
	}
	return strings.Join(texts, ", ")
}

// baseline adds what the configured values and random search reach beside the study.
func (b *block) baseline(o *view.Overview) {
	for _, row := range [][2]string{{"default", o.OverDefault()}, {"random search", o.Versus()}} {
		if row[1] != "" {
			b.Row(row[0], plain(row[1]))
		}
	}
}

// plain writes a sentence of pages for a terminal.
func plain(text string) string { return strings.ReplaceAll(text, "±", "+-") }

// dropped adds how many results of clients were left out, if any.
func (b *block) dropped(n int, all bool) {
	if n == 0 {
		return
	}
	text := oneline.Digits(n) + " client updates with NaN or Inf"
	if all {
		text += ", i.e. all of them: the weights are the initial ones"
	}
	b.Row("dropped", text)
}

// privacy adds what a private run cost.
func (b *block) privacy(a *config.Account) {
	if a == nil {
		return
	}
	b.Row("privacy", a.Cost(), a.Describe())
	if a.Deployment {
		b.Row("privacy of this run", a.OwnCost(), "without dp.population and dp.noise_cohort")
	}
}

// notes adds how much was dropped and how many trials failed or were stopped, if any.
func (b *block) notes(r *result.Result) {
	dropped, failed, stopped, which := 0, 0, 0, ""
	for _, t := range r.Trials {
		dropped += t.Dropped
		if t.Stopped != "" {
			stopped++
		}
		if t.Failed != "" {
			failed++
			if t.Number == r.Best.Number {
				which = fmt.Sprintf(", also trial %d, whose model of round %d this is: %s", t.Number, r.Best.Round, t.Failed)
			}
		}
	}
	b.dropped(dropped, false)
	if failed > 0 {
		b.Row("failed", oneline.Count(failed, "trial")+which)
	}
	switch {
	case r.Stopped:
		b.Row("stopped", "by the user, before the tuner finished")
	case stopped > 0:
		b.Row("stopped", oneline.Count(stopped, "trial")+" by the user")
	}
}

// warnings adds what is wrong with a model, if anything.
func (b *block) warnings(verdict []string) {
	for _, v := range verdict {
		b.Row("warning", v)
	}
}

// advise adds what a finished study shows that can be done better, and the commands that may follow,
// first those that do it.
func (b *block) advise(o *view.Overview, commands ...string) {
	steps := o.Next()
	var does []string
	if o.Tune != nil && len(view.Sets(steps)) > 0 {
		does = append(does, "tune --next "+oneline.Path(o.Dir))
	}
	for i, s := range steps {
		b.Row([]string{"advice", ""}[min(i, 1)], s.Why)
		if o.Tune == nil || len(s.Sets) == 0 {
			does = append(does, strings.TrimPrefix(s.Command, "fedfast "))
		}
	}
	b.next(append(does, commands...)...)
}

// next adds commands that may follow.
func (b *block) next(commands ...string) {
	for i, c := range commands {
		if i == 0 {
			b.Row("next", "fedfast "+c)
		} else {
			b.Row("", "fedfast "+c)
		}
	}
}

// parentOf is the directory to which `fedfast ui` is pointed for a study.
func parentOf(dir string) string { return oneline.Path(filepath.Dir(filepath.Clean(dir))) }

// took writes seconds.
func took(seconds float64) string {
	t := time.Duration(seconds * float64(time.Second))
	if t < 10*time.Second {
		return fmt.Sprintf("%.1fs", seconds)
	}
	return t.Round(time.Second).String()
}

// fleet adds how long a training took in simulated time, and what of the clients' work
// was lost, if their devices are simulated.
func (b *block) fleet(f *result.Simulated, rounds int) {
	if f == nil || rounds == 0 {
		return
	}
	b.Row("simulated time", fmt.Sprintf("%s, %s per round", view.Simulated(f.Clock), view.Simulated(f.Clock/float64(rounds))))
	text := oneline.Count(f.Updates, "update")
	if f.Partial > 0 {
		text += fmt.Sprintf(", %d of them with fewer local steps", f.Partial)
	}
	if f.Staleness > 0 {
		text += fmt.Sprintf(" with a mean staleness of %.1f rounds", float64(f.Staleness)/float64(f.Updates))
	}
	if n := f.Lost(); n > 0 {
		text += fmt.Sprintf("; %s lost (%s), %.0f %% of the clients' time", oneline.Digits(n), lostWork(f), 100*f.Wasted/(f.Spent+f.Wasted))
	} else {
		text += "; none lost"
	}
	b.Row("client updates", text)
	part := fmt.Sprintf("%s of %s contributed, with %d updates at most; fairness %.2f (Jain's index)", oneline.Digits(f.Contributed), oneline.Count(f.Clients, "client"), f.MostUpdates, f.Fairness)
	if f.Small > 0 {
		part += fmt.Sprintf("; %s too little memory", oneline.Digits(f.Small)+have(f.Small))
	}
	b.Row("participation", part)
	if f.FailedRounds > 0 {
		b.Row("failed rounds", oneline.Digits(f.FailedRounds)+" with too few updates, repeated with other clients")
	}
}

// have is the verb of a number of clients.
func have(n int) string {
	if n == 1 {
		return " has"
	}
	return " have"
}

// lostWork tells why the work of clients was lost.
func lostWork(f *result.Simulated) string {
	var parts []string
	for _, of := range []struct {
		n   int
		why string
	}{{f.Late, "late"}, {f.Vanished, "vanished"}, {f.Stale, "too stale"}} {
		if of.n > 0 {
			parts = append(parts, oneline.Digits(of.n)+" "+of.why)
		}
	}
	return strings.Join(parts, ", ")
}
