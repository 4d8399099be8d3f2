// Package progress shows how far a study is on stderr: one or two rows with a bar
// on a terminal, a plain line every few seconds elsewhere. It knows no colours.
package progress

import (
	"cmp"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/fedfast/fedfast/cmd/fedfast/internal/ui/table"
	"github.com/fedfast/fedfast/fl/study"
	"github.com/fedfast/fedfast/fl/study/result"
	"github.com/fedfast/fedfast/internal/sys/oneline"
)

// Interval is the time between plain lines.
const Interval = 5 * time.Second

// Display shows progress. Its methods may be called from several goroutines.
type Display struct {
	mu      sync.Mutex
	w       io.Writer
	columns func() int // of the terminal
	line    *Line      // nil without a terminal, and when all is over
	now     func() time.Time
	start   time.Time
	speed   meter
	exam    examMeter
	shown   time.Time // when the newest plain line was written
	last    study.Progress
	trials  study.Progress // the last of the trials, once last is of the reference
	unseen  bool           // last has not been written as a plain line
	over    bool           // closed
	head    string
	label   string
	delay   *time.Timer // writes the head
}

// headDelay is how long the head waits for a first round: a study that cannot
// begin shows its error alone.
const headDelay = time.Second

// New returns a display on w. columns tells the present width of the terminal that
// w is, and is nil for none. The head, whole lines, comes before everything else.
// now is time.Now but in tests.
func New(w io.Writer, columns func() int, head string, now func() time.Time) *Display {
	d := &Display{w: w, columns: columns, now: now, start: now(), speed: meter{since: now()}, shown: now(), head: head}
	d.delay = time.AfterFunc(headDelay, func() {
		d.mu.Lock()
		defer d.mu.Unlock()
		d.begin()
	})
	if columns != nil {
		d.line = NewLine(w, columns)
	}
	return d
}

// Label sets what each line begins with, such as which of several studies this is.
func (d *Display) Label(text string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.label = text
}

// Rest sets how much work comes after the rounds, in multiples of that of all rounds:
// evaluations of models, and random configurations.
func (d *Display) Rest(evaluations, random float64) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.speed.evaluations, d.speed.random = evaluations, random
}

// begin writes the head, once.
func (d *Display) begin() {
	if d.head != "" {
		for line := range strings.Lines(d.prefix() + d.head) {
			for _, part := range table.Lines(d.w, strings.TrimSuffix(line, "\n")) {
				fmt.Fprintln(d.w, part)
			}
		}
		d.head = ""
	}
}

// Update shows a round that has ended.
func (d *Display) Update(p study.Progress) {
	d.mu.Lock()
	defer d.mu.Unlock()
	late := p.Preparing == d.last.Preparing && p.Reference == d.last.Reference && p.Round < d.last.Round // of trials in parallel
	begun := d.last.Preparing && !p.Preparing
	if begun {
		d.start = d.now() // the rounds are timed from here
	}
	if p.Reference && !d.last.Reference {
		begun, d.trials = true, d.last
		// What comes after the rounds of a budget are multiples of the reference's, which are among it.
		by := float64(d.last.Rounds) / float64(max(1, p.Rounds))
		d.speed.evaluations, d.speed.random = max(0, d.speed.evaluations*by-1), d.speed.random*by
	}
	if !late || p.Clients > 0 {
		d.speed.add(p, begun, d.now())
	}
	if late {
		return
	}
	d.last = p
	d.begin()
	d.unseen = true
	if d.line != nil {
		d.line.Show(d.state(d.now()))
		return
	}
	if now := d.now(); d.due(now) || p.Round == p.Rounds {
		d.plain(now)
	}
}

// Evaluated shows that some of the clients have been measured at the end.
func (d *Display) Evaluated(e study.Evaluated) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.begin()
	now := d.now()
	d.exam.add(e, now)
	width := 0
	if d.line != nil {
		width = len(strconv.Itoa(e.Of)) // the bar after it stays where it is
	}
	text := fmt.Sprintf("evaluated on %*d of %d clients", width, e.Clients, e.Of)
	if e.Model != "" {
		text = e.Model + ": " + text
	}
	left := d.evaluating(e, now)
	if d.line != nil {
		s := State{Done: int64(e.Clients), All: int64(e.Of), Parts: []Part{{Text: text}}}
		if left != "" {
			s.Parts = append(s.Parts, Part{Text: left, Rank: 1, Behind: true})
		}
		d.line.Show(s)
		return
	}
	if d.due(now) {
		d.shown = now
		fmt.Fprintln(d.w, d.prefix()+joined(text, left))
	}
}

