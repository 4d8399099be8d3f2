package parquet

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"github.com/parquet-go/parquet-go/encoding/thrift"

	"github.com/fedfast/fedfast/internal/sys/memory"
)

// deepest bounds the structures within one another.
const deepest = 32

// mostOfElement is the most that an element of a list takes in memory: a description of a chunk.
const mostOfElement = 600

var errShort = errors.New("it ends early")

// protocol is how the descriptions in a file are written.
var protocol thrift.CompactProtocol

// described reads the description of v at the beginning of bytes, and returns how many of them it has.
func described(b []byte, budget *memory.Budget, v any) (n int, err error) {
	r := &checked{source: protocol.NewReaderFromBytes(b).(source), open: []int32{1}, budget: budget}
	err = thrift.NewDecoder(r).Decode(v)
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return 0, errShort
	}
	if cause := errors.Unwrap(err); cause != nil { // without the way to it
		err = cause
	}
	return r.BytesRead(), err
}

// source reads bytes, and skips what nobody asks for.
type source interface {
	thrift.BytesReader
	Discard(n int) (int, error)
}

// checked holds that no description is deeper, nor a list longer, than it can be.
type checked struct {
	source
	open   []int32 // structures that are yet to end, by their depth
	budget *memory.Budget
}

// enter begins n structures, one after the other.
func (c *checked) enter(n int32) error {
	if c.open = append(c.open, n); len(c.open) > deepest {
		return fmt.Errorf("structures nested more than %d deep", deepest)
	}
	return nil
}

// ReadField reads the head of a field, or the end of a structure.
func (c *checked) ReadField() (thrift.Field, error) {
	f, err := c.source.ReadField()
	last := len(c.open) - 1
	switch {
	case err != nil:
	case f.Type == thrift.STRUCT:
		err = c.enter(1)
	case f.Type == thrift.STOP:
		if c.open[last]--; c.open[last] == 0 {
			c.open = c.open[:last]
		}
	}
	return f, err
}

// ReadList reads the head of a list.
func (c *checked) ReadList() (thrift.List, error) {
	l, err := c.source.ReadList()
	switch {
	case err != nil:
		return l, err
	case l.Type == thrift.LIST || l.Type == thrift.SET || l.Type == thrift.MAP:
		return l, errors.New("a list of lists, as no file has")
	case l.Type == thrift.STRUCT && l.Size > 0:
		err = c.enter(l.Size)
	}
	if err == nil {
		err = c.budget.Take(mostOfElement * int64(l.Size))
	}
	return l, err
}

// ReadSet refuses a set.
func (*checked) ReadSet() (thrift.Set, error) {
	return thrift.Set{}, errors.New("a set, as no file has")
}

// ReadMap refuses a map.
func (*checked) ReadMap() (thrift.Map, error) {
	return thrift.Map{}, errors.New("a map, as no file has")
}

// compact reads numbers from memory. Nothing is made room for by what a length says.
type compact struct{ b []byte }

// bytes returns the next n bytes.
func (c *compact) bytes(n uint64) ([]byte, error) {
	if n > uint64(len(c.b)) {
		return nil, errShort
	}
	v := c.b[:n]
	c.b = c.b[n:]
	return v, nil
}

func (c *compact) uvarint() (uint64, error) {
	v, n := binary.Uvarint(c.b)
	switch {
	case n == 0:
		return 0, errShort
	case n < 0:
		return 0, errors.New("a number of more than 64 bits")
	}
	c.b = c.b[n:]
	return v, nil
}

// varint reads a number in its zigzag form.
func (c *compact) varint() (int64, error) {
	v, err := c.uvarint()
	return int64(v>>1) ^ -int64(v&1), err
}
