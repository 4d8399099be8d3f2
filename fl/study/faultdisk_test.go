package study

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/fedfast/fedfast/internal/store"
)

// brokenOff works on the study small until its middle and returns the directory.
func brokenOff(t *testing.T, events int) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "study")
	if _, _, err := workOn(t.Context(), "small", dir, events); !errors.Is(err, context.Canceled) {
		t.Fatalf("interrupted after %d events: %v", events, err)
	}
	return dir
}

// copyOf copies a study's directory.
func copyOf(t *testing.T, dir string) string {
	t.Helper()
	to := filepath.Join(t.TempDir(), "copy")
	if err := os.CopyFS(to, os.DirFS(dir)); err != nil {
		t.Fatal(err)
	}
	return to
}

// TestFaultDamagedSnapshots cuts and flips snapshots of a study that was broken
// off, also all of them.
func TestFaultDamagedSnapshots(t *testing.T) {
	want := uninterrupted(t, "small")
	random := rand.New(rand.NewPCG(5, 6))
	for _, events := range []int{20, 60} {
		whole := brokenOff(t, events)
		names, err := filepath.Glob(filepath.Join(whole, "snapshots", "*.snap"))
		if err != nil || len(names) < 3 {
			t.Fatalf("%d snapshots, %v", len(names), err)
		}
		newest := map[string]bool{} // of its trial
		for i, name := range names {
			trial, _, _ := strings.Cut(filepath.Base(name), "-round-")
			newest[filepath.Base(name)] = i+1 == len(names) || !strings.HasPrefix(filepath.Base(names[i+1]), trial)
		}
		for _, damage := range []struct {
			name string
			of   func(base string) bool
			to   func(text []byte) []byte
		}{
			{"cut", func(base string) bool { return newest[base] }, func(b []byte) []byte { return b[:random.IntN(len(b))] }},
			{
				"flipped", func(base string) bool { return newest[base] },
				func(b []byte) []byte { b[random.IntN(len(b))] ^= 16; return b },
			},
			{"all emptied", func(string) bool { return true }, func([]byte) []byte { return nil }},
		} {
			dir := copyOf(t, whole)
			for _, name := range names {
				if !damage.of(filepath.Base(name)) {
					continue
				}
				path := filepath.Join(dir, "snapshots", filepath.Base(name))
				text, err := os.ReadFile(path)
				if err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(path, damage.to(text), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			when := fmt.Sprintf("interrupted after %d events, snapshots %s", events, damage.name)
			got, said, err := workOn(t.Context(), "small", dir, 0)
			if err != nil {
				t.Errorf("%s: %v", when, err)
				continue
			}
			got.equal(t, want, when)
			if !strings.Contains(said, "a snapshot cannot be used") || !strings.Contains(said, "checksum mismatch") {
				t.Errorf("%s: said %q", when, said)
			}
		}
	}
}

// TestFaultSnapshotOfAnotherRound gives the newest snapshot of a trial the content of the one
// before: the rounds are counted by what it holds, not by its name.
func TestFaultSnapshotOfAnotherRound(t *testing.T) {
	want := uninterrupted(t, "small")
	dir := copyOf(t, brokenOff(t, 60))
	names, err := filepath.Glob(filepath.Join(dir, "snapshots", "trial-*.snap"))
	if err != nil {
		t.Fatal(err)
	}
	swapped := 0
	for i, name := range names {
		trial, _, _ := strings.Cut(name, "-round-")
		if i == 0 || !strings.HasPrefix(names[i-1], trial+"-") || i+1 < len(names) && strings.HasPrefix(names[i+1],
			trial+"-") {
			continue
		}
		text, err := os.ReadFile(names[i-1])
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, text, 0o600); err != nil {
			t.Fatal(err)
		}
		swapped++
	}
	got, said, err := workOn(t.Context(), "small", dir, 0)
	if err != nil {
		t.Fatal(err)
	}
	got.equal(t, want, "with snapshots of other rounds")
	if swapped == 0 || !strings.Contains(said, "it is of round ") {
		t.Errorf("%d snapshots of other rounds, said %q", swapped, said)
	}
}

// TestFaultDamagedDatabase flips bits of the database of a study that was broken
// off, and cuts it.
func TestFaultDamagedDatabase(t *testing.T) {
	want := uninterrupted(t, "small")
	random := rand.New(rand.NewPCG(7, 8))
	whole := brokenOff(t, 50)
	text, err := os.ReadFile(filepath.Join(whole, store.File))
	if err != nil {
		t.Fatal(err)
	}
	lost, damages := 0, 10
	if testing.Short() {
		damages = 4
	}
	for i := range damages {
		damaged := append([]byte(nil), text...)
		when := fmt.Sprintf("database cut to %d bytes", len(text)*i/4)
		if i < 4 {
			damaged = damaged[:len(text)*i/4]
		} else {
			at := 4096 + random.IntN(len(text)-4096)
			damaged[at] ^= 1 << random.IntN(8)
			when = fmt.Sprintf("byte %d of the database flipped", at)
		}
		dir := copyOf(t, whole)
		if err := os.WriteFile(filepath.Join(dir, store.File), damaged, 0o600); err != nil {
			t.Fatal(err)
		}
		got, said, err := workOn(t.Context(), "small", dir, 0)
		if err != nil {
			t.Errorf("%s: %v", when, err)
			continue
		}
		got.equal(t, want, when)
		if strings.Contains(said, "was damaged") || strings.Contains(said, "holds no records although") {
			lost++
		} else if i < 4 {
			t.Errorf("%s: nothing is said: %q", when, said)
		}
	}
	if lost < damages/2 {
		t.Errorf("only %d of %d damages were found", lost, damages)
	}
}

// TestFaultFinishedStudyWithoutItsModel damages the model of a finished study,
// which is then trained again from the record.
func TestFaultFinishedStudyWithoutItsModel(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "study")
	want, _, err := workOn(t.Context(), "small", dir, 0)
	if err != nil {
		t.Fatal(err)
	}
	names, err := filepath.Glob(filepath.Join(dir, "snapshots", "*"))
	if err != nil || len(names) == 0 || len(names) > 3 {
		t.Errorf("a finished study keeps %v, %v; want the best model, the survivor and the luckiest", names, err)
	}
	for _, name := range names {
		if err := os.Truncate(name, 1000); err != nil {
			t.Fatal(err)
		}
	}
	got, said, err := workOn(t.Context(), "small", dir, 0)
	if err != nil {
		t.Fatal(err)
	}
	got.equal(t, want, "without its model")
	if !strings.Contains(said, "the stored model cannot be used") {
		t.Errorf("said %q", said)
	}
}

