//go:build unix && !linux

package host

import (
	"os"
	"os/exec"
	"syscall"
)

// ownGroup puts the command into a process group of its own. There is no
// parent-death signal here: tuners watch their stdin.
func ownGroup(cmd *exec.Cmd, _ bool) { cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} }

// killGroup ends a process and what belongs to its group.
func killGroup(p *os.Process) {
	_ = syscall.Kill(-p.Pid, syscall.SIGKILL) // it may be gone
}
