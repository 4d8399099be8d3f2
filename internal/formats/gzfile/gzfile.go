// Package gzfile reads files that may be compressed by gzip or Zstandard.
package gzfile

import (
	"bufio"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"strings"

	"github.com/klauspost/compress/zstd"

	"github.com/fedfast/fedfast/internal/sys/memory"
	"github.com/fedfast/fedfast/internal/sys/regular"
)

// bufferSize is large enough that the system is asked seldom.
const bufferSize = 1 << 16

// maxWindow bounds the memory of Zstandard's decoder; zstd --long=27 needs as much.
const maxWindow = 1 << 27

// File is an open file, unpacked while it is read: to no more than memory.Most of its
// size. Errors of Read name the file.
type File struct {
	io.Reader
	// Budget is for what is made of the content.
	Budget *memory.Budget

	path   string
	file   *os.File
	left   int64         // unpacked bytes that may still come; negative is too many
	size   int64         // of the file
	packed string        // gzip or Zstandard, empty for other files
	zstd   *zstd.Decoder // nil for other files
}

// Open opens a file for reading. A file that starts as gzip or Zstandard do is unpacked,
// whatever its name. Its errors name the file.
func Open(path string) (*File, error) {
	f, err := regular.Open(path)
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	if info.Size() == 0 {
		return nil, errors.Join(fmt.Errorf("%s: the file is empty", path), f.Close())
	}
	in := bufio.NewReaderSize(f, bufferSize)
	opened := &File{Reader: in, Budget: memory.NewBudget(info.Size()), path: path, file: f, left: math.MaxInt64, size: info.Size()}
	switch head, _ := in.Peek(4); {
	case string(head) == "\x28\xb5\x2f\xfd":
		opened.zstd, err = zstd.NewReader(in, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxWindow(maxWindow))
		if err != nil {
			return nil, errors.Join(opened.named(err), f.Close())
		}
		opened.Reader, opened.left, opened.packed = opened.zstd, memory.Most(opened.size), "Zstandard"
		return opened, nil
	case !strings.HasPrefix(string(head), "\x1f\x8b"):
		return opened, nil
	}
	opened.packed = "gzip"
	unpacked, err := gzip.NewReader(in)
	if err != nil {
		return nil, errors.Join(opened.named(err), f.Close())
	}
	opened.Reader, opened.left = unpacked, memory.Most(opened.size)
	return opened, nil
}

// Read reads unpacked bytes.
func (f *File) Read(p []byte) (int, error) {
	n, err := f.Reader.Read(p)
	if f.left -= int64(n); f.left < 0 {
		most := memory.Most(f.size)
		return 0, fmt.Errorf("%s: unpacks to more than %s, the most for a %s file of %s", f.path, memory.Size(most), f.packed, memory.Size(f.size))
	}
	return n, f.named(err)
}

// Most returns how many bytes the whole content has at most.
func (f *File) Most() int64 {
	if f.packed != "" {
		return memory.Most(f.size)
	}
	return f.size
}

// named puts the file's name in front of an error other than io.EOF.
func (f *File) named(err error) error {
	switch {
	case err == nil || errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF):
		return err
	case errors.Is(err, io.ErrUnexpectedEOF):
		return fmt.Errorf("%s: the %s data end early; is the file complete?", f.path, f.packed)
	case errors.As(err, new(*fs.PathError)): // has the name
		return err
	case errors.Is(err, gzip.ErrChecksum), errors.Is(err, gzip.ErrHeader):
		return fmt.Errorf("%s: the gzip data are damaged: %w", f.path, err)
	}
	return fmt.Errorf("%s: %w", f.path, err)
}

// Close closes the file.
func (f *File) Close() error {
	if f.zstd != nil {
		f.zstd.Close()
	}
	return f.file.Close()
}

// ReadAll returns the unpacked content of a file.
func ReadAll(path string) (content []byte, err error) {
	f, err := Open(path)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	room := int64(bufferSize)
	if f.packed == "" {
		room = f.size + 1 // one more, or it grows to see the end
	}
	return f.Rest(room)
}

// Rest returns all that has not been read yet. It grows with what is there: from room
// for about as many bytes as room says, and never beyond what memory there is.
func (f *File) Rest(room int64) (content []byte, err error) {
	if err := memory.Check(room); err != nil {
		return nil, fmt.Errorf("%s: %w", f.path, err)
	}
	content = make([]byte, 0, room)
	for {
		if len(content) == cap(content) {
			if content, err = grown(content); err != nil {
				return nil, fmt.Errorf("%s: %w", f.path, err)
			}
		}
		n, err := f.Read(content[len(content):cap(content)])
		content = content[:len(content)+n]
		if errors.Is(err, io.EOF) {
			return content, nil
		}
		if err != nil {
			return nil, err
		}
	}
}

// grown returns content with half as much room again, if there is memory.
func grown(content []byte) ([]byte, error) {
	more := max(bufferSize, cap(content)/2)
	if err := memory.Check(int64(cap(content) + more)); err != nil {
		return nil, fmt.Errorf("what is packed in it %w", err)
	}
	return append(make([]byte, 0, cap(content)+more), content...), nil
}

// Find returns the first of the names that exists in a folder, plain or with
// .gz added. The error lists the names.
func Find(dir string, names ...string) (string, error) {
	for _, name := range names {
		for _, suffix := range []string{"", ".gz"} {
			path := filepath.Join(dir, name+suffix)
			if info, err := os.Stat(path); err == nil && info.Mode().IsRegular() {
				return path, nil
			}
		}
	}
	info, err := os.Stat(dir)
	if err != nil {
		return "", err
	}
	if !info.IsDir() {
		return "", fmt.Errorf("%s: is no folder, must be one with %s, plain or .gz", dir, strings.Join(names, " or "))
	}
	return "", fmt.Errorf("%s: no file %s, plain or .gz", dir, strings.Join(names, " or "))
}
