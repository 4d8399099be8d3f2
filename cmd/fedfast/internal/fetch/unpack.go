package fetch

import (
	"archive/tar"
	"archive/zip"
	"bufio"
	"compress/bzip2"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/fedfast/fedfast/internal/list"
	"github.com/fedfast/fedfast/internal/sys/oneline"
	"github.com/fedfast/fedfast/internal/sys/wholefile"
)

const (
	// An archive may unpack to slack bytes and maxRatio times its length, so that
	// a small harmful one does not fill the disk.
	maxRatio = 100
	slack    = 64 << 20
	// maxMembers bounds the files and folders in an archive.
	maxMembers = 100_000
)

// unpack unpacks the archive f at path archive and moves what f gives to dir. No
// member can lie outside of a new folder until then, and only plain files and
// folders are made.
func unpack(ctx context.Context, archive, dir string, f *File) (err error) {
	named := func(err error) error { return fmt.Errorf("unpack %s: %w", f.Name, err) }
	temp := filepath.Join(dir, f.Name+".unpacking")
	if err := os.RemoveAll(temp); err != nil { // from a call that was killed
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(temp)) }()
	if err := Unpack(ctx, archive, temp, f.Name); err != nil {
		return named(err)
	}
	for from, to := range f.Renames {
		err := os.Rename(filepath.Join(temp, from), filepath.Join(temp, to))
		if errors.Is(err, os.ErrNotExist) {
			err = wrong("there is no %s in it, only %s", from, names(temp))
		}
		if err != nil {
			return named(err)
		}
	}
	for _, name := range slices.Concat(f.Gives, f.Holds) {
		if _, err := os.Stat(filepath.Join(temp, name)); err != nil {
			return named(wrong("there is no %s in it, only %s", name, names(filepath.Join(temp, path.Dir(name)))))
		}
	}
	// What has its last name is taken as whole, also after a power cut.
	if err := syncBelow(temp); err != nil {
		return named(err)
	}
	for _, name := range f.Gives {
		to := filepath.Join(dir, name)
		if _, err := os.Stat(to); err == nil {
			continue // from an earlier call that was stopped between two of them
		}
		if err := os.Rename(filepath.Join(temp, name), to); err != nil {
			return named(err)
		}
	}
	return wholefile.SyncFolder(dir)
}

// Unpack unpacks an archive to a new folder, as its name says: a zip or wheel, else a tar.
func Unpack(ctx context.Context, archive, dir, name string) error {
	if err := os.Mkdir(dir, 0o755); err != nil {
		return err
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	u := &unpacker{ctx: ctx, root: root, left: slack + maxRatio*size(archive)}
	if ext := filepath.Ext(name); ext == ".zip" || ext == ".whl" {
		err = u.zip(archive)
	} else {
		err = u.tar(archive, name)
	}
	return errors.Join(err, root.Close())
}

// syncBelow syncs a folder and those in it; their files are synced already.
func syncBelow(dir string) error {
	return filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil || !e.IsDir() {
			return err
		}
		return wholefile.SyncFolder(path)
	})
}

// names lists what is in a folder.
func names(dir string) string {
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) == 0 {
		return "nothing"
	}
	list := list.Of(entries, func(e os.DirEntry) string { return e.Name() })
	return oneline.Names(list)
}

// unpacker writes the members of an archive below a folder.
type unpacker struct {
	ctx     context.Context
	root    *os.Root
	left    int64 // bytes that may still be written
	members int
}

