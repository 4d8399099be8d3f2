//go:build unix

package progress

import (
	"os"
	"syscall"
)

// resizes are the signals that tell of a terminal's new width.
var resizes = []os.Signal{syscall.SIGWINCH}
