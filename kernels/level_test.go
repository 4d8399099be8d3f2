package kernels

import (
	"slices"
	"strings"
	"testing"
)

func TestParseLevel(t *testing.T) {
	for l := range Level(numLevels) {
		if got, err := ParseLevel(l.String()); got != l || err != nil {
			t.Errorf("ParseLevel(%q) = %v, %v", l.String(), got, err)
		}
	}
	for _, name := range []string{"", "AVX2", "sse2", "Level(7)"} {
		if l, err := ParseLevel(name); err == nil {
			t.Errorf("ParseLevel(%q) = %v, want an error", name, l)
		}
	}
	if got := Level(200).String(); got != "Level(200)" {
		t.Errorf("Level(200).String() = %q", got)
	}
}

// TestStartLevel holds that FEDFAST_CPU chooses a supported level and that anything
// else is as if it were not set.
func TestStartLevel(t *testing.T) {
	levels := Supported()
	if levels[0] != Generic || !slices.IsSorted(levels) {
		t.Errorf("supported levels %v", levels)
	}
	highest := levels[len(levels)-1]
	for l := range Level(numLevels) {
		want := highest
		if slices.Contains(levels, l) {
			want = l
		}
		if got := startLevel(l.String()); got != want {
			t.Errorf("FEDFAST_CPU=%v starts at %v, want %v", l, got, want)
		}
	}
	for _, name := range []string{"", "turbo"} {
		if got := startLevel(name); got != highest {
			t.Errorf("FEDFAST_CPU=%s starts at %v, want %v", name, got, highest)
		}
	}
}

func TestProcessor(t *testing.T) {
	if strings.TrimSpace(Processor()) == "" {
		t.Error("no name")
	}
}

func TestSetLevel(t *testing.T) {
	old := Current()
	defer bind(old)
	for l := range Level(numLevels) {
		err := SetLevel(l)
		switch supported := slices.Contains(Supported(), l); {
		case supported && (err != nil || Current() != l):
			t.Errorf("SetLevel(%v): %v, level in use %v", l, err, Current())
		case !supported && err == nil:
			t.Errorf("SetLevel(%v) gives no error", l)
		}
	}
}
