// Package powercut is for tests: it finds out what may be on the disk of a program
// whose machine loses its power.
//
// The program runs once under strace. What it did to files is then played again,
// call by call, on a model of a file system that promises no more than POSIX does:
// what was written is on the disk once the file was synced, and a name, made,
// changed or removed, once its folder was. After each call the model tells what a
// power cut may leave: names with and without what was not synced, in the order in
// which they were changed or all but those of one folder; contents without it, with
// zeros in its place, torn, out of order, or whole.
//
// Writes through mapped memory are not seen: such a file holds what was written
// otherwise.
package powercut

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// ErrUnavailable is wrapped by the error of Trace where no program can be traced.
var ErrUnavailable = errors.New("strace cannot trace programs here")

// calls are those that change files or say which file another call changes.
const calls = "open,creat,openat,close,dup,dup2,dup3,fcntl,lseek,write,pwrite64,writev,pwritev,pwritev2," +
	"ftruncate,truncate,fallocate,copy_file_range,sendfile,fsync,fdatasync," +
	"rename,renameat,renameat2,unlink,unlinkat,rmdir,mkdir,mkdirat,link,linkat,symlink,symlinkat"

// Log is what a program did to the files below a folder.
type Log struct{ steps []step }

// Trace runs a program, one process, and logs what it does below root, an empty
// folder whose path has no links in it. A program that fails is an error with what
// it wrote.
func Trace(root, program string, arguments, environment []string) (*Log, error) {
	strace, err := exec.LookPath("strace")
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrUnavailable, err)
	}
	if err := exec.Command(strace, "-f", "-o", os.DevNull, strace, "-V").Run(); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrUnavailable, err)
	}
	folder, err := os.MkdirTemp("", "powercut-")
	if err != nil {
		return nil, err
	}
	defer func() { _ = os.RemoveAll(folder) }() // it is for this call only
	name := filepath.Join(folder, "log")
	// Long strings in hexadecimal digits; calls that a processor does not have may
	// be named.
	options := []string{"-f", "--seccomp-bpf", "-xx", "-s", "1000000000", "-e", "trace=?" + strings.ReplaceAll(calls, ",",
		",?"), "-o", name, program}
	run := exec.Command(strace, append(options, arguments...)...)
	var said bytes.Buffer
	run.Env, run.Stdout, run.Stderr = environment, &said, &said
	if err := run.Run(); err != nil {
		return nil, fmt.Errorf("%s: %w\n%s", program, err, said.String())
	}
	text, err := os.ReadFile(name)
	if err != nil {
		return nil, err
	}
	r := &reader{root: filepath.Clean(root), open: map[int]*handle{}, now: newDisk()}
	if err := r.read(string(text)); err != nil {
		return nil, err
	}
	return &Log{r.steps}, nil
}
