//go:build unix

package host

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
)

// maxLinks bounds the symbolic links on the way to a program.
const maxLinks = 40

// trusted says who but this user and root could change what a path leads to: every
// folder and link on the way counts, those behind links, too. In a folder like
// /tmp, where nobody can replace what is another's, others may write unless the
// program itself lies there.
func trusted(path string) error {
	path, err := filepath.Abs(path)
	if err != nil {
		return err
	}
	links := 0
	at, rest := "/", parts(path)
	for {
		info, err := os.Lstat(at)
		if err != nil {
			return err
		}
		if err := owned(at, info); err != nil {
			return err
		}
		if info.Mode()&fs.ModeSymlink != 0 {
			if links++; links > maxLinks {
				return fmt.Errorf("%s: more than %d symbolic links", path, maxLinks)
			}
			to, err := os.Readlink(at)
			if err != nil {
				return err
			}
			if !filepath.IsAbs(to) {
				to = filepath.Join(filepath.Dir(at), to)
			}
			at, rest = "/", append(parts(to), rest...)
			continue
		}
		sticky := info.IsDir() && info.Mode()&fs.ModeSticky != 0 && len(rest) > 1
		if err := closedTo(at, info, sticky); err != nil {
			return err
		}
		if len(rest) == 0 {
			return nil
		}
		at, rest = filepath.Join(at, rest[0]), rest[1:]
	}
}

// parts splits an absolute path.
func parts(path string) []string {
	return strings.FieldsFunc(filepath.Clean(path), func(r rune) bool { return r == filepath.Separator })
}

// owned says whose a file is when it is neither this user's nor root's.
func owned(path string, info fs.FileInfo) error {
	s, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return errors.New(path + ": unknown owner")
	}
	if s.Uid != 0 && int(s.Uid) != os.Geteuid() {
		return fmt.Errorf("%s belongs to user %d, who could change it; it must belong to you or root", path, s.Uid)
	}
	return nil
}

// closedTo says who else may write. A group that is root's is taken as root.
func closedTo(path string, info fs.FileInfo, sticky bool) error {
	does := "change it"
	if info.IsDir() {
		does = "put programs there"
	}
	s, _ := info.Sys().(*syscall.Stat_t)
	switch mode := info.Mode(); {
	case sticky:
		return nil
	case mode&0o002 != 0:
		return fmt.Errorf("%s is world-writable, so anyone could %s; run chmod o-w on it", path, does)
	case mode&0o020 != 0 && s != nil && s.Gid != 0:
		return fmt.Errorf("%s is group-writable, so group %d could %s; run chmod g-w on it", path, s.Gid, does)
	}
	return nil
}
