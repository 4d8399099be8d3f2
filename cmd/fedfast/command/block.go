package command

import (
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/fedfast/fedfast/cmd/fedfast/internal/ui/screen"
	"github.com/fedfast/fedfast/cmd/fedfast/internal/ui/table"
	"github.com/fedfast/fedfast/fl"
	"github.com/fedfast/fedfast/fl/study"
	"github.com/fedfast/fedfast/fl/study/config"
	"github.com/fedfast/fedfast/internal/sys/oneline"
	"github.com/fedfast/fedfast/internal/view"
	"github.com/fedfast/fedfast/tuners"
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
		if _, err := fmt.Fprintln(b.w, screen.Bold(b.w, line)); err != nil {
			return err
		}
	}
	return b.Flush()
}

// errors adds the test errors of a model, those of a target first, with their
// spread over clients.
func (b *block) errors(target string, e *study.Errors) {
	rows := []errorRow{
		{"global", func(r *study.Rates) *float64 { return r.GlobalTest }, e.Evaluation.GlobalTest},
		{"personalized", func(r *study.Rates) *float64 { return r.PersonalizedTest }, e.Evaluation.PersonalizedTest},
	}
	if target == tuners.TargetPersonalized {
		slices.Reverse(rows)
	}
	rows = append(rows,
		errorRow{"unseen clients", func(r *study.Rates) *float64 { return r.UnseenTest }, e.Evaluation.Unseen},
		errorRow{"unseen, adapted", func(r *study.Rates) *float64 { return r.UnseenAdapted }, e.Evaluation.UnseenAdapted})
	name, _ := study.MeasureName(e.Measure)
	for _, r := range rows {
		if r.of(&e.Rates) == nil {
			continue
		}
		b.Row(r.name+" test "+name, errorText(e.Measure, r.of(&e.Rates)), spreadText(e.Measure, &r.Summary))
		for i := range e.Masked {
			b.Row("  "+e.Masked[i].Mask, errorText(e.Measure, r.of(&e.Masked[i].Rates)))
		}
	}
}

// errorRow is a test error in a block.
type errorRow struct {
	name string
	of   func(*study.Rates) *float64
	fl.Summary
}

// spreadText writes how the errors of clients spread.
func spreadText(measure string, s *fl.Summary) string {
	var parts []string
	if s.R2 != nil {
		parts = append(parts, fmt.Sprintf("R2 %.4f", *s.R2))
	}
	switch {
	case s.Central:
		parts = append(parts, "on the dataset's own test set")
	case s.Clients > 1:
		text := func(x float64) string { return fmt.Sprintf("%.1f", 100*x) }
		unit := " %"
		if measure == study.MeasureRMSE {
			text, unit = func(x float64) string { return fmt.Sprintf("%.3g", x) }, ""
		}
		parts = append(parts, fmt.Sprintf("clients: P10 %s, median %s, P90 %s%s", text(s.P10), text(s.P50), text(s.P90), unit))
	}
	return strings.Join(parts, "; ")
}

// curve adds a few test errors by round, and how a training ended
// early or broke down.
func (b *block) curve(l learned) {
	if len(l.curve) == 0 {
		return
	}
	var errors, rounds []string
	_, share := study.MeasureName(l.measure)
	for _, i := range spread(len(l.curve), curvePoints) {
		p := l.curve[i]
		if share {
			errors = append(errors, fmt.Sprintf("%.1f", 100*p.TestError))
		} else {
			errors = append(errors, fmt.Sprintf("%.3g", p.TestError))
		}
		rounds = append(rounds, strconv.Itoa(p.Round))
	}
	unit := ""
	if share {
		unit = " %"
	}
	after := " after rounds "
	if len(rounds) == 1 {
		after = " after round "
	}
	b.Row(l.target+" test by round", strings.Join(errors, ", ")+unit+after+strings.Join(rounds, ", "))
	for _, note := range l.ends() {
		b.Row(note[0], note[1])
	}
}

// baseline adds what random search reaches beside the study.
func (b *block) baseline(r *study.Result) {
	if r.Baseline == nil {
		return
	}
	b.Row("random search", plain(view.Versus(r.Baseline, r.Measure)))
}

// plain writes a sentence of pages for a terminal.
func plain(text string) string { return strings.ReplaceAll(text, "±", "+-") }

// dropped adds how many results of clients were left out, if any.
func (b *block) dropped(n int, all bool) {
	if n == 0 {
		return
	}
	text := table.Count(n) + " client updates with NaN or Inf"
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
func (b *block) notes(r *study.Result) {
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
		b.Row("failed", counted(failed, "trial")+which)
	}
	switch {
	case r.Stopped:
		b.Row("stopped", "by the user, before the tuner finished")
	case stopped > 0:
		b.Row("stopped", counted(stopped, "trial")+" by the user")
	}
}

// warnings adds what is wrong with a model, if anything: the first two, or all.
func (b *block) warnings(verdict []string, all bool) {
	if !all && len(verdict) > 2 {
		verdict = verdict[:2]
	}
	for _, v := range verdict {
		b.Row("warning", v)
	}
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

// counted writes how many of something there are.
func counted(n int, what string) string {
	if n != 1 {
		what += "s"
	}
	return table.Count(n) + " " + what
}

// took writes seconds.
func took(seconds float64) string {
	t := time.Duration(seconds * float64(time.Second))
	if t < 10*time.Second {
		return fmt.Sprintf("%.1fs", seconds)
	}
	return t.Round(time.Second).String()
}
