// Package screentest plays a terminal for tests: what a person would see of what a
// program writes.
package screentest

import (
	"fmt"
	"strings"

	"github.com/rivo/uniseg"
)

// Terminal shows what is written to it. It knows what fedfast uses: lines, the
// carriage return, a row up (ESC [ A) and the erasure of everything after the
// cursor (ESC [ J) or in its row (ESC [ K); anything else that does not print, such
// as a colour, is an error of Write. Like tmux and most others
// it wraps lines anew when its width changes, and the cursor stays at its sign.
type Terminal struct {
	columns int
	lines   [][]string // cells of the lines as they were ended by the program, however many rows they take
	line    int        // of the cursor
	at      int        // cell of the cursor in its line
	full    bool       // the last sign filled its row: the cursor waits on it
}

// New returns an empty terminal.
func New(columns int) *Terminal { return &Terminal{columns: columns, lines: [][]string{nil}} }

// Resize changes the width.
func (t *Terminal) Resize(columns int) { t.columns, t.full = columns, false }

// Columns returns the width.
func (t *Terminal) Columns() int { return t.columns }

// Write shows whole signs and commands.
func (t *Terminal) Write(text []byte) (int, error) {
	rest := string(text)
	for rest != "" {
		if bold := strings.HasPrefix(rest, "\x1b[1m"); bold || strings.HasPrefix(rest, "\x1b[0m") { // it shows no types
			rest = rest[4:]
			continue
		}
		if len(rest) > 2 && rest[:2] == "\x1b[" && t.command(rest[2]) {
			rest = rest[3:]
			continue
		}
		sign, after, width, _ := uniseg.FirstGraphemeClusterInString(rest, -1)
		rest = after
		switch {
		case sign == "\r":
			t.at -= t.column()
			t.full = false
		case sign == "\n" || sign == "\r\n":
			t.newline()
		case sign[0] < ' ' || sign[0] == 0x7f:
			return 0, fmt.Errorf("the terminal does not know %q before %q", sign, rest)
		default:
			t.put(sign, width)
		}
	}
	return len(text), nil
}

// command follows a command of a terminal if it is known.
func (t *Terminal) command(sign byte) bool {
	cells := t.lines[t.line]
	switch sign {
	case 'J':
		t.lines = t.lines[:t.line+1]
		t.lines[t.line] = cells[:min(t.at, len(cells))]
	case 'K':
		for i := t.at; i < min(len(cells), t.at-t.column()+t.columns); i++ {
			cells[i] = " "
		}
	case 'A':
		column := t.column()
		switch {
		case t.at >= t.columns:
			t.at -= t.columns
		case t.line > 0:
			t.line--
			t.at = max(0, len(t.lines[t.line])-1)/t.columns*t.columns + column
		}
		t.full = false
	default:
		return false
	}
	return true
}

// column returns where in its row the cursor is.
func (t *Terminal) column() int {
	if t.full {
		return t.columns
	}
	return t.at % t.columns
}

// newline moves the cursor to the beginning of the next row.
func (t *Terminal) newline() {
	next := t.at - t.column() + t.columns
	t.full = false
	if next < len(t.lines[t.line]) {
		t.at = next
		return
	}
	t.line, t.at = t.line+1, 0
	if t.line == len(t.lines) {
		t.lines = append(t.lines, nil)
	}
}

// put writes a sign over what is at the cursor; a wide one that has no room in its
// row begins the next.
func (t *Terminal) put(sign string, width int) {
	if t.column()+width > t.columns {
		t.at += t.columns - t.column()
	}
	for len(t.lines[t.line]) < t.at+width {
		t.lines[t.line] = append(t.lines[t.line], " ")
	}
	for i := range width {
		t.lines[t.line][t.at+i] = ""
	}
	t.lines[t.line][t.at] = sign
	t.at += width
	t.full = t.at%t.columns == 0
}

// Rows returns what every row shows, up to the last that is not empty.
func (t *Terminal) Rows() []string {
	var rows []string
	for _, cells := range t.lines {
		for from := 0; from == 0 || from < len(cells); from += t.columns {
			rows = append(rows, strings.TrimRight(strings.Join(cells[from:min(from+t.columns, len(cells))], ""), " "))
		}
	}
	for len(rows) > 0 && rows[len(rows)-1] == "" {
		rows = rows[:len(rows)-1]
	}
	return rows
}
