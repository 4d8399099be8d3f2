package sqlitefile

import (
	"bufio"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/therootcompany/xz"
	"github.com/ulikunitz/xz/lzma"

	"github.com/fedfast/fedfast/internal/sys/filelock"
	"github.com/fedfast/fedfast/internal/sys/memory"
	"github.com/fedfast/fedfast/internal/sys/regular"
)

// xzMagic starts every .xz file; a .lzma file starts with its parameters.
const xzMagic = "\xfd7zXZ\x00"

const (
	// maxDictionary bounds the memory for unpacking. Of xz's own form, which the library
	// that reads the old one reads without a bound, it is what xz -9 uses.
	maxDictionary, maxXZ = 256 << 20, 64 << 20
)

// packed reports whether a file is one to unpack. The old LZMA form has no
// magic, so its name counts.
func packed(path, head string) bool {
	return strings.HasPrefix(head, xzMagic) || strings.HasSuffix(strings.ToLower(path), ".lzma")
}

// unpack returns the path of the unpacked copy of a packed file. The copy's name
// holds the SHA-256 of the packed file and the copy's length: a file that
// changed is another one, a copy cut short does not count. A copy appears under
// its name when it is whole. One process at a time unpacks; what one that was
// killed left is removed by the next.
func unpack(ctx context.Context, path string) (string, error) {
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", fmt.Errorf("%s: no folder to unpack it to: %w; unpack it yourself, as by unxz", path, err)
	}
	cache = filepath.Join(cache, "fedfast", "unpacked")
	in, err := regular.Open(path)
	if err != nil {
		return "", err
	}
	defer func() { _ = in.Close() }() // only read
	sum := sha256.New()
	size, err := io.Copy(sum, stoppable{ctx, in})
	if err != nil {
		return "", fmt.Errorf("%s: %w", path, regular.Cause(err))
	}
	key := hex.EncodeToString(sum.Sum(nil))
	if known := find(cache, key); known != "" {
		return known, nil
	}
	if _, err := in.Seek(0, io.SeekStart); err != nil {
		return "", fmt.Errorf("%s: %w", path, regular.Cause(err))
	}
	if err := os.MkdirAll(cache, 0o755); err != nil {
		return "", fmt.Errorf("%s: no folder to unpack it to: %w; unpack it yourself, as by unxz", path, err)
	}
	unlock, err := alone(ctx, cache)
	if err != nil {
		return "", fmt.Errorf("%s: cannot unpack it: %w", path, err)
	}
	defer unlock()
	if known := find(cache, key); known != "" { // by the process that had the lock
		return known, nil
	}
	out, err := os.CreateTemp(cache, partPattern)
	if err != nil {
		return "", fmt.Errorf("%s: cannot unpack it: %w; unpack it yourself, as by unxz", path, err)
	}
	length, err := expand(out, stoppable{ctx, in}, memory.Most(size))
	if err == nil {
		err = out.Sync()
	}
	err = cmp.Or(err, out.Close()) // the first fault of a disk counts
	whole := filepath.Join(cache, copyName(key, length))
	if err == nil {
		err = os.Rename(out.Name(), whole)
	}
	if err != nil {
		return "", errors.Join(explained(path, err), os.Remove(out.Name()))
	}
	return whole, nil
}

// partPattern is the name of a file that is unpacked to.
const partPattern = "part-*"

// alone waits until no other process unpacks to the cache, and removes what killed
// ones left. Where a file system knows no locks it does neither.
func alone(ctx context.Context, cache string) (unlock func(), err error) {
	f, err := os.OpenFile(filepath.Join(cache, "lock"), os.O_CREATE|os.O_RDWR, 0o644)
	if err != nil {
		return nil, err
	}
	unlock = func() { _ = f.Close() } // it holds nothing
	for {
		free, err := filelock.Try(f)
		switch {
		case err != nil:
			return unlock, nil
		case free:
			left, err := filepath.Glob(filepath.Join(cache, partPattern))
			for _, part := range left {
				err = errors.Join(err, os.Remove(part))
			}
			if err != nil {
				unlock()
				return nil, err
			}
			return unlock, nil
		}
		select {
		case <-ctx.Done():
			unlock()
			return nil, ctx.Err()
		case <-time.After(lockPause):
		}
	}
}

// lockPause is how long to wait before the next look at a lock.
const lockPause = 100 * time.Millisecond

// copyName returns the name of an unpacked copy.
func copyName(key string, length int64) string {
	return key + "-" + strconv.FormatInt(length, 10) + ".sqlite"
}

// find returns the whole unpacked copy of a key, "" if there is none.
func find(cache, key string) string {
	copies, err := os.ReadDir(cache)
	if err != nil {
		return "" // there is no cache yet
	}
	for _, c := range copies {
		info, err := c.Info()
		if err == nil && c.Name() == copyName(key, info.Size()) {
			return filepath.Join(cache, c.Name())
		}
	}
	return ""
}

var (
	errBomb      = errors.New("unpacks to more than a packed file of its size may")
	errNotSQLite = errors.New("what is packed in it is not an SQLite file")
)

// expand unpacks in to out and returns the number of bytes, at most limit.
func expand(out io.Writer, in io.Reader, limit int64) (int64, error) {
	packed := bufio.NewReaderSize(in, 1<<16)
	var unpacked io.Reader
	var err error
	if head, _ := packed.Peek(len(xzMagic)); string(head) == xzMagic {
		unpacked, err = xz.NewReader(packed, maxXZ)
	} else {
		unpacked, err = lzma.ReaderConfig{DictCap: maxDictionary}.NewReader(packed)
	}
	if err != nil {
		return 0, err
	}
	content := bufio.NewReaderSize(io.LimitReader(unpacked, limit+1), 1<<16)
	head, err := content.Peek(len(magic))
	switch {
	case err != nil && !errors.Is(err, io.EOF):
		return 0, err
	case string(head) != magic:
		return 0, errNotSQLite
	}
	n, err := io.Copy(out, content)
	if err == nil && n > limit {
		err = errBomb
	}
	return n, err
}

// explained describes in one line why a file cannot be unpacked.
func explained(path string, err error) error {
	switch {
	case errors.Is(err, errBomb), errors.Is(err, errNotSQLite):
		return fmt.Errorf("%s: %w", path, err)
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded), errors.As(err, new(*os.PathError)), errors.As(err, new(*os.LinkError)):
		return fmt.Errorf("%s: cannot unpack it: %w", path, err)
	case errors.Is(err, xz.ErrMemlimit):
		return fmt.Errorf("%s: unpacking takes more than %s of memory; unpack it yourself, as by unxz", path, memory.Size(maxXZ))
	case errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, xz.ErrBuf), strings.Contains(err.Error(), "unexpected EOF"):
		return fmt.Errorf("%s: the LZMA data end early; is the file complete?", path)
	}
	return fmt.Errorf("%s: the LZMA data are damaged: %w", path, err)
}

// stoppable is a reader that fails when its context is done.
type stoppable struct {
	ctx context.Context
	io.Reader
}

// Read reads bytes.
func (s stoppable) Read(p []byte) (int, error) {
	if err := s.ctx.Err(); err != nil {
		return 0, err
	}
	return s.Reader.Read(p)
}
