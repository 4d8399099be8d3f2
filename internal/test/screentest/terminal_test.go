package screentest

import (
	"slices"
	"testing"
)

// TestTerminal plays what the tests of other packages rely on, stray rows among it.
func TestTerminal(t *testing.T) {
	for name, tt := range map[string]struct {
		columns int
		texts   []string
		resize  int // before the last text
		want    []string
	}{
		"lines":                   {10, []string{"one\r\ntwo\nthree"}, 0, []string{"one", "two", "three"}},
		"over each other":         {10, []string{"longer", "\rlon", "\x1b[J"}, 0, []string{"lon"}},
		"a full row stays":        {4, []string{"full", "\rFULL", "\nnext"}, 0, []string{"FULL", "next"}},
		"too long leaves a row":   {4, []string{"12345", "\r67\x1b[J"}, 0, []string{"1234", "67"}},
		"wide signs":              {5, []string{"日本語", "\r!"}, 0, []string{"日本", "!"}},
		"narrower from the start": {8, []string{"1234567\r", "ab\x1b[J\r"}, 4, []string{"ab"}},
		"narrower from the end":   {8, []string{"1234567", "\rab\x1b[J\r"}, 4, []string{"1234", "ab"}},
		"wider":                   {4, []string{"123\r", "abcdef\x1b[J\r"}, 8, []string{"abcdef"}},
		"rows over each other": {8, []string{
			"12345\r\n67890\r\x1b[A",
			"ab\x1b[K\r\ncd\x1b[J\r\x1b[A",
		}, 0, []string{"ab", "cd"}},
		"rows made narrower": {8, []string{
			"12345\r\n67890\r\x1b[A",
			"\x1b[Jab\x1b[K\r\ncd\x1b[J\r\x1b[A",
		}, 4, []string{"ab", "cd"}},
		"up and over": {4, []string{"1\r\n2", "\x1b[A3"}, 0, []string{"13", "2"}},
	} {
		terminal := New(tt.columns)
		for i, text := range tt.texts {
			if i == len(tt.texts)-1 && tt.resize > 0 {
				terminal.Resize(tt.resize)
			}
			if _, err := terminal.Write([]byte(text)); err != nil {
				t.Fatal(err)
			}
		}
		if got := terminal.Rows(); !slices.Equal(got, tt.want) {
			t.Errorf("%s: got %q, want %q", name, got, tt.want)
		}
	}
	if _, err := New(10).Write([]byte("\x1b[2K")); err == nil {
		t.Error("a command that is not known is accepted")
	}
}
