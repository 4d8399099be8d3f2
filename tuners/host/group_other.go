//go:build !unix

package host

import (
	"os"
	"os/exec"
)

// ownGroup does nothing: there are no process groups here, and tuners watch their
// stdin.
func ownGroup(*exec.Cmd, bool) {}

// killGroup ends a process.
func killGroup(p *os.Process) {
	_ = p.Kill() // it may be gone
}
