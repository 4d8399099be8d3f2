package host

import (
	"bytes"
	"os"
	"path/filepath"
	"strconv"
	"time"
)

// How often what a tuner started is looked for, so that a process that starts
// others meanwhile is caught, and the wait between.
const (
	strayLooks = 40
	strayWait  = 5 * time.Millisecond
)

// killMarked ends the processes that hold a variable in the environment that they
// were started with: what the tuner started and what left its process group with
// setsid. One that emptied its environment first is not found.
func killMarked(variable string) {
	for range strayLooks {
		if !killOnce([]byte(variable)) {
			return
		}
		time.Sleep(strayWait)
	}
}

// killOnce ends those that run now and says whether there were any.
func killOnce(variable []byte) bool {
	found := false
	names, _ := filepath.Glob("/proc/[0-9]*/environ")
	for _, name := range names {
		if !holds(name, variable) {
			continue
		}
		found = true
		pid, err := strconv.Atoi(filepath.Base(filepath.Dir(name)))
		if err != nil {
			continue
		}
		// The number may be another process's by now: once this one is held, its
		// environment is read again.
		if p, err := os.FindProcess(pid); err == nil {
			if holds(name, variable) {
				_ = p.Kill() // it may be gone
			}
			_ = p.Release()
		}
	}
	return found
}

// holds says whether an environment holds a variable. That of other users cannot be
// read, and they cannot be ended.
func holds(name string, variable []byte) bool {
	environ, err := os.ReadFile(name)
	if err != nil {
		return false
	}
	for item := range bytes.SplitSeq(environ, []byte{0}) {
		if bytes.Equal(item, variable) {
			return true
		}
	}
	return false
}
