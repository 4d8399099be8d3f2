// Package regular opens files that are regular ones only. A named pipe, a device or a
// socket may wait for ever, or have no end.
package regular

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
)

// Open opens a file for reading. The error names the path, and what is there if it
// is no regular file.
func Open(path string) (*os.File, error) {
	info, err := os.Stat(path) // first: opening a pipe waits for who writes
	if err != nil {
		return nil, &fs.PathError{Op: "open", Path: path, Err: Cause(err)}
	}
	if err := check(path, info); err != nil {
		return nil, err
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	if info, err = f.Stat(); err == nil {
		err = check(path, info) // it may have been replaced
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

// Check returns an error if something lies at a path that is no regular file. What
// is not there is in order.
func Check(path string) error {
	info, err := os.Stat(path)
	if err != nil {
		return nil //nolint:nilerr // who opens it tells
	}
	return check(path, info)
}

// check returns an error unless info is of a regular file. of a regular file.
func check(path string, info fs.FileInfo) error {
	if info.Mode().IsRegular() {
		return nil
	}
	return fmt.Errorf("%s: is %s, must be a regular file", path, kind(info.Mode()))
}

// Cause returns what the system says without the path, for who names the path
// itself.
func Cause(err error) error {
	if named, ok := errors.AsType[*fs.PathError](err); ok {
		return named.Err
	}
	return err
}

// kind tells what is no regular file.
func kind(mode fs.FileMode) string {
	switch {
	case mode.IsDir():
		return "a folder"
	case mode&fs.ModeNamedPipe != 0:
		return "a named pipe"
	case mode&fs.ModeSocket != 0:
		return "a socket"
	case mode&fs.ModeDevice != 0:
		return "a device"
	}
	return "neither a file nor a folder"
}

// IsFile reports whether there is a regular file at a path.
func IsFile(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular()
}

// IsFolder reports whether there is a folder at a path.
func IsFolder(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}
