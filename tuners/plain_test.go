package tuners_test

import (
	"strings"
	"testing"

	"github.com/fedfast/fedfast/tuners"
)

func TestPlain(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"", ""},
		{"what it is", "what it is"},
		{" two\n\tlines\r\n", "two lines"},
		{"\x1b[2J\x1b]0;title\a", `\x1b[2J\x1b]0;title\a`},
		{"größer als 日本", "größer als 日本"},
		{"bidi \u202eevil\u200b", `bidi \u202eevil\u200b`},
		{"not \xff UTF-8", "not \ufffd UTF-8"},
		{strings.Repeat("x", 40), strings.Repeat("x", 40)},
		{strings.Repeat("x", 41), strings.Repeat("x", 40) + "..."},
		{strings.Repeat("\x00", 20<<20), strings.Repeat(`\x00`, 40) + "..."},
		{strings.Repeat(" ", 20<<20) + "far away", "..."},
	} {
		if got := tuners.Plain(c.text, 40); got != c.want {
			t.Errorf("%.50q is %.100q, want %.100q", c.text, got, c.want)
		}
	}
}
