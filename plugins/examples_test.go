package plugins_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/fedfast/fedfast/internal/test/goworktest"
	"github.com/fedfast/fedfast/tuners"
	"github.com/fedfast/fedfast/tuners/host"
)

// buildExample compiles a program of examples/ into dir as the external tuner of
// that name, as its author would: when a newer dependency of the root makes the
// example's go.mod stale, `go mod tidy` there is due.
func buildExample(t *testing.T, name, dir string) {
	t.Helper()
	out := filepath.Join(dir, host.Prefix+name)
	if runtime.GOOS == "windows" {
		out += ".exe"
	}
	build := exec.Command("go", "build", "-mod=readonly", "-o", out, ".")
	build.Dir = filepath.Join("examples", name)
	build.Env = append(os.Environ(), goworktest.Env(t, build.Dir))
	if text, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
}

func TestAForeignTunerThroughItsDirectory(t *testing.T) {
	if testing.Short() {
		t.Skip("builds a program")
	}
	dir := t.TempDir()
	buildExample(t, "coordinate", dir)
	t.Setenv("FEDFAST_TUNER_DIR", dir)
	foreign := launch(t, "coordinate", "")
	if ref := foreign.Ref(); ref.Builtin || filepath.Dir(ref.Path) != dir {
		t.Fatalf("launched %s", ref)
	}
	if !foreign.Secure() {
		t.Error("a tuner of the Go SDK is spoken to without TLS")
	}
	budget := tuners.Budget{Rounds: 1200, TrialRounds: 20}
	said, first, best := study(t, foreign, nil, budget)
	again, _, _ := study(t, foreign, nil, budget)
	if said != again {
		t.Error("two sessions with one seed differ")
	}
	lowest := surface(tuners.Params{
		"client.lr": tuners.Num(0.01), "server.lr": tuners.Num(1),
		"client.epochs": tuners.Num(2),
	}, budget.TrialRounds-1)
	if best-lowest > (first-lowest)/2 {
		t.Errorf("60 trials of coordinate search came from %v to %v, not half of the way to %v", first, best, lowest)
	}
	// Under it the built-in client tuner works as under a built-in.
	study(t, foreign, launch(t, "fedex", ""), budget)
}
