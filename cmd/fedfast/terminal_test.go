//go:build unix

package main

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/creack/pty"

	"github.com/fedfast/fedfast/cmd/fedfast/internal/ui/screen"
	"github.com/fedfast/fedfast/internal/test/screentest"
)

// session is fedfast on a terminal.
type session struct {
	t      *testing.T
	master *os.File
	cmd    *exec.Cmd
	chunks chan []byte
	all    bytes.Buffer
}

// onTerminal starts fedfast in dir on a terminal with the given number of columns.
func onTerminal(t *testing.T, dir string, columns int, args ...string) *session {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	t.Cleanup(cancel)
	s := &session{t: t, cmd: exec.CommandContext(ctx, "fedfast", args...), chunks: make(chan []byte)}
	s.cmd.Dir = dir
	s.cmd.Env = append(os.Environ(), "TERM=xterm")
	var err error
	if s.master, err = pty.StartWithSize(s.cmd, size(columns)); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.master.Close() })
	go func() {
		defer close(s.chunks)
		for {
			chunk := make([]byte, 1<<16)
			n, err := s.master.Read(chunk)
			if err != nil {
				return // the last process has closed the terminal
			}
			s.chunks <- chunk[:n]
		}
	}()
	return s
}

func size(columns int) *pty.Winsize { return &pty.Winsize{Rows: 50, Cols: uint16(columns)} }

// until reads until the output since the call matches.
func (s *session) until(pattern string) {
	s.t.Helper()
	from := s.all.Len()
	for sought := regexp.MustCompile(pattern); !sought.Match(s.all.Bytes()[from:]); {
		chunk, more := <-s.chunks
		if !more {
			s.t.Fatalf("%q does not come in %q", pattern, s.all.Bytes()[from:])
		}
		s.all.Write(chunk)
	}
}

// end reads to the end and returns the exit code.
func (s *session) end() int {
	s.t.Helper()
	for chunk := range s.chunks {
		s.all.Write(chunk)
	}
	err := s.cmd.Wait()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		s.t.Fatal(err)
	}
	return s.cmd.ProcessState.ExitCode()
}

// shown returns what a terminal shows at the end, and how many rows at most were
// progress at any time.
func (s *session) shown(columns int) (rows []string, most int) {
	s.t.Helper()
	terminal := screentest.New(columns)
	for _, drawing := range bytes.SplitAfter(s.all.Bytes(), []byte("\x1b[J")) {
		if _, err := terminal.Write(drawing); err != nil {
			s.t.Fatal(err)
		}
		rows = terminal.Rows()
		most = max(most, bars(rows))
	}
	return rows, most
}

// bars counts the rows that hold a bar.
func bars(rows []string) int {
	n := 0
	for _, row := range rows {
		if strings.Contains(row, "% |") {
			n++
		}
	}
	return n
}

const terminalStudy = `name = "tiny"
method = "reptile"
model = "logistic"
cohort = 3
rounds = 200000
[data]
name = "glyphs"
clients = 12
samples = 30
[budget]
rounds = 60
trial_rounds = 30
[tuner]
name = "sha"
options = {eta = 2, eliminations = 2}
[client_tuner]
name = "fedex"
options = {configs = 3}
[space]
"client.lr" = {log10 = [-3, -0.3]}
"server.lr" = {log10 = [-1, 0]}
"server.momentum" = {choice = [0, 0.5, 0.9]}
`

// writeStudy writes the study into a new directory.
func writeStudy(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "tiny.toml"), []byte(terminalStudy), 0o600); err != nil {
		t.Fatal(err)
	}
	return dir
}