// due says whether it is time for a plain line: ever less often, so that a log of days has
// hundreds of lines.
func (d *Display) due(now time.Time) bool {
	return now.Sub(d.shown) >= max(Interval, now.Sub(d.start)/20)
}

// evaluating estimates the time left while models are evaluated, for rounds and random
// configurations after them, too; it is empty when unknown.
func (d *Display) evaluating(e study.Evaluated, now time.Time) string {
	t := d.exam.remaining(e, now)
	if p := d.last; p.Round < p.Rounds {
		t += d.speed.each * time.Duration(p.Rounds-p.Round)
	} else {
		evaluations, random := d.speed.rest(p)
		t = max(t, evaluations-now.Sub(d.exam.begun)) + random
	}
	if t == 0 {
		return ""
	}
	return eta(t)
}

// plain writes the newest state as a plain line.
func (d *Display) plain(now time.Time) {
	d.shown, d.unseen = now, false
	p := d.last
	if p.Preparing {
		fmt.Fprintln(d.w, d.prefix()+joined(describe(p), d.speed.remaining(p, now)))
		return
	}
	fmt.Fprintln(d.w, d.prefix()+joined(unit(p)+of(p.Round, p.Rounds), describe(p), d.speed.rate(now), d.speed.remaining(p, now)))
}

// prefix is what plain lines begin with.
func (d *Display) prefix() string {
	if d.label == "" {
		return ""
	}
	return d.label + ": "
}

// state is the newest state for a terminal: what there is no room for is left out,
// the training loss first. What changes its width stands at the ends of the rows.
func (d *Display) state(now time.Time) State {
	p := d.last
	s := State{Done: int64(p.Round), All: int64(p.Rounds)}
	add := func(to *[]Part, rank int, behind bool, text string) {
		if text != "" {
			*to = append(*to, Part{text, rank, behind})
		}
	}
	add(&s.Parts, 1, false, d.label)
	if p.Reference {
		add(&s.Parts, 1, false, reference)
	}
	if p.Preparing {
		doing := "preparing client tuner"
		if p.Local {
			doing = "clients train by themselves"
		}
		add(&s.Parts, 3, false, doing)
		add(&s.Parts, 2, false, "error "+result.Number(p.Score))
	}
	add(&s.Parts, 0, true, padded(p))
	add(&s.Parts, 1, true, d.speed.remaining(p, now))
	add(&s.Parts, 2, true, d.speed.rate(now))
	if p.Preparing {
		return s
	}
	below, behind := &s.Below, false
	if p.Rounds == p.ToRound && math.IsNaN(p.Best.Score) { // the loss alone is no row
		below, behind = &s.Parts, true
	}
	if !math.IsNaN(p.Best.Score) {
		add(below, 0, behind, best(p))
		add(below, 5, behind, p.Best.Basis())
	}
	add(below, 2, behind, testError(p))
	add(below, 3, behind, epsilon(p))
	add(below, 4, behind, loss(p))
	if p.Rounds != p.ToRound {
		add(below, 1, behind, trials(p))
		add(below, 3, behind, fmt.Sprintf("trial %d (%s)", p.Trial, of(p.TrialRound, p.ToRound)))
	}
	return s
}

// end is the one line that stays on a terminal.
func (d *Display) end(now time.Time) State {
	p := d.last
	did := unit(p)
	if p.Preparing {
		did = "proxy trial "
	}
	if p.Local {
		did = "configuration "
	}
	took := fmt.Sprintf(" in %v", now.Sub(d.start).Round(time.Second))
	s := State{Parts: []Part{{Text: d.prefix() + did + of(p.Round, p.Rounds) + took}}}
	if !math.IsNaN(p.Best.Score) {
		s.Parts = append(s.Parts, Part{Text: best(p), Rank: 1})
	}
	return s
}

// reference is what the trial of the configured values is called.
const reference = "the configured values"

// best tells which trial is the best so far, by an estimate.
func best(p study.Progress) string {
	return fmt.Sprintf("best ~%s %s (trial %d)", p.Scale.Text(p.Best.Score), joinedBy(" ", p.Scale.Target, "val", p.Scale.Metric), p.Best.Trial)
}

// testError tells the newest test error of the trial, if one was measured.
func testError(p study.Progress) string {
	if p.TestError == nil {
		return ""
	}
	name, _ := result.MeasureName(p.Measure)
	text := joinedBy(" ", p.Target, "test", name, result.ErrorText(p.Measure, *p.TestError))
	if p.TestRound > 0 {
		text += fmt.Sprintf(" (round %d)", p.TestRound)
	}
	return text
}

