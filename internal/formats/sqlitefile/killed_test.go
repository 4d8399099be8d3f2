package sqlitefile_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/fedfast/fedfast/internal/formats/sqlitefile"
	"github.com/fedfast/fedfast/internal/test/tfftest"
)

// helperFile names the file that the test below has another process unpack.
const helperFile = "FEDFAST_TEST_UNPACK"

// TestKilled: a process that is killed while it unpacks leaves a part, which the
// next one removes.
func TestKilled(t *testing.T) {
	if path := os.Getenv(helperFile); path != "" {
		_, _ = sqlitefile.Open(t.Context(), path) // it is killed meanwhile
		return
	}
	long := filepath.Join(t.TempDir(), "long")
	if err := os.WriteFile(long, []byte("SQLite format 3\x00"+strings.Repeat("\x00", 16<<20)), 0o600); err != nil {
		t.Fatal(err)
	}
	other := tfftest.Pack(t, numbers(t))
	packed := tfftest.Pack(t, long) // in a new cache folder
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), program, "-test.run=^TestKilled$")
	cmd.Env = append(os.Environ(), helperFile+"="+packed)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	for i := 0; len(copies(t)) == 0 && i < 30_000; i++ {
		time.Sleep(time.Millisecond)
	}
	_ = cmd.Process.Kill() // what it did is seen below
	_ = cmd.Wait()
	if left := copies(t); len(left) != 1 || !strings.HasPrefix(filepath.Base(left[0]), "part-") {
		t.Fatalf("the killed process left %v, must be a part", left)
	}
	if sum, err := total(t, other); err != nil || sum != 2001000 {
		t.Fatalf("sum %d, %v", sum, err)
	}
	for _, path := range copies(t) {
		if strings.HasPrefix(filepath.Base(path), "part-") {
			t.Errorf("%s is still there", path)
		}
	}
}
