package bench

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
)

// programDir is the folder of the built program, empty as long as there is none.
var programDir string

// program builds fedfast as it is here, once for all tests.
var program = sync.OnceValues(func() (exe string, err error) {
	if programDir, err = os.MkdirTemp("", "fedfast-bench-"); err != nil {
		return "", err
	}
	exe = filepath.Join(programDir, "fedfast")
	if out, err := exec.Command("go", "build", "-o", exe, "../cmd/fedfast").CombinedOutput(); err != nil {
		return "", fmt.Errorf("%w\n%s", err, out)
	}
	return exe, nil
})

// Program returns the path of fedfast as it is here.
func Program(t *testing.T) string {
	t.Helper()
	exe, err := program()
	if err != nil {
		t.Fatal(err)
	}
	return exe
}

// RemoveProgram removes what was built.
func RemoveProgram() error {
	if programDir == "" {
		return nil
	}
	return os.RemoveAll(programDir)
}