// TestFaultWrongRecord changes what a recorded round measured, in a way that the
// checksums cannot see: running the round again finds it.
func TestFaultWrongRecord(t *testing.T) {
	dir := brokenOff(t, 12)
	names, err := filepath.Glob(filepath.Join(dir, "snapshots", "*"))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		if err := os.Remove(name); err != nil {
			t.Fatal(err)
		}
	}
	from, err := store.Open(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	to, err := store.Open(t.Context(), dir+"-forged")
	if err != nil {
		t.Fatal(err)
	}
	all := []string{
		store.KindStudy, store.KindSession, store.KindSuggest, store.KindReport, store.KindTrial,
		store.KindPlan, store.KindRound, store.KindRung,
	}
	forged := 0
	err = from.Each(t.Context(), func(r store.Row) error {
		if r.Kind == store.KindRound && r.Round == 2 {
			forged++
			r.Data = []byte(strings.Replace(string(r.Data), `"train_loss":`, `"train_loss":1`, 1))
		}
		return to.Append(r.Kind, r.Trial, r.Round, r.Data)
	}, all...)
	if err = errors.Join(err, from.Close(), to.Close()); err != nil || forged < 2 {
		t.Fatal(err, forged)
	}
	if _, _, err := workOn(t.Context(), "small", dir+"-forged", 0); err == nil || !strings.Contains(err.Error(),
		"round 2: repeated from its recorded plan, it measures") {
		t.Errorf("got %v", err)
	}
}
