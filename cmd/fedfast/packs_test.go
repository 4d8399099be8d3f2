package main

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestPacks verifies, on every level of this CPU, results that other machines packed: a Zen 5 on its
// level avx512 the first two, a Xeon without AMX the third, by
//
//	fedfast run --preset quickstart --set rounds=2 --set eval.personalized=false --study quickstart
//	fedfast tune ditto.toml --study ditto
//	fedfast run bf16.toml --study bf16
//
// .ci/run verifies them on arm64. They are made anew where records or the order of a sum change.
func TestPacks(t *testing.T) {
	text, err := exec.CommandContext(t.Context(), "fedfast", "version", "--json").Output()
	if err != nil {
		t.Fatal(err)
	}
	var about struct{ Levels []string }
	if err := json.Unmarshal(text, &about); err != nil {
		t.Fatal(err)
	}
	packs, err := filepath.Glob(filepath.Join("testdata", "packs", "*.fedfast"))
	if err != nil || len(packs) < 3 || len(about.Levels) == 0 {
		t.Fatalf("%d packs, %d levels, %v", len(packs), len(about.Levels), err)
	}
	for _, pack := range packs {
		for _, level := range about.Levels {
			cmd := exec.CommandContext(t.Context(), "fedfast", "verify", "--all", pack)
			cmd.Env = append(os.Environ(), "FEDFAST_CPU="+level)
			said, err := cmd.CombinedOutput()
			if err != nil || !strings.Contains(string(said), "model   ") {
				t.Errorf("%s on level %s: %v\n%s", pack, level, err, said)
			}
		}
	}
}
