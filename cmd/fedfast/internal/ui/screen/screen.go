// Package screen knows what a terminal shows: how many columns it has, and how many
// a text takes there.
package screen

import (
	"fmt"
	"io"
	"os"
	"unicode/utf8"

	"github.com/rivo/uniseg"
	"golang.org/x/term"
)

// unknown is the width of a terminal that does not tell its own.
const unknown = 80

// Is says whether w is a terminal that follows control characters.
func Is(w io.Writer) bool {
	f, ok := w.(*os.File)
	return ok && term.IsTerminal(int(f.Fd())) && os.Getenv("TERM") != "dumb"
}

// Color is how a text is shown.
type Color int

// The colors, and Bold type, by their numbers in control characters.
const (
	Plain  Color = 0
	Bold   Color = 1
	Red    Color = 31
	Yellow Color = 33
)

// Paint returns a text in a color, unless w is no terminal or NO_COLOR is set.
func Paint(w io.Writer, text string, c Color) string {
	if c == Plain || !Is(w) || os.Getenv("NO_COLOR") != "" {
		return text
	}
	return fmt.Sprintf("\x1b[%dm%s\x1b[0m", c, text)
}

// Columns returns the present width of the terminal that w is, 0 when it is no terminal.
func Columns(w io.Writer) int {
	f, ok := w.(*os.File)
	if !ok || !term.IsTerminal(int(f.Fd())) {
		return 0
	}
	if columns, _, err := term.GetSize(int(f.Fd())); err == nil && columns > 0 {
		return columns
	}
	return unknown
}

// Width returns how many columns a text takes: two for a wide character, none for
// an accent of its own.
func Width(s string) int {
	for i := range len(s) {
		if s[i] >= utf8.RuneSelf {
			return uniseg.StringWidth(s)
		}
	}
	return len(s)
}

// Dots stand for what has been cut off.
const Dots = "..."

// Cut returns the beginning of a text, with Dots, when it takes more columns than
// there are.
func Cut(s string, columns int) string {
	if Width(s) <= columns {
		return s
	}
	if columns <= len(Dots) {
		return Dots[:max(0, columns)]
	}
	return prefix(s, columns-len(Dots)) + Dots
}

// CutFront returns the end of a text, behind Dots, when it takes more columns than there are.
func CutFront(s string, columns int) string {
	if Width(s) <= columns {
		return s
	}
	for s != "" && Width(Dots+s) > columns {
		_, size := utf8.DecodeRuneInString(s)
		s = s[size:]
	}
	return Dots + s
}

// prefix returns as much of a text as fits into the given number of columns.
func prefix(s string, columns int) string {
	end, used := 0, 0
	for g := uniseg.NewGraphemes(s); g.Next(); {
		if used += g.Width(); used > columns {
			break
		}
		_, end = g.Positions()
	}
	return s[:end]
}
