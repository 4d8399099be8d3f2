//go:build !unix

package progress

import "os"

// resizes is empty where no signal tells of a terminal's new width: the next
// drawing reads it.
var resizes []os.Signal
