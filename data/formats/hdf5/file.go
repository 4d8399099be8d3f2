// Package hdf5 reads the part of HDF5 that TensorFlow Federated's older files
// use, as h5py writes it by default: superblocks of versions 0 to 3, object
// headers of version 1, groups by symbol tables, data sets of integers, floats
// and texts, in one piece or in chunks, packed by deflate and shuffle.
// (The HDF Group, HDF5 File Format Specification Version 3.0)
package hdf5

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/fedfast/fedfast/data/sys/memory"
	"github.com/fedfast/fedfast/data/sys/regular"
)

// signature starts every HDF5 file.
const signature = "\x89HDF\r\n\x1a\n"

// undefined is the address of what is not there.
const undefined = 1<<64 - 1

const (
	// maxDataset bounds the bytes of one data set.
	maxDataset = 1 << 30
)

// File is an open HDF5 file. It is read by one goroutine.
type File struct {
	path string
	in   io.ReaderAt
	file *os.File
	size int64
	root uint64
	// budget is for the bytes that are read and unpacked.
	budget *memory.Budget
	// nodes counts the nodes of trees that may still be read: damaged trees may
	// be circles.
	nodes int64
}

// Open opens a file. Its errors name the file.
func Open(path string) (*File, error) {
	file, err := regular.Open(path)
	if err != nil {
		return nil, err
	}
	info, err := file.Stat()
	if err != nil {
		return nil, errors.Join(err, file.Close())
	}
	f, err := newFile(file, info.Size())
	if err != nil {
		return nil, errors.Join(fmt.Errorf("%s: %w", path, err), file.Close())
	}
	f.path, f.file = path, file
	return f, nil
}

// newFile reads the superblock.
func newFile(in io.ReaderAt, size int64) (*File, error) {
	f := &File{in: in, size: size, budget: memory.NewBudget(size), nodes: 16 + size/16}
	if size == 0 {
		return nil, errors.New("the file is empty")
	}
	head, err := f.bytes(0, 9)
	if err != nil || string(head[:8]) != signature {
		return nil, errors.New("not an HDF5 file")
	}
	switch version := head[8]; version {
	case 0, 1:
		if head, err = f.bytes(8, 16); err != nil {
			return nil, err
		}
		if err := f.eights(head[5], head[6]); err != nil {
			return nil, err
		}
		at := uint64(24)
		if version == 1 {
			at = 28
		}
		rest, err := f.bytes(at, 48) // base, free space, end, driver; name and header of the root
		if err != nil {
			return nil, err
		}
		return f, f.place(number(rest[0:]), number(rest[16:]), number(rest[40:]))
	case 2, 3:
		if head, err = f.bytes(8, 40); err != nil {
			return nil, err
		}
		if err := f.eights(head[1], head[2]); err != nil {
			return nil, err
		}
		return f, f.place(number(head[4:]), number(head[20:]), number(head[28:]))
	default:
		return nil, fmt.Errorf("superblock of version %d, must be 0 to 3", version)
	}
}

// eights checks the sizes of addresses and lengths.
func (f *File) eights(offset, length byte) error {
	if offset != 8 || length != 8 {
		return fmt.Errorf("addresses of %d and lengths of %d bytes, must be 8", offset, length)
	}
	return nil
}

// place checks where the file begins and ends and keeps the root's address.
func (f *File) place(base, end, root uint64) error {
	switch {
	case base != 0:
		return fmt.Errorf("begins at byte %d, must at 0", base)
	case end > uint64(f.size):
		return fmt.Errorf("has %d bytes, says that it has %d; is the file complete?", f.size, end)
	}
	f.root = root
	return nil
}

// Close closes the file.
func (f *File) Close() error { return f.file.Close() }

// bytes reads n bytes at an address.
func (f *File) bytes(at uint64, n int64) ([]byte, error) {
	if n < 0 || at > uint64(f.size) || n > f.size-int64(at) {
		return nil, fmt.Errorf("%d bytes at %d are beyond the end; is the file complete?", n, at)
	}
	if err := f.budget.Take(n); err != nil {
		return nil, err
	}
	b := make([]byte, n)
	if _, err := f.in.ReadAt(b, int64(at)); err != nil {
		return nil, regular.Cause(err)
	}
	return b, nil
}

// signed reads n bytes at an address that start with a signature.
func (f *File) signed(at uint64, n int64, sign string) ([]byte, error) {
	b, err := f.bytes(at, n)
	if err != nil {
		return nil, err
	}
	if string(b[:len(sign)]) != sign {
		return nil, fmt.Errorf("no %s at %d: the file is damaged", sign, at)
	}
	return b, nil
}

// visit counts a node of a tree.
func (f *File) visit() error {
	if f.nodes--; f.nodes < 0 {
		return errors.New("a tree has more nodes than the file has room for: the file is damaged")
	}
	return nil
}

// number reads 8 bytes.
func number(b []byte) uint64 { return binary.LittleEndian.Uint64(b) }
