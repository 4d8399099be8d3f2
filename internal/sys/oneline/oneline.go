// Package oneline makes one line of any text, such as a message that holds what a
// stranger's file or program says: a line that a terminal shows as it is, and
// that has an end.
package oneline

import (
	"fmt"
	"path/filepath"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/fedfast/fedfast/internal/list"
)

// The most characters of a line and of a name in it, and the most names.
const (
	maxLine  = 4000
	maxName  = 64
	maxNames = 10
)

// Of joins the lines of a text by "; ", equal ones once. What no terminal shows as it stands
// (control codes, marks that turn the direction of writing, bytes that are no
// UTF-8) is written as Go writes it in a string, and a text too long is cut.
func Of(text string) string {
	var line strings.Builder
	said := map[string]bool{}
	for part := range strings.Lines(text) {
		if part = strings.TrimSpace(part); part == "" || said[part] {
			continue
		}
		said[part] = true
		if line.Len() > 0 {
			line.WriteString("; ")
		}
		if line.Len() > maxLine {
			break // the rest would be cut
		}
		printable(&line, part[:min(len(part), 4*maxLine+utf8.UTFMax)])
	}
	return cut(line.String(), len(text))
}

// cut shortens a line that is too long; of is the number of bytes that it was made from.
func cut(line string, of int) string {
	count := 0
	for at := range line {
		if count++; count > maxLine {
			return fmt.Sprintf("%s... (%d bytes in all)", line[:at], of)
		}
	}
	return line
}

// Printable returns a text without line ends as a terminal can show it, and of any
// length.
func Printable(text string) string {
	var to strings.Builder
	printable(&to, text)
	return to.String()
}

// printable appends a text without line ends.
func printable(to *strings.Builder, text string) {
	for len(text) > 0 {
		r, size := utf8.DecodeRuneInString(text)
		switch {
		case r == '\t':
			to.WriteByte(' ')
		case r == utf8.RuneError && size == 1, !strconv.IsPrint(r):
			quoted := strconv.Quote(text[:size])
			to.WriteString(quoted[1 : len(quoted)-1])
		default:
			to.WriteString(text[:size])
		}
		text = text[size:]
	}
}

// Name returns a name as it stands if it is a plain one: some printable
// characters without a space. Any other is quoted, and cut when it is long.
func Name(name string) string {
	plain := name != "" && utf8.RuneCountInString(name) <= maxName && strconv.Quote(name) == `"`+name+`"` && !strings.ContainsAny(name, " ,;")
	if plain {
		return name
	}
	short := fmt.Sprintf("%.*q", maxName, name)
	if utf8.RuneCountInString(name) > maxName {
		short += "..."
	}
	return short
}

// Names lists the first names, each as Name returns it, and how many there are
// beside them.
func Names(names []string) string {
	list := list.Of(names[:min(len(names), maxNames)], Name)
	text := strings.Join(list, ", ")
	if more := len(names) - len(list); more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return text
}

// Count writes how many there are of something that a line tells of, whose plural ends
// in s: "1 trial", "3 trials".
func Count(n int, what string) string {
	if n != 1 {
		what += "s"
	}
	return Digits(n) + " " + what
}

// Digits writes an integer with commas between thousands.
func Digits(n int) string {
	s := strconv.Itoa(n)
	for i := len(s) - 3; i > len(s)-len(strings.TrimPrefix(s, "-")); i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

// Path writes a path as one word of a command that people copy into a POSIX shell: as it
// stands where no shell reads anything into it, else in quotes, and in $'...' with octal
// bytes where it holds what no terminal shows. One that begins as a flag does begins with ./
// instead.
func Path(path string) string {
	if strings.HasPrefix(path, "-") {
		path = "./" + path
	}
	shown := utf8.ValidString(path)
	plain := shown && path != ""
	for i, r := range path {
		plain = plain && (unicode.IsLetter(r) || unicode.IsDigit(r) || strings.ContainsRune("/._-+:,@%", r) ||
			r == filepath.Separator || r == '=' && i > 0)
		shown = shown && strconv.IsPrint(r)
	}
	switch {
	case plain:
		return path
	case shown:
		return "'" + strings.ReplaceAll(path, "'", `'\''`) + "'"
	}
	word := []byte("$'")
	for _, c := range []byte(path) {
		if c < ' ' || c > '~' || c == '\'' || c == '\\' {
			word = fmt.Appendf(word, `\%03o`, c)
		} else {
			word = append(word, c)
		}
	}
	return string(word) + "'"
}
