// Package progress shows how far a study is on stderr: a bar on a terminal, a
// plain line every few seconds elsewhere.
package progress

import (
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/schollz/progressbar/v3"

	"github.com/fedfast/fedfast/fl/study"
)

// Interval is the time between plain lines.
const Interval = 5 * time.Second

// Display shows progress. Its methods may be called from several goroutines.
type Display struct {
	mu     sync.Mutex
	w      io.Writer
	bar    *progressbar.ProgressBar // nil without a terminal
	now    func() time.Time
	start  time.Time
	first  int       // the round that had ended at start
	shown  time.Time // when the newest plain line was written
	last   study.Progress
	unseen bool // last has not been written as a plain line
	head   string
	delay  *time.Timer // writes the head
}

// headDelay is how long the head waits for a first round: a study that cannot
// begin shows its error alone.
const headDelay = time.Second

// New returns a display for a number of rounds. The head, whole lines, comes
// before everything else. now is time.Now but in tests.
func New(w io.Writer, terminal bool, rounds int, head string, now func() time.Time) *Display {
	d := &Display{w: w, now: now, start: now(), shown: now(), head: head}
	d.delay = time.AfterFunc(headDelay, func() {
		d.mu.Lock()
		defer d.mu.Unlock()
		d.begin()
	})
	if terminal {
		d.bar = progressbar.NewOptions(rounds, progressbar.OptionSetWriter(w), progressbar.OptionThrottle(100*time.Millisecond),
			progressbar.OptionShowCount(), progressbar.OptionSetItsString("rounds"), progressbar.OptionShowIts(),
			progressbar.OptionSetWidth(24), progressbar.OptionClearOnFinish())
	}
	return d
}

// begin writes the head, once.
func (d *Display) begin() {
	if d.head != "" {
		fmt.Fprint(d.w, d.head)
		d.head = ""
	}
}

// Update shows a round that has ended.
func (d *Display) Update(p study.Progress) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if p.Preparing == d.last.Preparing && p.Round < d.last.Round {
		return // rounds of trials beside each other may come late
	}
	if d.last.Preparing && !p.Preparing {
		d.start, d.first = d.now(), p.Round // the rounds are timed from here
	}
	d.last = p
	d.begin()
	if d.bar != nil {
		d.bar.Describe(describe(p))
		if p.Rounds > 0 {
			d.bar.ChangeMax(p.Rounds)
		}
		_ = d.bar.Set(p.Round) // a bar that cannot be drawn is no failure
		return
	}
	d.unseen = true
	if now := d.now(); now.Sub(d.shown) >= Interval || p.Round == p.Rounds {
		d.line(now)
	}
}

// Evaluated shows that some of the clients have been measured at the end.
func (d *Display) Evaluated(clients, of int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.begin()
	text := fmt.Sprintf("measured on %d of %d clients", clients, of)
	if d.bar != nil {
		d.bar.Describe(text)
		return
	}
	if now := d.now(); now.Sub(d.shown) >= Interval {
		d.shown = now
		fmt.Fprintln(d.w, text)
	}
}

// line writes the newest state as a plain line.
func (d *Display) line(now time.Time) {
	d.shown, d.unseen = now, false
	p := d.last
	if p.Preparing {
		fmt.Fprintf(d.w, "%s%s\n", describe(p), d.remaining(now))
		return
	}
	fmt.Fprintf(d.w, "round %s, %s%s\n", of(p.Round, p.Rounds), describe(p), d.remaining(now))
}

// remaining estimates the time left from the mean time of a round.
func (d *Display) remaining(now time.Time) string {
	if d.last.Rounds == 0 {
		return ""
	}
	if d.last.Preparing && d.last.Rounds <= d.last.Round {
		return ""
	}
	if d.last.Rounds <= d.last.Round {
		return ", now evaluating"
	}
	ended := d.last.Round - d.first
	if ended == 0 {
		return ""
	}
	left := now.Sub(d.start) / time.Duration(ended) * time.Duration(d.last.Rounds-d.last.Round)
	return fmt.Sprintf(", %v left", left.Round(time.Second))
}

// describe says what the newest round tells.
func describe(p study.Progress) string {
	if p.Preparing {
		return fmt.Sprintf("client tuner prepares: trial %s on side federations, error %.4f", of(p.Round, p.Rounds), p.Score)
	}
	var parts []string
	if p.Rounds != p.ToRound {
		parts = append(parts, fmt.Sprintf("trial %d at round %s", p.Trial, of(p.TrialRound, p.ToRound)))
	}
	if !math.IsNaN(p.Loss) {
		parts = append(parts, "loss "+loss(p.Loss))
	}
	if !math.IsNaN(p.Best) {
		parts = append(parts, fmt.Sprintf("lowest score %.4f", p.Best))
	}
	return strings.Join(parts, ", ")
}

func of(n, all int) string {
	if all == 0 {
		return strconv.Itoa(n)
	}
	return fmt.Sprintf("%d of %d", n, all)
}

// Write writes whole lines of a log without disturbing the bar.
func (d *Display) Write(text []byte) (int, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.bar == nil {
		return d.w.Write(text)
	}
	_ = d.bar.Clear() // as above
	n, err := d.w.Write(text)
	_ = d.bar.RenderBlank()
	return n, err
}

// Close ends the display: the bar goes, a last plain line stands.
func (d *Display) Close() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.delay.Stop()
	switch {
	case d.bar != nil:
		_ = d.bar.Exit() // as above
	case d.unseen:
		d.line(d.now())
	}
}

// loss writes a loss with four decimals, or shortly when a client has all but
// diverged.
func loss(x float64) string {
	if x < 1e4 {
		return fmt.Sprintf("%.4f", x)
	}
	return fmt.Sprintf("%.2g", x)
}
