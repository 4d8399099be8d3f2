// Package fetch brings datasets from their public places to a folder: it
// resumes a download that broke, checks lengths and checksums, unpacks
// archives, and shows a file under its name only when it is whole.
package fetch

import (
	"cmp"
	"context"
	"crypto/md5" //nolint:gosec // what the sets' authors publish; it guards against damage
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/fedfast/fedfast/internal/list"
	"github.com/fedfast/fedfast/internal/sys/filelock"
	"github.com/fedfast/fedfast/internal/sys/regular"
	"github.com/fedfast/fedfast/internal/sys/wholefile"
)

// Options say where a set comes from and goes to. The zero value of a field is
// its default.
type Options struct {
	// Dir is the folder to fill; it is made if need be.
	Dir string
	// From is a folder that holds the files as they are to be downloaded. With
	// it nothing is asked of the network.
	From string
	// Mirror is an address to try first: a file's name is added to it.
	Mirror string
	// Client asks the servers; nil is one without a limit on the whole time.
	Client *http.Client
	// Stall is how long a server may send nothing; 0 means 30 s.
	Stall time.Duration
	// Tries is how often in a row a place may fail without a byte more; 0 means 4.
	Tries int
	// Pause is the wait after the first failure, doubled after each; 0 means 1 s.
	Pause time.Duration
	// Progress, if not nil, receives how much of a file is there; of is 0 where
	// its length is not known.
	Progress func(file string, bytes, of int64)
	// Note, if not nil, receives notes for the user, one line at a time.
	Note func(line string)
}

func (o Options) defaults() Options {
	if o.Client == nil {
		transport := http.DefaultTransport.(*http.Transport).Clone()
		transport.DisableCompression = true // lengths and ranges belong to the file
		transport.ResponseHeaderTimeout = time.Minute
		o.Client = &http.Client{Transport: transport}
	}
	client := *o.Client
	client.CheckRedirect = redirect
	o.Client = &client
	o.Stall = cmp.Or(o.Stall, 30*time.Second)
	o.Tries = cmp.Or(o.Tries, 4)
	o.Pause = cmp.Or(o.Pause, time.Second)
	if o.Progress == nil {
		o.Progress = func(string, int64, int64) {}
	}
	if o.Note == nil {
		o.Note = func(string) {}
	}
	return o
}

// redirect allows a server to send on to another place, but not from one that
// nobody can listen in on to one where everybody can change what is sent.
func redirect(req *http.Request, via []*http.Request) error {
	switch last := via[len(via)-1]; {
	case len(via) >= 10:
		return fmt.Errorf("sent on %d times: %w", len(via), errPlace)
	case req.URL.Scheme != "https" && req.URL.Scheme != "http":
		return fmt.Errorf("sent on to %s, which is not a web address: %w", req.URL, errPlace)
	case last.URL.Scheme == "https" && req.URL.Scheme != "https":
		return fmt.Errorf("sent on from https to %s: %w", req.URL, errPlace)
	}
	return nil
}

// Fetch brings the files of a set to o.Dir and returns the paths of what they
// hold. What is there already stays as it is. An error is one line; what was
// downloaded until then stays as NAME.part, and the next call goes on from there.
func Fetch(ctx context.Context, s *Set, o Options) ([]string, error) {
	o = o.defaults()
	if err := os.MkdirAll(o.Dir, 0o755); err != nil {
		return nil, err
	}
	unlock, err := lock(o.Dir)
	if err != nil {
		return nil, err
	}
	defer unlock()
	var have []string
	for i := range s.Files {
		f := &s.Files[i]
		if err := o.file(ctx, f); err != nil {
			return nil, fmt.Errorf("fetch %s: %w", s.Name, err)
		}
		have = append(have, list.Of(f.gives(), func(name string) string { return filepath.Join(o.Dir, name) })...)
	}
	return have, nil
}

// file brings one file.
func (o *Options) file(ctx context.Context, f *File) error {
	if f.present(o.Dir) {
		o.Note(strings.Join(f.gives(), ", ") + ": already there")
		return nil
	}
	path := filepath.Join(o.Dir, f.Name+".part")
	for {
		earlier := o.From == "" && size(path) > 0
		if err := o.brought(ctx, f, path); err != nil {
			return err
		}
		if !f.packed() {
			return errors.Join(os.Rename(path, filepath.Join(o.Dir, f.Name)), wholefile.SyncFolder(o.Dir), forget(path))
		}
		err := unpack(ctx, path, o.Dir, f)
		if err != nil && !errors.As(err, new(*archiveError)) {
			return err // of the disk: the archive stays
		}
		if removed := errors.Join(os.Remove(path), forget(path)); err == nil || removed != nil || !earlier {
			return errors.Join(err, removed)
		}
		o.Note(fmt.Sprintf("%v; part of it was from an earlier download, which begins again", err))
	}
}

