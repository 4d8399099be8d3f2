package store

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/fedfast/fedfast/internal/sys/filelock"
	"github.com/fedfast/fedfast/internal/sys/regular"
)

// lockFile names the file that a working process holds locked. It stays behind;
// the lock ends with the process.
const lockFile = "study.lock"

// BusyError says that another process works on the study.
type BusyError struct {
	// Dir is the study's directory.
	Dir string
	// PID is the other process, 0 when it has not written its number yet.
	PID int
}

// Error names the process.
func (e *BusyError) Error() string {
	return fmt.Sprintf("%s: process %d works on this study; wait for it or end it", e.Dir, e.PID)
}

// takeLock locks a study's directory for this process. A lock that a killed
// process left is taken over: the system has released it.
func takeLock(dir string) (*os.File, error) {
	path := filepath.Join(dir, lockFile)
	if err := regular.Check(path); err != nil {
		return nil, err
	}
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o644)
	if err != nil {
		return nil, err
	}
	free, err := locked(filelock.Try(f))
	for range 5 {
		if free || err != nil {
			break
		}
		time.Sleep(20 * time.Millisecond) // somebody who only looks holds it for a moment
		free, err = locked(filelock.Try(f))
	}
	if err == nil && !free {
		err = &BusyError{Dir: dir, PID: readPID(f)}
	}
	if err == nil {
		err = writePID(f)
	}
	if err != nil {
		_ = f.Close() // the first error stands
		return nil, err
	}
	return f, nil
}

// locked is what filelock says of a file, which a system without locks takes for free.
func locked(free bool, err error) (bool, error) {
	if errors.Is(err, errors.ErrUnsupported) {
		return true, nil
	}
	return free, err
}

func readPID(f *os.File) int {
	text, _ := io.ReadAll(io.NewSectionReader(f, 0, 32)) // a number is a help, not a need
	pid, _ := strconv.Atoi(strings.TrimSpace(string(text)))
	return pid
}

func writePID(f *os.File) error {
	if err := f.Truncate(0); err != nil {
		return err
	}
	_, err := f.WriteAt([]byte(strconv.Itoa(os.Getpid())+"\n"), 0)
	return err
}
