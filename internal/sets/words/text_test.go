package words

import (
	"regexp"
	"strings"
	"testing"
)

// FuzzLine compares the words of a line with what an expression finds.
func FuzzLine(f *testing.F) {
	word := regexp.MustCompile(`[\p{L}\p{N}\p{M}_']+|[.,!?;]`)
	for _, text := range []string{"", "It's  A test, is_it?!", "é\u0301 Ǆ ١٢ \xff\xfe a\x00b", "İIıσΣς…;", "a.b,c"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		want := strings.Join(word.FindAllString(strings.ToLower(text), -1), " ")
		if got := string(Line([]byte(text), false)); got != want {
			t.Errorf("%q gives %q, want %q", text, got, want)
		}
	})
}

// TestSymbols: emoji are words where they are asked for.
func TestSymbols(t *testing.T) {
	for text, want := range map[string]string{
		"Great😀😀!": "great 😀 😀 !", "❤️ 5€ \xff": "❤ 5",
	} {
		if got := string(Line([]byte(text), true)); got != want {
			t.Errorf("%q gives %q, want %q", text, got, want)
		}
	}
}