// brought copies or downloads the whole of a file to path.
func (o *Options) brought(ctx context.Context, f *File, path string) error {
	if o.From != "" {
		return o.copied(ctx, f, path)
	}
	return o.downloaded(ctx, f, path)
}

// copied copies the file from the folder o.From to path and checks it.
func (o *Options) copied(ctx context.Context, f *File, path string) (err error) {
	from := filepath.Join(o.From, f.Name)
	in, err := regular.Open(from)
	if err != nil {
		return fmt.Errorf("--from: %w", err)
	}
	defer func() { _ = in.Close() }() // only read
	info, err := in.Stat()
	if err != nil {
		return err
	}
	if err := forget(path); err != nil {
		return err
	}
	out, err := newFile(path)
	if err != nil {
		return err
	}
	copied := int64(0)
	_, err = io.Copy(out, readerFunc(func(p []byte) (int, error) {
		if err := ctx.Err(); err != nil {
			return 0, err
		}
		n, err := in.Read(p)
		copied += int64(n)
		o.Progress(f.Name, copied, info.Size())
		return n, err
	}))
	if err := finished(out, err); err != nil {
		return errors.Join(err, os.Remove(path))
	}
	if err := o.verify(ctx, f, path); err != nil {
		return errors.Join(fmt.Errorf("%s: %w", from, err), os.Remove(path))
	}
	return nil
}

// readerFunc is a function that reads.
type readerFunc func(p []byte) (int, error)

// Read calls the function.
func (f readerFunc) Read(p []byte) (int, error) { return f(p) }

// errWrong marks content that is not the file's.
var errWrong = errors.New("not the requested file")

// verify checks the content of the file f that is at path. What differs from a
// hint is noted only.
func (o *Options) verify(ctx context.Context, f *File, path string) error {
	in, err := os.Open(path)
	if err != nil {
		return err
	}
	defer func() { _ = in.Close() }() // only read
	head := make([]byte, len(f.magic()))
	if _, err := io.ReadFull(in, head); err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
		return err
	}
	if string(head) != f.magic() {
		return fmt.Errorf("the content starts with %q, as no %s file does: %w", head, f.Name[strings.LastIndexByte(f.Name, '.'):], errWrong)
	}
	if _, err := in.Seek(0, io.SeekStart); err != nil {
		return err
	}
	sha, md := sha256.New(), md5.New() //nolint:gosec // as above
	size, err := io.Copy(io.MultiWriter(sha, md), readerFunc(func(p []byte) (int, error) {
		if err := ctx.Err(); err != nil {
			return 0, err
		}
		return in.Read(p)
	}))
	if err != nil {
		return err
	}
	shaText := hex.EncodeToString(sha.Sum(nil))
	var wrong string
	switch mdText := hex.EncodeToString(md.Sum(nil)); {
	case f.Size > 0 && size != f.Size:
		wrong = fmt.Sprintf("has %d bytes, must have %d", size, f.Size)
	case f.SHA256 != "" && shaText != f.SHA256:
		wrong = fmt.Sprintf("SHA-256 is %s, must be %s", shaText, f.SHA256)
	case f.MD5 != "" && mdText != f.MD5:
		wrong = fmt.Sprintf("MD5 is %s, must be %s", mdText, f.MD5)
	}
	switch {
	case wrong != "" && f.Hint:
		o.Note(fmt.Sprintf("%s: %s, by a third party's word: check it", f.Name, wrong))
	case wrong != "":
		return fmt.Errorf("%s: %w", wrong, errWrong)
	case f.SHA256 == "" && f.MD5 == "":
		o.Note(fmt.Sprintf("%s: no checksum is known; it has %d bytes and SHA-256 %s", f.Name, size, shaText))
	}
	return nil
}

// lock keeps other processes from fetching into the same folder until unlock is
// called or the process ends. Systems that know no locks on folders have none.
func lock(dir string) (unlock func(), err error) {
	f, err := os.Open(dir)
	if err != nil {
		return nil, err
	}
	if free, err := filelock.Try(f); err == nil && !free {
		return nil, errors.Join(fmt.Errorf("%s: another process is fetching into this folder", dir), f.Close())
	}
	return func() { _ = f.Close() }, nil // only read
}
