package repro

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/fedfast/fedfast/internal/test/memtest"
)

func TestDamagedMetrics(t *testing.T) {
	dir := t.TempDir()
	for text, want := range map[string]string{
		"": "metrics file is truncated",
		`{"kind":"head","format":1,"seed":1}` + "\n":                  "metrics file is truncated",
		`{"kind":"head","format":1}` + "\n":                           "seed 0: must be between 1 and 10000",
		`{"kind":"head","format":1,"seed":99999}` + "\n":              ":1: seed 99999",
		strings.Repeat(`{"kind":"head","format":1,"seed":1}`+"\n", 2): ":2: a second head",
		`{"kind":"head","format":2}` +
			"\n": "metrics format 2 is not supported; this version reads format 1",
		`{"kind":"tail"}` + "\n":               `unknown kind "tail"`,
		"nonsense\n":                           ":1: invalid line of metrics",
		`{"kind":"trial","number":"x"}` + "\n": ":1: json",
	} {
		path := filepath.Join(dir, "m.jsonl")
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := ReadMetrics(path); err == nil || !strings.Contains(err.Error(), want) ||
			strings.Contains(err.Error(), "\n") {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
	// Several seeds in one file are for reports.
	both := filepath.Join(dir, "both.jsonl")
	one := `{"kind":"head","format":1,"seed":1}` + "\n" + `{"kind":"end"}` + "\n"
	if err := os.WriteFile(both, []byte(one+strings.Replace(one, `"seed":1`, `"seed":2`, 1)), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := ReadMetrics(both); err == nil || !strings.Contains(err.Error(),
		"metrics of 2 seeds, expected those of one") {
		t.Errorf("two seeds: %v", err)
	}
	if all, err := Find(both); err != nil || len(all) != 2 || all[1].Head.Seed != 2 {
		t.Errorf("found %v, %v", all, err)
	}
	large := filepath.Join(dir, "large.jsonl")
	if err := os.WriteFile(large, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(large, 1<<40); err != nil {
		t.Skipf("no sparse files here: %v", err)
	}
	memtest.Bounded(t, 2, func() {
		if _, err := ReadMetrics(large); err == nil || !strings.HasSuffix(err.Error(),
			large+": it has 1.1 TB, must have at most 268 MB") {
			t.Errorf("a file of 1 TiB: error %v", err)
		}
	})
	if _, err := Find(t.TempDir()); err == nil || !strings.Contains(err.Error(), "no metrics in") {
		t.Errorf("got %v", err)
	}
}