// TestTuneOnTerminals shows one bar at a time, the trials that are left and the
// speed below and beside it where there is room; it leaves one line, and no line of a table
// wraps. The result comes last, in 28 lines of 80 columns, and begins with a line in bold type.
func TestTuneOnTerminals(t *testing.T) {
	t.Parallel()
	dir := writeStudy(t)
	for _, columns := range []int{40, 80, 120} {
		name := "研究室の長い名前-" + string(rune('a'+columns/40))
		s := onTerminal(t, dir, columns, "tune", "tiny.toml", "--study", name)
		if code := s.end(); code != 0 {
			t.Fatalf("exit code %d: %s", code, s.all.Bytes())
		}
		rows, most := s.shown(columns)
		left := slices.DeleteFunc(slices.Clone(rows),
			func(row string) bool { return !regexp.MustCompile(`^round 60 of 60 in \d+`).MatchString(row) })
		if most != 1 || bars(rows) != 0 || len(left) != 1 {
			t.Errorf("%d columns: %d rows of progress at a time, %d at the end, and %d lines of it stay:\n%s", columns, most,
				bars(rows), len(left), strings.Join(rows, "\n"))
		}
		if told := regexp.MustCompile(`\| round +\d+ of 60, ETA \d+s, \d+(\.\d)? clients/s\x1b\[K\r\nbest ~\d+\.\d\d % personalized val error \(trial \d\), (mean of \d rounds, \d+ clients? each, |1 round, \d+ clients?, )?(loss \d+(\.\d+)?, )?(rung \d, )?(4 trials|\d of 4 trials active), trial \d`); told.Match(s.all.Bytes()) != (columns >= 80) {
			t.Errorf("%d columns: drawn are %q", columns, s.all.Bytes())
		}
		if at := slices.IndexFunc(rows, func(row string) bool {
			return strings.HasPrefix(row,
				"tiny: completed in ")
		}); at < 0 ||
			columns >= 80 && len(rows)-at > 28 || !strings.HasPrefix(strings.TrimSpace(rows[len(rows)-1]), "fedfast ui ") {
			t.Errorf("%d columns: the result is no block at the end:\n%s", columns, strings.Join(rows, "\n"))
		}
		if !bytes.Contains(s.all.Bytes(), []byte("\x1b[1mtiny: completed in ")) {
			t.Errorf("%d columns: the result does not begin in bold type: %q", columns, s.all.Bytes())
		}
		fits(t, dir, columns, "study", "show", name)
	}
	for _, columns := range []int{40, 80} {
		for _, args := range [][]string{
			{"list", "methods"},
			{"list", "models"},
			{"list", "presets"},
			{"list", "tuners"},
			{"data", "list"},
			{"data", "info"},
			{"data", "fetch", "--list"},
			{"study", "list", "."},
			{"repro", "list", "fathom-table1"},
			{"bench", "--suite", "nn", "--quick", "--model", "logistic"},
		} {
			fits(t, dir, columns, args...)
		}
	}
}

// TestStudyListOnTerminals lists studies with long names in one line each that fits: seven columns of
// 80, with the states that ask for a look in color, unless NO_COLOR is set.
func TestStudyListOnTerminals(t *testing.T) {
	dir := writeStudy(t)
	const name = "20261129-034101-a-long-name-of-a-study"
	for _, args := range [][]string{{"--study", "studies/" + name}, {"--seeds", "2", "--study", "studies/seeds"}} {
		s := onTerminal(t, dir, 80, append([]string{"run", "tiny.toml", "--set", "rounds=2"}, args...)...)
		if code := s.end(); code != 0 {
			t.Fatalf("exit code %d: %s", code, s.all.Bytes())
		}
	}
	if err := errors.Join(os.Mkdir(filepath.Join(dir, "studies/broken"), 0o700),
		os.WriteFile(filepath.Join(dir, "studies/broken/study.db"), []byte("no record"), 0o600)); err != nil {
		t.Fatal(err)
	}
	escape := regexp.MustCompile(`\x1b\[\d+m`)
	for _, columns := range []int{40, 60, 80, 120} {
		s := onTerminal(t, dir, columns, "study", "list")
		if code := s.end(); code != 0 {
			t.Fatalf("exit code %d: %s", code, s.all.Bytes())
		}
		text := strings.ReplaceAll(s.all.String(), "\r", "")
		for _, color := range []string{"\x1b[31munreadable\x1b[0m", "\x1b[33mcompleted*\x1b[0m"} {
			if !strings.Contains(text, color) {
				t.Errorf("%d columns: no %q in %q", columns, color, text)
			}
		}
		lines := strings.Split(escape.ReplaceAllString(text, ""), "\n")
		for _, line := range lines {
			if screen.Width(line) > columns {
				t.Errorf("%d columns: %d are taken by %q", columns, screen.Width(line), line)
			}
		}
		if n := strings.Count(text, "completed*"); n != 2 {
			t.Errorf("%d columns: %d lines of studies in\n%s", columns, n, text)
		}
		if whole := `study +state +trials +rounds +global test +personalized +age$`; columns >= 80 != regexp.MustCompile(whole).MatchString(lines[0]) {
			t.Errorf("%d columns: the head is %q", columns, lines[0])
		}
		if strings.Contains(text, "studies/"+name+" ") != (columns == 120) ||
			!strings.Contains(text, name[len(name)-7:]+" ") {
			t.Errorf("%d columns: the study's name is cut wrongly in\n%s", columns, text)
		}
	}
	t.Setenv("NO_COLOR", "1")
	s := onTerminal(t, dir, 80, "study", "list")
	if code := s.end(); code != 0 || bytes.Contains(s.all.Bytes(), []byte("\x1b[")) {
		t.Errorf("exit code %d: %q", code, s.all.Bytes())
	}
}