// tar unpacks a tar archive packed as its name says.
func (u *unpacker) tar(archive, name string) (err error) {
	file, err := os.Open(archive)
	if err != nil {
		return err
	}
	defer func() { _ = file.Close() }() // only read
	var plain io.Reader
	if strings.HasSuffix(name, ".bz2") {
		plain = bzip2.NewReader(bufio.NewReaderSize(file, 1<<16))
	} else if plain, err = gzip.NewReader(bufio.NewReaderSize(file, 1<<16)); err != nil {
		return damaged(err)
	}
	members := tar.NewReader(plain)
	for {
		h, err := members.Next()
		if errors.Is(err, io.EOF) {
			return u.end(plain)
		}
		if err != nil {
			return damaged(err)
		}
		switch h.Typeflag {
		case tar.TypeDir:
			err = u.folder(h.Name)
		case tar.TypeReg:
			err = u.file(h.Name, members)
		case tar.TypeXGlobalHeader:
		default:
			err = wrong("%.64q is neither a file nor a folder", h.Name)
		}
		if err != nil {
			return err
		}
	}
}

// end reads what follows the last member: the checksum stands at the very end.
func (u *unpacker) end(plain io.Reader) error {
	n, err := io.Copy(io.Discard, io.LimitReader(u.stoppable(plain), u.left+1))
	if err == nil && n > u.left {
		err = errBomb
	}
	return err
}

// zip unpacks a zip archive.
func (u *unpacker) zip(archive string) error {
	z, err := zip.OpenReader(archive)
	if err != nil {
		return damaged(err)
	}
	defer func() { _ = z.Close() }() // only read
	for _, m := range z.File {
		switch mode := m.Mode(); {
		case mode.IsDir():
			err = u.folder(m.Name)
		case mode.IsRegular():
			err = u.zipped(m)
		default:
			err = wrong("%.64q is neither a file nor a folder", m.Name)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (u *unpacker) zipped(m *zip.File) error {
	in, err := m.Open()
	if err != nil {
		return damaged(err)
	}
	return errors.Join(u.file(m.Name, in), in.Close())
}

// local checks the name of a member and returns it in the system's form.
func (u *unpacker) local(name string) (string, error) {
	if u.members++; u.members > maxMembers {
		return "", wrong("holds more than %d files", maxMembers)
	}
	clean := path.Clean(name)
	if strings.ContainsAny(name, "\\\x00") || !filepath.IsLocal(filepath.FromSlash(clean)) {
		return "", wrong("%.64q would lie outside of the folder", name)
	}
	return filepath.FromSlash(clean), nil
}

// folder makes a folder and those above it.
func (u *unpacker) folder(name string) error {
	name, err := u.local(name)
	if err != nil {
		return err
	}
	return u.root.MkdirAll(name, 0o755)
}

// file writes a file, which must be new.
func (u *unpacker) file(name string, content io.Reader) error {
	name, err := u.local(name)
	if err != nil {
		return err
	}
	if err := u.root.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		return err
	}
	out, err := u.root.OpenFile(name, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o644)
	if errors.Is(err, os.ErrExist) {
		return wrong("%.64q is in it twice", name)
	}
	if err != nil {
		return err
	}
	n, err := io.Copy(out, io.LimitReader(u.stoppable(content), u.left+1))
	if u.left -= n; err == nil && u.left < 0 {
		err = errBomb
	}
	return finished(out, err)
}

// stoppable reads the content of an archive until the context is done.
func (u *unpacker) stoppable(content io.Reader) io.Reader {
	return readerFunc(func(p []byte) (int, error) {
		if err := u.ctx.Err(); err != nil {
			return 0, err
		}
		n, err := content.Read(p)
		if err != nil && !errors.Is(err, io.EOF) {
			err = damaged(err)
		}
		return n, err
	})
}

// archiveError is a fault of an archive, not of the disk that it is unpacked to.
type archiveError struct{ error }

// Unwrap returns the fault.
func (e *archiveError) Unwrap() error { return e.error }

// wrong returns a fault of an archive.
func wrong(format string, args ...any) error { return &archiveError{fmt.Errorf(format, args...)} }

var errBomb = wrong("unpacks to far more than any set of data does; it is not one")

// damaged explains an error of unpacking.
func damaged(err error) error {
	switch {
	case errors.As(err, new(*os.PathError)): // of the disk
		return err
	case errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, io.EOF):
		return wrong("the archive ends early")
	}
	return wrong("the archive is damaged: %w", err)
}
