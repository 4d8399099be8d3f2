package oneline_test

import (
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/fedfast/fedfast/internal/sys/oneline"
)

func TestOf(t *testing.T) {
	for _, tt := range []struct{ text, want string }{
		{"", ""},
		{"a plain one", "a plain one"},
		{"two\n\n  lines \r\n", "two; lines"},
		{"one\ntwo\none\n", "one; two"},
		{"Ärger: 日本", "Ärger: 日本"},
		{"red \x1b[31m and a bell\a", `red \x1b[31m and a bell\a`},
		{"turned \u202e over", `turned \u202e over`},
		{"no UTF-8: \xff", `no UTF-8: \xff`},
		{"\\ and \"quotes\"", "\\ and \"quotes\""},
		{"a\ttab, a\rreturn", `a tab, a\rreturn`},
	} {
		if got := oneline.Of(tt.text); got != tt.want {
			t.Errorf("Of(%q) = %q, want %q", tt.text, got, tt.want)
		}
	}
}

func TestOfIsBounded(t *testing.T) {
	var lines strings.Builder
	for i := range 1 << 17 {
		fmt.Fprintln(&lines, i)
	}
	for _, text := range []string{strings.Repeat("Ä", 1<<20), strings.Repeat("\x00", 1<<20), lines.String()} {
		got := oneline.Of(text)
		if n := utf8.RuneCountInString(got); n > 4100 || n < 1000 ||
			!strings.HasSuffix(got, " bytes in all)") || !utf8.ValidString(got) {
			t.Errorf("%d characters that end in %q", n, got[len(got)-60:])
		}
	}
}

func TestName(t *testing.T) {
	long := strings.Repeat("ä", 100)
	for _, tt := range []struct{ name, want string }{
		{"x_test", "x_test"},
		{"Ärger", "Ärger"},
		{"", `""`},
		{"two words", `"two words"`},
		{"a\nb\x1b", `"a\nb\x1b"`},
		{long, `"` + strings.Repeat("ä", 64) + `"...`},
	} {
		if got := oneline.Name(tt.name); got != tt.want {
			t.Errorf("Name(%q) = %s, want %s", tt.name, got, tt.want)
		}
	}
	if got := oneline.Names([]string{"x", "y z"}); got != `x, "y z"` {
		t.Error(got)
	}
	if got := oneline.Names(strings.Split(strings.Repeat("x ", 99)+"x",
		" ")); got != "x, x, x, x, x, x, x, x, x, x and 90 more" {
		t.Error(got)
	}
}

func TestCount(t *testing.T) {
	for n, want := range map[int]string{0: "0 trials", 1: "1 trial", 2: "2 trials"} {
		if got := oneline.Count(n, "trial"); got != want {
			t.Errorf("Count(%d) = %q, want %q", n, got, want)
		}
	}
}