// TestNoColor writes the same without bold type where NO_COLOR is set.
func TestNoColor(t *testing.T) {
	t.Setenv("NO_COLOR", "1")
	s := onTerminal(t, writeStudy(t), 80, "run", "tiny.toml", "--set", "rounds=2")
	if code := s.end(); code != 0 || !bytes.Contains(s.all.Bytes(), []byte("tiny: completed in ")) ||
		bytes.Contains(s.all.Bytes(), []byte("\x1b[1m")) {
		t.Errorf("exit code %d: %q", code, s.all.Bytes())
	}
}

// colors are the codes that change colors.
var colors = regexp.MustCompile(`\x1b\[[0-9;]*m`)

// fits runs a command on a terminal: the lines of its tables, but for single words,
// fit. Prose is left to the terminal.
func fits(t *testing.T, dir string, columns int, args ...string) {
	t.Helper()
	s := onTerminal(t, dir, columns, args...)
	if code := s.end(); code != 0 {
		t.Fatalf("%v: exit code %d: %s", args, code, s.all.Bytes())
	}
	for line := range strings.Lines(s.all.String()) {
		line = colors.ReplaceAllString(strings.TrimRight(line, "\r\n"), "")
		if screen.Width(line) > columns && strings.Contains(strings.TrimSpace(line), "  ") {
			t.Errorf("%v at %d columns: %d are taken by %q", args, columns, screen.Width(line), line)
		}
	}
}

// TestTerminalOfNewWidth makes the terminal narrower in mid-run, interrupts, and
// reads what is said on a line of its own.
func TestTerminalOfNewWidth(t *testing.T) {
	t.Parallel()
	s := onTerminal(t, writeStudy(t), 120, "run", "tiny.toml", "--study", "s")
	s.until(` 0% \|.*loss \d\.\d+`)
	if err := pty.Setsize(s.master, size(45)); err != nil {
		t.Fatal(err)
	}
	narrow := regexp.MustCompile(`\r[^\r\x1b]{10,44}\x1b\[J\r$`)
	for !narrow.Match(s.all.Bytes()) {
		s.until(`\x1b\[J\r$`)
	}
	from := s.all.Len()
	s.until(`\x1b\[J\r(?s:.)*\x1b\[J\r$`)
	for drawn := range bytes.SplitSeq(s.all.Bytes()[from:], []byte("\x1b[J")) {
		if w := screen.Width(strings.Trim(string(drawn), "\r")); w >= 45 {
			t.Errorf("%d columns are drawn: %q", w, drawn)
		}
	}
	if _, err := io.WriteString(s.master, "\x03"); err != nil {
		t.Fatal(err)
	}
	if code := s.end(); code != 1 {
		t.Errorf("exit code %d", code)
	}
	terminal := screentest.New(200) // only the last line is looked at
	if _, err := terminal.Write(s.all.Bytes()); err != nil {
		t.Fatal(err)
	}
	rows := terminal.Rows()
	tail := rows[max(0, len(rows)-3):]
	for i, begin := range []string{"fedfast: stopping after this round", "round ", "fedfast: interrupted; "} {
		if len(tail) < 3 || !strings.HasPrefix(tail[i], begin) {
			t.Fatalf("the last lines are %q", tail)
		}
	}
}

// TestInterruptBeforeProgress reads the message on a line of its own where no
// progress is shown.
func TestInterruptBeforeProgress(t *testing.T) {
	t.Parallel()
	s := onTerminal(t, t.TempDir(), 80, "bench", "--suite", "nn", "--model", "logistic")
	s.until(`nn 1/`)
	if _, err := io.WriteString(s.master, "\x03"); err != nil {
		t.Fatal(err)
	}
	if code := s.end(); code != 1 {
		t.Errorf("exit code %d", code)
	}
	rows, _ := s.shown(80)
	if !slices.ContainsFunc(rows, func(row string) bool { return strings.HasPrefix(row, "fedfast: stopping") }) {
		t.Errorf("the terminal shows %q", rows)
	}
}
