// Package shakespeare cuts the complete works, in the layout of Project
// Gutenberg's Etext 100, into the speaking roles that LEAF makes clients of.
//
// It follows what LEAF's scripts do with that text (TalwalkarLab/leaf,
// data/shakespeare/preprocess), oddities included: a play starts at a line with
// "by William Shakespeare" and is named by a line above it; a speech starts with
// two blanks, a name in letters and a period, and goes on in lines with four
// blanks; The Comedy of Errors is not indented; nothing after line 124,196
// belongs to a play; a role with two lines or fewer has no text.
package shakespeare

import (
	"strings"
	"unicode"
)

// Facts of the etext that LEAF's script has in it.
const (
	author       = "by William Shakespeare"
	lastLine     = 124195 // the last line that can belong to a play; the first line counts not at all
	flatPlay     = "THE COMEDY OF ERRORS"
	beforeAuthor = 5 // lines from the start of the second play's text to its author
	minLines     = 3 // roles with fewer lines have no text
)

// Role is one speaking role of one play.
type Role struct {
	// ID is the play and the role in capitals, blanks and signs replaced by _.
	ID string
	// Play is the title as it stands in the text.
	Play string
	// Lines is the number of lines that the role speaks.
	Lines int
	// Text holds those lines with a blank after each and runs of blanks made
	// one; "" for a role with two lines or fewer.
	Text string
}

// Roles returns the roles of a text in the order in which they first speak.
// Roles of equal ID are one.
func Roles(text string) []Role {
	var roles []Role
	place := map[string]int{}
	texts := map[string]*strings.Builder{}
	for _, p := range plays(text) {
		if len(p.names) < 2 { // no play
			continue
		}
		for _, name := range p.names {
			id := identifier(p.title + "_" + name)
			at, known := place[id]
			if !known {
				at = len(roles)
				place[id] = at
				roles = append(roles, Role{ID: id, Play: p.title})
				texts[id] = new(strings.Builder)
			}
			lines := p.lines[name]
			roles[at].Play = p.title
			roles[at].Lines += len(lines)
			if len(lines) < minLines {
				continue
			}
			for _, l := range lines {
				texts[id].WriteString(l)
				texts[id].WriteByte('\n')
			}
		}
	}
	for i := range roles {
		roles[i].Text = flowing(texts[roles[i].ID].String())
	}
	return roles
}

// play collects what each role of a play says.
type play struct {
	title string
	names []string // in order of first speech
	lines map[string][]string
}

func (p *play) say(name, line string) {
	if _, known := p.lines[name]; !known {
		p.names = append(p.names, name)
	}
	p.lines[name] = append(p.lines[name], line)
}

// plays cuts a text into plays and their lines into roles.
func plays(text string) []*play {
	lines := split(text)
	if len(lines) > 0 {
		lines = lines[1:]
	}
	start := secondPlay(lines)
	lines = lines[start:]
	var all []*play
	var now *play
	speaker := ""
	for i, line := range lines {
		if i > lastLine-start {
			break
		}
		if strings.Contains(line, author) {
			now = &play{title: titleAbove(lines, i), lines: map[string][]string{}}
			all = append(all, now)
			speaker = ""
			continue
		}
		if now == nil {
			continue
		}
		flat := now.title == flatPlay
		if name, said, ok := speech(line, flat); ok {
			speaker = ""
			if !flat || !strings.HasPrefix(name, "ACT ") {
				speaker = name
				now.say(name, said)
			}
			continue
		}
		if speaker == "" {
			continue
		}
		more, ok := strings.CutPrefix(line, "    ")
		switch {
		case flat && strings.HasPrefix(line, "<"):
			speaker = ""
		case flat:
			now.say(speaker, line)
		case ok:
			now.say(speaker, more)
		}
	}
	return all
}

// secondPlay returns the line from which on plays are looked for: the contents,
// the sonnets and the first play's head stand before it.
func secondPlay(lines []string) int {
	count := 0
	for i, l := range lines {
		if strings.Contains(l, author) {
			if count++; count == 2 {
				return max(0, i-beforeAuthor)
			}
		}
	}
	return 0
}

// titleAbove returns the title of the play whose author stands in line i: the
// nearest line with text two to six lines above, else the seventh.
func titleAbove(lines []string, i int) string {
	for back := 2; back <= 7 && i-back >= 0; back++ {
		if t := strings.TrimSpace(lines[i-back]); t != "" {
			return t
		}
	}
	return ""
}

// speech reads the first line of a speech: a name in letters and blanks, which
// is returned in capitals, a period, a blank, then what is said.
func speech(line string, flat bool) (name, said string, ok bool) {
	if !flat {
		if line, ok = strings.CutPrefix(line, "  "); !ok {
			return "", "", false
		}
	}
	n := 0
	for n < len(line) && (letter(line[n]) || n > 0 && line[n] == ' ') {
		n++
	}
	if n == 0 || !strings.HasPrefix(line[n:], ". ") {
		return "", "", false
	}
	return strings.ToUpper(line[:n]), line[n+2:], true
}

func letter(c byte) bool { return 'a' <= c|0x20 && c|0x20 <= 'z' }

// identifier replaces blanks by _, then every run of other signs by one _.
func identifier(s string) string {
	var b strings.Builder
	run := false
	for _, r := range strings.ReplaceAll(s, " ", "_") {
		if word := r == '_' || unicode.IsLetter(r) || unicode.IsNumber(r); word {
			b.WriteRune(r)
			run = false
		} else if !run {
			b.WriteByte('_')
			run = true
		}
	}
	return b.String()
}

// split cuts a text into lines where Python's str.splitlines does. A line keeps
// its end unless that is a line feed or carriage return.
func split(text string) []string {
	text = strings.ReplaceAll(text, "\r\n", "\n")
	text = strings.ReplaceAll(text, "\r", "\n")
	lines := make([]string, 0, strings.Count(text, "\n")+1)
	start := 0
	for i, r := range text {
		switch r {
		case '\n':
			lines = append(lines, text[start:i])
			start = i + 1
		case '\v', '\f', 0x1c, 0x1d, 0x1e, 0x85, 0x2028, 0x2029:
			end := i + len(string(r))
			lines = append(lines, text[start:end])
			start = end
		}
	}
	if start < len(text) {
		lines = append(lines, text[start:])
	}
	return lines
}

// flowing replaces line feeds by blanks, then runs of blanks by one.
func flowing(text string) string {
	out := make([]byte, 0, len(text))
	for i := range len(text) {
		c := text[i]
		if c == '\n' {
			c = ' '
		}
		if c == ' ' && len(out) > 0 && out[len(out)-1] == ' ' {
			continue
		}
		out = append(out, c)
	}
	return string(out)
}
