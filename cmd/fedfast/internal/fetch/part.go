package fetch

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
)

// size returns the length of a file, 0 if there is none. What a link leads to is no
// part of a download.
func size(path string) int64 {
	info, err := os.Lstat(path)
	if err != nil || !info.Mode().IsRegular() {
		return 0
	}
	return info.Size()
}

// newFile creates a file instead of what is there. It writes to nothing that a
// link leads to.
func newFile(path string) (*os.File, error) {
	if err := os.Remove(path); err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, err
	}
	return os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o644)
}

// openPart opens the part of a download to append to its first keep bytes.
func openPart(path string, keep int64) (*os.File, error) {
	if keep == 0 {
		return newFile(path)
	}
	f, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		return nil, err
	}
	if err := appendable(f, path, keep); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

// appendable makes an open file one to append to keep bytes, unless the path leads
// to a link.
func appendable(f *os.File, path string, keep int64) error {
	is, err := f.Stat()
	if err != nil {
		return err
	}
	named, err := os.Lstat(path)
	if err != nil {
		return err
	}
	if !named.Mode().IsRegular() || !os.SameFile(is, named) {
		return fmt.Errorf("%s: is no plain file; delete it", path)
	}
	if err := f.Truncate(keep); err != nil {
		return err
	}
	_, err = f.Seek(keep, io.SeekStart)
	return err
}

// finished closes a file that was written to, with what err says of it so far: the
// first fault of a disk counts, not all that follow from it.
func finished(f *os.File, err error) error {
	if err == nil {
		err = f.Sync()
	}
	return cmp.Or(err, f.Close())
}

// remember writes beside a part where it comes from.
func remember(part, url string, h http.Header) error {
	tag := h.Get("ETag")
	if tag == "" || strings.HasPrefix(tag, "W/") {
		tag = h.Get("Last-Modified")
	}
	f, err := newFile(note(part))
	if err != nil {
		return err
	}
	_, err = f.WriteString(url + "\n" + tag + "\n")
	return finished(f, err)
}

// recalled returns what remember wrote.
func recalled(part string) (url, tag string) {
	content, err := os.ReadFile(note(part))
	if err != nil {
		return "", ""
	}
	url, rest, _ := strings.Cut(string(content), "\n")
	tag, _, _ = strings.Cut(rest, "\n")
	return url, tag
}

// forget removes what remember wrote, if it did.
func forget(part string) error {
	if err := os.Remove(note(part)); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	return nil
}

// note returns the name of the file of remember.
func note(part string) string { return part + ".from" }
