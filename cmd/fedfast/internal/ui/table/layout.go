package table

import (
	"runtime"
	"strings"

	"github.com/fedfast/fedfast/cmd/fedfast/internal/ui/screen"
)

// The layout of a table in columns of a terminal.
const (
	gap     = 2   // blanks between columns
	indent  = 4   // of the lines that go on with a row
	whole   = 14  // columns up to which a cell, such as "12.50 %", is not wrapped
	prose   = 28  // columns that a longer text below a head is given at least
	nothing = "-" // a cell that says nothing
	value   = 16  // columns that the value of a table without a head is given at least
)

// goesOn ends a line of a command that goes on in the next: in PowerShell where it is usual.
var goesOn = map[bool]string{true: "`", false: `\`}[runtime.GOOS == "windows"]

// column says how wide a column wants to be and how narrow it may get by wrapping
// its cells between words.
type column struct{ wide, narrow int }

// part is a range of columns that stand in one line.
type part struct {
	from, to, indent int
	widths           []int
}

// write writes rows whose columns belong together; the first is the head if there
// is one.
//
// Where they do not fit, cells are wrapped between words. Where that does not help
// either, each row becomes a record: its first cell, and below it the others after the
// names of their columns. Without a head a row goes on in further lines, which are
// indented: nothing is left out. A single word is never broken, so that a path or a
// checksum can be copied.
func (t *Table) write(b *strings.Builder, rows [][]string, head bool) {
	columns := t.measure(rows, head)
	parts := t.parts(columns)
	if head && len(parts) > 1 {
		t.records(b, rows[0], rows[1:])
		return
	}
	for _, row := range rows {
		for _, p := range parts {
			if p.from < len(row) {
				t.line(b, row[p.from:min(p.to, len(row))], p)
			}
		}
	}
}

// records writes rows as records. Cells that say nothing are left out.
func (t *Table) records(b *strings.Builder, head []string, rows [][]string) {
	margin := strings.Repeat(" ", indent)
	for _, row := range rows {
		if len(row) == 0 {
			continue
		}
		b.WriteString(row[0] + "\n")
		line := ""
		for i, cell := range row[1:] {
			if cell == "" || cell == nothing {
				continue
			}
			if i+1 < len(head) && head[i+1] != "" {
				cell = head[i+1] + ": " + cell
			}
			if line != "" && indent+screen.Width(line)+len(margin)+screen.Width(cell) > t.columns {
				b.WriteString(margin + line + "\n")
				line = ""
			}
			if line != "" {
				line += margin
			}
			line += cell
			if indent+screen.Width(line) <= t.columns {
				continue
			}
			for n, text := range wrap(line, t.columns-2*indent) {
				b.WriteString(strings.Repeat(margin, 1+min(n, 1)) + text + "\n")
			}
			line = ""
		}
		if line != "" {
			b.WriteString(margin + line + "\n")
		}
	}
}

// measure returns how wide the columns of rows are. The last cell of a row that is
// shorter than others widens no column: nothing stands beside it.
func (t *Table) measure(rows [][]string, head bool) []column {
	most, least := 0, value
	for _, row := range rows {
		most = max(most, len(row))
	}
	if t.head {
		least = prose
	}
	columns := make([]column, most)
	for r, row := range rows {
		for i, cell := range row {
			if i == len(row)-1 && len(row) < most {
				continue
			}
			wide := screen.Width(cell)
			narrow := wide
			switch {
			case head && r == 0:
				narrow = longestWord(cell)
			case i == most-1 && t.below:
				narrow = min(wide, whole)
			case i == most-1:
				narrow = min(wide, least)
			case wide > whole:
				narrow = min(wide, max(longestWord(cell), least))
			}
			columns[i].wide, columns[i].narrow = max(columns[i].wide, wide), max(columns[i].narrow, narrow)
		}
	}
	return columns
}

// parts says which columns stand in which line of a row.
func (t *Table) parts(columns []column) []part {
	if t.columns == 0 {
		return []part{{to: len(columns), widths: shrink(columns, 1<<30)}}
	}
	var parts []part
	for from := 0; from < len(columns); {
		p := part{from: from, to: from + 1}
		if from > 0 {
			p.indent = indent
		}
		used := p.indent + columns[from].narrow
		for p.to < len(columns) && used+gap+columns[p.to].narrow <= t.columns {
			used += gap + columns[p.to].narrow
			p.to++
		}
		p.widths = shrink(columns[p.from:p.to], t.columns-p.indent)
		parts = append(parts, p)
		from = p.to
	}
	return parts
}

// shrink returns widths that fit into room columns of a terminal, if possible: the
// widest are narrowed first.
func shrink(columns []column, room int) []int {
	widths := make([]int, len(columns))
	over := gap*(len(columns)-1) - room
	for i, c := range columns {
		widths[i] = c.wide
		over += c.wide
	}
	for ; over > 0; over-- {
		widest := -1
		for i, w := range widths {
			if w > columns[i].narrow && (widest < 0 || w > widths[widest]) {
				widest = i
			}
		}
		if widest < 0 {
			break
		}
		widths[widest]--
	}
	return widths
}

// line writes the cells of a part of a row side by side, those that are wider
// than their column in several lines. A last cell with a word that is wider stands
// below.
func (t *Table) line(b *strings.Builder, cells []string, p part) {
	below := ""
	last := len(cells) - 1
	wrapped := make([][]string, len(cells))
	lines := 1
	for i, cell := range cells {
		wrapped[i] = []string{cell}
		if t.columns == 0 {
			continue
		}
		room := p.widths[i]
		if i == last {
			room = t.columns - p.indent // also that of the columns that this row does not have
			for _, w := range p.widths[:i] {
				room -= w + gap
			}
		}
		if i == last && i > 0 && (longestWord(cell) > room || t.below && screen.Width(cell) > room) {
			wrapped[i], below = nil, cell
			continue
		}
		wrapped[i] = wrap(cell, room)
		lines = max(lines, len(wrapped[i]))
	}
	for n := range lines {
		var line strings.Builder
		line.WriteString(strings.Repeat(" ", p.indent))
		for i, texts := range wrapped {
			text := ""
			if n < len(texts) {
				text = texts[n]
			}
			fill := strings.Repeat(" ", max(0, p.widths[i]-screen.Width(text)))
			if t.right {
				text, fill = fill, text
			}
			line.WriteString(text + fill + strings.Repeat(" ", gap))
		}
		if text := strings.TrimRight(line.String(), " "); text != "" || below == "" {
			b.WriteString(text + "\n")
		}
	}
	if below != "" {
		for _, text := range wrap(below, t.columns-p.indent-indent) {
			b.WriteString(strings.Repeat(" ", p.indent+indent) + text + "\n")
		}
	}
}

// wrap breaks a text between words into lines of at most the given number of columns,
// except for longer words; each line has the indentation of the first. A command goes on
// in further lines as a shell reads it, or stays in one if a word of it is quoted.
func wrap(s string, columns int) []string {
	command, on := strings.HasPrefix(s, "fedfast "), ""
	if screen.Width(s) <= columns || command && strings.ContainsAny(s, `'"`) {
		return []string{s}
	}
	if command {
		on = " " + goesOn
	}
	margin := s[:leading(s)]
	var lines []string
	line := ""
	for word := range strings.FieldsSeq(strings.ReplaceAll(s, " %", "\x00%")) { // a number keeps its unit
		word = strings.ReplaceAll(word, "\x00", " ")
		switch {
		case line == "":
			line = margin + word
		case screen.Width(line)+1+screen.Width(word) > columns-len(on):
			lines = append(lines, line+on)
			line = margin + word
		default:
			line += " " + word
		}
	}
	return append(lines, line)
}

// longestWord returns the columns that the longest word of a text takes, with the
// blanks before the first.
func longestWord(s string) int {
	most := 0
	for word := range strings.FieldsSeq(s) {
		most = max(most, screen.Width(word))
	}
	return most + leading(s)
}

// leading returns the number of blanks that a text begins with.
func leading(s string) int { return len(s) - len(strings.TrimLeft(s, " ")) }
