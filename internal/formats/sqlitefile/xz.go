package sqlitefile

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"hash"
	"hash/crc32"
	"hash/crc64"
	"io"
	"slices"

	"github.com/ulikunitz/xz/lzma"

	"github.com/fedfast/fedfast/internal/sys/memory"
)

// xzReader unpacks a file in xz's format. The library for it makes room for whatever
// each block says of its dictionary, up to 4 GB; here dictionaries are bounded.
// Filters other than LZMA2 alone are not read.
// (The .xz File Format, version 1.2.1)
type xzReader struct {
	in    *counted
	most  int64 // bytes of a dictionary that can be of use
	left  int64 // bytes that dictionaries may still take
	check byte  // how a stream checks its blocks
	block io.Reader
	sum   hash.Hash // of the block; nil without
	begin int64     // of the block's packed bytes
	begun bool      // a stream
}

var errXZ = errors.New("no stream of xz")

// counted counts the bytes that are read.
type counted struct {
	in *bufio.Reader
	n  int64
}

// Read reads bytes.
func (c *counted) Read(p []byte) (int, error) {
	n, err := c.in.Read(p)
	c.n += int64(n)
	return n, err
}

// ReadByte reads a byte.
func (c *counted) ReadByte() (byte, error) {
	b, err := c.in.ReadByte()
	if err == nil {
		c.n++
	}
	return b, err
}

// bytes reads n bytes that must be there.
func (c *counted) bytes(n int) ([]byte, error) {
	b := make([]byte, n)
	_, err := io.ReadFull(c, b)
	if errors.Is(err, io.EOF) {
		err = io.ErrUnexpectedEOF
	}
	return b, err
}

// Read reads unpacked bytes.
func (x *xzReader) Read(p []byte) (int, error) {
	for {
		if x.block == nil {
			if err := x.next(); err != nil {
				return 0, err
			}
		}
		n, err := x.block.Read(p)
		if x.sum != nil {
			_, _ = x.sum.Write(p[:n]) // never fails
		}
		if errors.Is(err, io.EOF) {
			x.block = nil
			err = x.end()
		}
		if n > 0 || err != nil {
			return n, err
		}
	}
}

// next begins the next block, of the next stream if need be.
func (x *xzReader) next() error {
	for {
		if !x.begun {
			if err := x.stream(); err != nil {
				return err
			}
		}
		first, err := x.in.ReadByte()
		if err != nil {
			return io.ErrUnexpectedEOF
		}
		if first != 0 {
			return x.header(first)
		}
		if err := x.index(); err != nil {
			return err
		}
		for { // zeros may follow, and another stream
			b, err := x.in.in.Peek(4)
			if len(b) == 0 {
				return io.EOF
			}
			if len(b) < 4 {
				return within(err)
			}
			if !bytes.Equal(b, make([]byte, 4)) {
				break
			}
			if _, err := x.in.bytes(4); err != nil {
				return err
			}
		}
		if err := x.stream(); err != nil {
			return err
		}
	}
}

// within tells an end within a stream from a reader's own error.
func within(err error) error {
	if err == nil || errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}

// stream reads the header of a stream.
func (x *xzReader) stream() error {
	b, err := x.in.bytes(12)
	if err != nil {
		return err
	}
	if string(b[:6]) != xzMagic || b[6] != 0 || b[7] > 15 || crc32.ChecksumIEEE(b[6:8]) != binary.LittleEndian.Uint32(b[8:]) {
		return errXZ
	}
	x.check = b[7]
	x.begun = true
	return nil
}

// header reads the header of a block, whose first byte describes how long it is.
func (x *xzReader) header(first byte) error {
	rest, err := x.in.bytes(4*int(first) + 3)
	if err != nil {
		return err
	}
	b := append([]byte{first}, rest...)
	end := len(b) - 4
	if crc32.ChecksumIEEE(b[:end]) != binary.LittleEndian.Uint32(b[end:]) {
		return errors.New("checksum mismatch in a block header")
	}
	flags := b[1]
	if flags&0x3f != 0 {
		return errors.New("a filter beside LZMA2, which is not read; pack it anew, as by xz")
	}
	b = b[2:end]
	for _, bit := range []byte{0x40, 0x80} { // its lengths, packed and unpacked
		if flags&bit != 0 {
			_, n := binary.Uvarint(b)
			if n <= 0 {
				return errXZ
			}
			b = b[n:]
		}
	}
	if len(b) < 3 || b[0] != 0x21 || b[1] != 1 {
		return errors.New("a filter other than LZMA2, which is not read; pack it anew, as by xz")
	}
	dictionary, err := lzma.DecodeDictCap(b[2])
	if err != nil {
		return err
	}
	if dictionary > maxDictionary {
		return fmt.Errorf("a dictionary of %s, must have at most %s", memory.Size(dictionary), memory.Size(maxDictionary))
	}
	dictionary = max(lzma.MinDictCap, min(dictionary, x.most))
	if x.left -= dictionary; x.left < 0 {
		return fmt.Errorf("its dictionaries have more than %s, the most for a file of its size", memory.Size(x.most))
	}
	if err := memory.Check(dictionary); err != nil {
		return fmt.Errorf("its dictionary: %w", err)
	}
	x.begin, x.sum = x.in.n, nil
	switch x.check {
	case checkCRC32:
		x.sum = crc32.NewIEEE()
	case checkCRC64:
		x.sum = crc64.New(crc64.MakeTable(crc64.ECMA))
	case checkSHA256:
		x.sum = sha256.New()
	}
	x.block, err = lzma.Reader2Config{DictCap: int(dictionary)}.NewReader2(x.in)
	return err
}

// The ways of checking that are checked.
const (
	checkCRC32  = 1
	checkCRC64  = 4
	checkSHA256 = 10
)

// checkSizes are the bytes of the ways of checking.
var checkSizes = [16]int{0, 4, 4, 4, 8, 8, 8, 16, 16, 16, 32, 32, 32, 64, 64, 64}

// end reads what follows a block: zeros, to a multiple of four, and its check.
func (x *xzReader) end() error {
	if _, err := x.in.bytes(int(-(x.in.n - x.begin) & 3)); err != nil {
		return err
	}
	want, err := x.in.bytes(checkSizes[x.check])
	if err != nil || x.sum == nil {
		return err
	}
	got := x.sum.Sum(nil)
	if x.check != checkSHA256 { // those are little-endian
		slices.Reverse(got)
	}
	if !bytes.Equal(got, want) {
		return errors.New("checksum mismatch in a block")
	}
	return nil
}

// index reads the list of blocks, of which nothing is kept, and the end of the stream.
func (x *xzReader) index() error {
	begin := x.in.n - 1
	n, err := binary.ReadUvarint(x.in)
	for i := uint64(0); i < 2*min(n, 1<<60) && err == nil; i++ {
		_, err = binary.ReadUvarint(x.in)
	}
	if err != nil {
		return within(err)
	}
	if _, err := x.in.bytes(int(-(x.in.n-begin)&3) + 4); err != nil {
		return err
	}
	foot, err := x.in.bytes(12)
	if err == nil && string(foot[10:]) != "YZ" {
		err = errXZ
	}
	return err
}
