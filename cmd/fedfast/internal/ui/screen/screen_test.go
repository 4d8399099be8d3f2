package screen

import (
	"bytes"
	"os"
	"testing"
)

func TestWidth(t *testing.T) {
	for text, want := range map[string]int{"": 0, "plain": 5, "日本語": 6, "e\u0301te\u0301": 3, "한글 x": 6, "█░": 2} {
		if got := Width(text); got != want {
			t.Errorf("%q takes %d columns, want %d", text, got, want)
		}
	}
	if got := Columns(&bytes.Buffer{}); got != 0 {
		t.Errorf("a buffer has %d columns", got)
	}
	file, err := os.Create(t.TempDir() + "/file")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = file.Close() }()
	if Columns(file) != 0 || Is(file) {
		t.Error("a file is taken for a terminal")
	}
}

func TestCut(t *testing.T) {
	for _, tt := range []struct {
		text    string
		columns int
		want    string
	}{
		{"short", 5, "short"},
		{"too long", 7, "too ..."},
		{"日本語日本語", 10, "日本語..."},
		{"日本語日本語", 8, "日本..."},
		{"too long", 2, ".."},
		{"too long", 0, ""},
	} {
		if got := Cut(tt.text, tt.columns); got != tt.want || Width(got) > tt.columns {
			t.Errorf("%q cut to %d columns is %q, want %q", tt.text, tt.columns, got, tt.want)
		}
	}
}
