// Package table writes results in aligned columns.
package table

import (
	"fmt"
	"io"
	"strconv"
	"strings"
	"text/tabwriter"
)

// Table collects rows. The first error of the writer is kept for Flush.
type Table struct {
	w   *tabwriter.Writer
	err error
}

// New returns a table with a head; no head is written when it is empty.
func New(w io.Writer, head ...string) *Table {
	t := &Table{w: tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)}
	if len(head) > 0 {
		t.Row(head...)
	}
	return t
}

// Row adds a row.
func (t *Table) Row(cells ...string) {
	line := strings.TrimRight(strings.Join(cells, "\t"), "\t")
	if _, err := fmt.Fprintln(t.w, line); err != nil && t.err == nil {
		t.err = err
	}
}

// Flush writes the table.
func (t *Table) Flush() error {
	if err := t.w.Flush(); err != nil {
		return err
	}
	return t.err
}

// clip is how long a text in a table may be.
const clip = 96

// Clip shortens a text to what a table has room for.
func Clip(s string) string {
	if r := []rune(s); len(r) > clip {
		return strings.TrimRight(string(r[:clip-3]), " ,.") + "..."
	}
	return s
}

// Wrap cuts a text between words into lines that a table has room for.
func Wrap(s string) []string {
	var lines []string
	line := ""
	for word := range strings.FieldsSeq(s) {
		if line != "" && len(line)+1+len(word) > clip {
			lines = append(lines, line)
			line = ""
		}
		if line != "" {
			line += " "
		}
		line += word
	}
	return append(lines, line)
}

// Percent writes an error rate, a dash when there is none.
func Percent(x *float64) string {
	if x == nil || *x != *x {
		return "-"
	}
	return fmt.Sprintf("%.2f %%", 100**x)
}

// Count writes a whole number with commas between thousands.
func Count(n int) string {
	s := strconv.Itoa(n)
	sign := ""
	if n < 0 {
		sign, s = "-", s[1:]
	}
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return sign + s
}
