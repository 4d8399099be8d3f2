package oneline_test

import (
	"os/exec"
	"strings"
	"testing"
	"unicode"

	"github.com/fedfast/fedfast/internal/sys/oneline"
)

// odd are names that a shell, a program's flags or a terminal would read something into.
var odd = []string{
	"", " ", "a b", "a b;$(touch X)", "`touch X`", "$HOME", "~", "*", "a'b", `a"b`, `a\b`, "a&b", "#a", "!a", "{a,b}",
	"a=b", "=a", "a>b", "(a)", "[a]", "ä b", "Ärger",
	"a\nb\n", "a\tb", "\x1b[31mred", "right\u202eleft", "\xff", "\xff'\\7", "it's\x7f8",
}

// TestPathIsOneWordOfAShell has bash read what Path writes, and the terminal's own line of it.
func TestPathIsOneWordOfAShell(t *testing.T) {
	for _, name := range append([]string{"a", "studies/first", "/tmp/x.y-z_1"}, odd...) {
		word := oneline.Path(name)
		if strings.ContainsFunc(word, func(r rune) bool { return !unicode.IsPrint(r) }) ||
			!strings.Contains(oneline.Of("x "+word+" x"), word) {
			t.Errorf("Path(%q) = %q is not shown as it is", name, word)
		}
		got, err := exec.Command("bash", "-c", "printf '%s|' "+word).Output()
		if err != nil || string(got) != name+"|" {
			t.Errorf("bash reads %s as %q (%v), want %q", word, got, err, name)
		}
	}
	for name, want := range map[string]string{
		"studies/first": "studies/first", "-x": "./-x", "Ärger": "Ärger",
		"a b": "'a b'", "it's": `'it'\''s'`, "\n": `$'\012'`,
	} {
		if got := oneline.Path(name); got != want {
			t.Errorf("Path(%q) = %s, want %s", name, got, want)
		}
	}
}
