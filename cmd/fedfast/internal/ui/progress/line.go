package progress

import (
	"io"
	"os"
	"os/signal"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/schollz/progressbar/v3"

	"github.com/fedfast/fedfast/cmd/fedfast/internal/ui/screen"
)

// Part is a text next to the bar of a line. Where there is no room for all of them,
// those of the highest rank go first; the part of rank 0 is cut rather than left
// out.
type Part struct {
	Text   string
	Rank   int
	Behind bool // it stands after the bar
}

// State is what a line tells. It has a bar when All is above 0.
type State struct {
	Done, All int64
	Parts     []Part
	// Below are parts of a second row. Where a terminal can show one row only,
	// they stand before the bar.
	Below []Part
}

// The bar of a line, in columns without its ends.
const (
	mostBar  = 24
	leastBar = 8
)

// throttle is the least time between two drawings of a line.
const throttle = 100 * time.Millisecond

// Line is the line, of one or two rows, that shows progress on a terminal, below
// everything else. Its methods may be called from several goroutines.
//
// The terminal's width is read anew for every drawing and the rows fit it. The
// cursor waits at their beginning: a terminal that is made narrower wraps them
// below the cursor, where the next drawing erases them.
type Line struct {
	mu      sync.Mutex
	w       io.Writer
	columns func() int
	state   State
	there   bool // something is drawn
	width   int  // of the terminal when it was
	drawn   time.Time
	resized chan os.Signal
}

// NewLine returns a line on a terminal. It asks columns for the terminal's width each
// time it draws.
func NewLine(w io.Writer, columns func() int) *Line {
	l := &Line{w: w, columns: columns, resized: make(chan os.Signal, 1)}
	if len(resizes) > 0 {
		signal.Notify(l.resized, resizes...)
	}
	go l.follow(l.resized)
	return l
}

// follow draws the line again whenever the terminal has a new width.
func (l *Line) follow(resized <-chan os.Signal) {
	for range resized {
		l.mu.Lock()
		if l.there {
			l.draw()
		}
		l.mu.Unlock()
	}
}

// Show draws a state, but not more often than eyes can follow.
func (l *Line) Show(s State) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.state = s
	if now := time.Now(); now.Sub(l.drawn) >= throttle || s.Done >= s.All {
		l.drawn = now
		l.draw()
	}
}

// Print writes whole lines above the line.
func (l *Line) Print(text []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	again := l.there
	l.erase()
	n, err := l.w.Write(text)
	if again {
		l.draw()
	}
	return n, err
}

// Close erases the line.
func (l *Line) Close() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.erase()
	if l.resized != nil {
		signal.Stop(l.resized)
		close(l.resized)
		l.resized = nil
	}
}

// draw writes the line over the one before. Of one of another width, which may take
// more rows by now, nothing is left to show through.
func (l *Line) draw() {
	columns := l.columns()
	if l.there && columns != l.width {
		l.erase()
	}
	rows := l.state.rows(columns - 1)
	if len(rows) > 1 {
		l.write("\r" + rows[0] + "\x1b[K\n" + rows[1] + "\x1b[J\r\x1b[A")
	} else {
		l.replace(rows[0], columns)
	}
	l.there, l.width = true, columns
}

// erase takes the line away.
func (l *Line) erase() {
	if l.there {
		l.replace("", l.columns())
		l.there = false
	}
}

// plainConsole says that a terminal takes no commands, as old consoles of Windows.
const plainConsole = runtime.GOOS == "windows"

// replace writes a text, and nothing behind it to the end of the screen, and goes
// back to its beginning.
func (l *Line) replace(text string, columns int) {
	end := "\x1b[J"
	if plainConsole {
		end = strings.Repeat(" ", max(0, columns-1-screen.Width(text)))
	}
	l.write("\r" + text + end + "\r")
}

// write writes to the terminal. One that cannot be written to is no failure.
func (l *Line) write(text string) { _, _ = io.WriteString(l.w, text) }

// rows formats the state as one or two rows that fit into the given number of columns.
func (s State) rows(columns int) []string {
	if plainConsole || len(s.Below) == 0 {
		s.Parts, s.Below = slices.Concat(s.Below, s.Parts), nil
		return []string{s.text(columns)}
	}
	return []string{s.text(columns), State{Parts: s.Below}.text(columns)}
}

// text formats the state as one row that fits into the given number of columns.
func (s State) text(columns int) string {
	most := 0
	for _, p := range s.Parts {
		most = max(most, p.Rank)
	}
	spare := columns - screen.Width(s.compose(most, leastBar, 0))
	for ; spare < 0 && most > 0; spare = columns - screen.Width(s.compose(most, leastBar, 0)) {
		most--
	}
	return s.compose(most, min(mostBar, leastBar+max(0, spare)), max(0, -spare))
}

// compose formats the parts with ranks up to most around a bar. It shortens the first
// part of rank 0 by less columns.
func (s State) compose(most, bar, less int) string {
	var before, behind []string
	for _, p := range s.Parts {
		if p.Rank > most {
			continue
		}
		if p.Rank == 0 {
			p.Text, less = screen.Cut(p.Text, screen.Width(p.Text)-less), 0
		}
		if p.Behind {
			behind = append(behind, p.Text)
		} else {
			before = append(before, p.Text)
		}
	}
	fields := []string{strings.Join(before, ", "), s.bar(bar), strings.Join(behind, ", ")}
	return strings.Join(slices.DeleteFunc(fields, func(f string) bool { return f == "" }), " ")
}

// bar draws how much is done, as " 25% |██      |".
func (s State) bar(columns int) string {
	if s.All <= 0 {
		return ""
	}
	b := progressbar.NewOptions64(s.All, progressbar.OptionSetWriter(io.Discard), progressbar.OptionSetWidth(columns),
		progressbar.OptionSetPredictTime(false), progressbar.OptionSetElapsedTime(false))
	_ = b.Set64(max(0, min(s.Done, s.All))) // nothing is written
	_ = b.RenderBlank()                     // as above
	text := strings.TrimSpace(b.String())
	percent, _, _ := strings.Cut(text, "%")
	return strings.Repeat(" ", max(0, len("100")-len(percent))) + text
}
