//go:build !windows && (!unix || solaris || illumos || aix)

package filelock

import (
	"errors"
	"os"
)

func lock(*os.File, bool) (free bool, err error) { return false, errors.ErrUnsupported }
