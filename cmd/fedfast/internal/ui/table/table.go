// Package table writes results in aligned columns, which fit the terminal that they
// are written to.
package table

import (
	"io"
	"strings"

	"github.com/fedfast/fedfast/cmd/fedfast/internal/ui/screen"
	"github.com/fedfast/fedfast/internal/list"
	"github.com/fedfast/fedfast/internal/sys/oneline"
)

// Table collects rows for [Table.Flush].
type Table struct {
	w       io.Writer
	columns int // of the terminal, 0 without one: everything is written then
	head    bool
	rows    [][]string
	right   bool
	below   bool
}

// New returns a table with a head; no head is written when it is empty.
func New(w io.Writer, head ...string) *Table { return sized(w, screen.Columns(w), head) }

// sized returns a table for a terminal with the given number of columns.
func sized(w io.Writer, columns int, head []string) *Table {
	t := &Table{w: w, columns: columns, head: len(head) > 0}
	if t.head {
		t.Row(head...)
	}
	return t
}

// Fits says whether the rows so far fit the terminal with each in one line.
func (t *Table) Fits() bool {
	if t.columns == 0 {
		return true
	}
	used := -gap
	for _, c := range t.measure(t.rows, t.head) {
		used += c.wide + gap
	}
	return used <= t.columns
}

// AlignRight aligns all cells to the right, as for numbers.
func (t *Table) AlignRight() { t.right = true }

// LastBelow puts the cells of the last column below the others where they do not fit the terminal
// beside them.
func (t *Table) LastBelow() { t.below = true }

// Row adds a row. Cells at its end may be left out.
func (t *Table) Row(cells ...string) {
	row := list.Of(cells, oneline.Printable)
	for len(row) > 0 && row[len(row)-1] == "" {
		row = row[:len(row)-1]
	}
	t.rows = append(t.rows, row)
}

// Flush writes the table. A row without cells is an empty line, after which
// columns are aligned anew.
func (t *Table) Flush() error {
	var b strings.Builder
	from := 0
	for i := range len(t.rows) + 1 {
		if i < len(t.rows) && len(t.rows[i]) > 0 {
			continue
		}
		t.write(&b, t.rows[from:i], t.head && from == 0)
		if i < len(t.rows) {
			b.WriteByte('\n')
		}
		from = i + 1
	}
	t.rows = nil
	_, err := io.WriteString(t.w, b.String())
	return err
}

// Text writes lines of prose, wrapped between words on a terminal.
func Text(w io.Writer, lines ...string) error {
	t := New(w)
	for _, line := range lines {
		t.Row(line)
	}
	return t.Flush()
}

// Lines breaks a text between words into lines that fit the terminal that w is.
func Lines(w io.Writer, text string) []string {
	columns := screen.Columns(w)
	if columns == 0 {
		return []string{text}
	}
	return wrap(text, columns)
}