// epsilon tells what the rounds have cost in privacy.
func epsilon(p study.Progress) string {
	if p.Epsilon == nil {
		return ""
	}
	return fmt.Sprintf("epsilon %.2f", *p.Epsilon)
}

// trials tells how many trials go on, and to which rung unless it is the first.
func trials(p study.Progress) string {
	if p.Trials == 0 {
		return ""
	}
	text := fmt.Sprintf("%d of %d trials active", p.TrialsLeft, p.Trials)
	if p.TrialsLeft == p.Trials {
		text = oneline.Count(p.Trials, "trial")
	}
	if p.Rung > 1 {
		text = fmt.Sprintf("rung %d, %s", p.Rung, text)
	}
	return text
}

// describe says what the newest round tells.
func describe(p study.Progress) string {
	if p.Local {
		return fmt.Sprintf("clients train by themselves: configuration %s, score %s", of(p.Round, p.Rounds), result.Number(p.Score))
	}
	if p.Preparing {
		return fmt.Sprintf("preparing client tuner: trial %d of up to %d on proxy federations, error %s", p.Round, p.Rounds, result.Number(p.Score))
	}
	var parts []string
	if p.Reference {
		parts = append(parts, reference)
	} else if p.Rounds != p.ToRound {
		parts = append(parts, fmt.Sprintf("trial %d at %s%s", p.Trial, unit(p), of(p.TrialRound, p.ToRound)), trials(p))
	}
	parts = append(parts, loss(p), testError(p), epsilon(p), simulated(p.Fleet))
	if !math.IsNaN(p.Best.Score) {
		parts = append(parts, best(p)+", "+p.Best.Basis())
	}
	return joined(parts...)
}

// simulated tells the trial's simulated time, and how much of the clients' work was lost.
func simulated(f *result.Simulated) string {
	if f == nil {
		return ""
	}
	text := duration(time.Duration(f.Clock*float64(time.Second))) + " simulated"
	if n := f.Lost(); n > 0 {
		text += fmt.Sprintf(", %d of %d updates lost", n, n+f.Updates)
	}
	return text
}

// joined lists the parts that say anything.
func joined(parts ...string) string { return joinedBy(", ", parts...) }

func joinedBy(between string, parts ...string) string {
	return strings.Join(slices.DeleteFunc(parts, func(p string) bool { return p == "" }), between)
}

// unit is what the progress counts.
func unit(p study.Progress) string { return cmp.Or(p.Unit, "round") + " " }

// padded tells what has ended in a width that does not change.
func padded(p study.Progress) string {
	unit, text := unit(p), of(p.Round, p.Rounds)
	if p.Preparing {
		unit = ""
	}
	return unit + strings.Repeat(" ", max(0, len(of(p.Rounds, p.Rounds))-len(text))) + text
}

func of(n, all int) string {
	if all == 0 {
		return strconv.Itoa(n)
	}
	return fmt.Sprintf("%d of %d", n, all)
}

// Write writes whole lines of a log without disturbing the line.
func (d *Display) Write(text []byte) (int, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.line == nil {
		return d.w.Write(text)
	}
	return d.line.Print(text)
}

// Close ends the display: the bar goes, one last plain line stands, which says how far
// the rounds came and in what time.
func (d *Display) Close() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.delay.Stop()
	if d.last.Reference {
		d.last = d.trials
	}
	over := d.over
	d.over = true
	switch {
	case d.line != nil:
		d.line.Close()
		if d.unseen {
			fmt.Fprintln(d.w, d.end(d.now()).text(d.columns()))
		}
		d.line, d.unseen = nil, false
	case over || d.last.Round == 0:
	case d.last.Preparing:
		if d.unseen {
			d.plain(d.now())
		}
	default:
		fmt.Fprintln(d.w, joined(d.end(d.now()).Parts[0].Text, describe(d.last)))
	}
}

// loss tells the training loss of the round, and how many clients were dropped from it.
func loss(p study.Progress) string {
	var text, dropped string
	if !math.IsNaN(p.Loss) {
		text = "loss " + result.Number(p.Loss)
	}
	switch p.Dropped {
	case 0:
	case 1:
		dropped = "1 client dropped"
	default:
		dropped = fmt.Sprintf("%d clients dropped", p.Dropped)
	}
	return joined(text, dropped)
}
