//go:build unix

package conformance

import (
	"fmt"
	"os"
	"strings"
	"syscall"
)

// canStop says that processes can be stopped and watched.
const canStop = true

// stop lets a process stand still; it may be gone.
func stop(pid int) { _ = syscall.Kill(pid, syscall.SIGSTOP) }

// runs says whether a process is alive: one that has ended but was not collected,
// as where no init does it, is not.
func runs(pid int) bool {
	if syscall.Kill(pid, 0) != nil {
		return false
	}
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	return err != nil || !strings.Contains(string(stat), ") Z ")
}
