package wholefile

import (
	"fmt"
	"io"
	"io/fs"

	"github.com/fedfast/fedfast/internal/sys/memory"
	"github.com/fedfast/fedfast/internal/sys/regular"
)

// MostRead bounds the files of Read: records of configurations and results, which have some
// kB, or MB with many trials. A sparse file takes no room on a disk and may say that it has any size.
const MostRead = 256 << 20

// Read returns the content of a regular file of at most MostRead bytes. The error names
// the path; that of one that is not there wraps fs.ErrNotExist.
func Read(path string) ([]byte, error) {
	f, err := regular.Open(path)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }() // it was read only
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if info.Size() > MostRead {
		return nil, &fs.PathError{Op: "read", Path: path, Err: fmt.Errorf("it has %s, must have at most %s", memory.Size(info.Size()), memory.Size(MostRead))}
	}
	return io.ReadAll(io.LimitReader(f, MostRead))
}
