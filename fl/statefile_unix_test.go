//go:build unix

package fl

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"testing"
)

// stateHelper makes the test below keep states in a file until it is killed.
const stateHelper = "FEDFAST_TEST_STATES"

// TestKilledStates: a process that is killed while clients' states are in a file
// leaves nothing in the temporary folder.
func TestKilledStates(t *testing.T) {
	if os.Getenv(stateHelper) != "" {
		s := newStore(1000, 1) // of which none fits in memory
		b, err := s.write(make([]float32, 1000))
		if err == nil {
			err = s.read(make([]float32, 1000), b)
		}
		fmt.Println(b.values == nil, err)
		select {}
	}
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	temp := t.TempDir()
	cmd := exec.CommandContext(t.Context(), program, "-test.run=^TestKilledStates$")
	cmd.Env = append(os.Environ(), stateHelper+"=1", "TMPDIR="+temp)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil || line != "true <nil>\n" {
		t.Errorf("the other process printed %q, %v", line, err)
	}
	_ = cmd.Process.Kill() // what it left is seen below
	_ = cmd.Wait()
	left, err := os.ReadDir(temp)
	if err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}
