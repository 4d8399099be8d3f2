package host

import (
	"os"
	"os/exec"
	"syscall"
)

// ownGroup puts the command into a process group of its own; with deathSignal the
// system kills it when this process ends.
func ownGroup(cmd *exec.Cmd, deathSignal bool) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if deathSignal {
		cmd.SysProcAttr.Pdeathsig = syscall.SIGKILL
	}
}

// killGroup ends a process and what belongs to its group.
func killGroup(p *os.Process) {
	_ = syscall.Kill(-p.Pid, syscall.SIGKILL) // it may be gone
}
