package parquet

import (
	"encoding/binary"
	"errors"
	"fmt"
)

// The types of Thrift's compact protocol.
const (
	kindTrue   = 1
	kindFalse  = 2
	kindByte   = 3
	kindInt16  = 4
	kindInt32  = 5
	kindInt64  = 6
	kindDouble = 7
	kindBinary = 8
	kindList   = 9
	kindSet    = 10
	kindMap    = 11
	kindStruct = 12
)

// deepest bounds the structures within one another.
const deepest = 32

var errShort = errors.New("it ends early")

// compact reads Thrift's compact protocol from memory. Nothing is made room for by what
// a length says.
// (Apache Thrift, Thrift Compact protocol encoding)
type compact struct {
	b    []byte
	deep int
}

func (c *compact) byte() (byte, error) {
	if len(c.b) == 0 {
		return 0, errShort
	}
	v := c.b[0]
	c.b = c.b[1:]
	return v, nil
}

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

// int reads an integer of a type.
func (c *compact) int(kind byte) (int64, error) {
	switch kind {
	case kindByte:
		v, err := c.byte()
		return int64(int8(v)), err
	case kindInt16, kindInt32, kindInt64:
		v, err := c.uvarint()
		return int64(v>>1) ^ -int64(v&1), err
	}
	return 0, fmt.Errorf("type %d where an integer must be", kind)
}

// binary reads bytes or a text; they are part of what is read.
func (c *compact) binary(kind byte) ([]byte, error) {
	if kind != kindBinary {
		return nil, fmt.Errorf("type %d where a text must be", kind)
	}
	n, err := c.uvarint()
	if err != nil {
		return nil, err
	}
	return c.bytes(n)
}

// fields calls each for the fields of a structure with their numbers and types; each
// reads the field and says so, or leaves it.
func (c *compact) fields(kind byte, each func(id int, kind byte) (read bool, err error)) error {
	if kind != kindStruct {
		return fmt.Errorf("type %d where a structure must be", kind)
	}
	if c.deep++; c.deep > deepest {
		return fmt.Errorf("structures nested more than %d deep", deepest)
	}
	defer func() { c.deep-- }()
	for id := int16(0); ; {
		head, err := c.byte()
		if err != nil {
			return err
		}
		if head == 0 {
			return nil
		}
		if delta := head >> 4; delta != 0 {
			id += int16(delta)
		} else {
			v, err := c.int(kindInt16)
			if err != nil {
				return err
			}
			id = int16(v)
		}
		kind := head & 0x0f
		read, err := each(int(id), kind)
		if err == nil && !read {
			err = c.skip(kind)
		}
		if err != nil {
			return err
		}
	}
}

// list calls each for the elements of a list with their type; each reads the element.
func (c *compact) list(kind byte, each func(kind byte) error) error {
	if kind != kindList && kind != kindSet {
		return fmt.Errorf("type %d where a list must be", kind)
	}
	head, err := c.byte()
	if err != nil {
		return err
	}
	n, of := uint64(head>>4), head&0x0f
	if n == 15 {
		if n, err = c.uvarint(); err != nil {
			return err
		}
	}
	for range n { // each takes a byte or more, or fails
		if err := each(of); err != nil {
			return err
		}
	}
	return nil
}

// skip reads a field of any type.
func (c *compact) skip(kind byte) error {
	if kind == kindTrue || kind == kindFalse { // the type is the value
		return nil
	}
	return c.element(kind)
}

// element reads an element of a list of any type.
func (c *compact) element(kind byte) error {
	if c.deep++; c.deep > deepest {
		return fmt.Errorf("structures nested more than %d deep", deepest)
	}
	defer func() { c.deep-- }()
	switch kind {
	case kindTrue, kindFalse:
		_, err := c.byte()
		return err
	case kindDouble:
		_, err := c.bytes(8)
		return err
	case kindBinary:
		_, err := c.binary(kind)
		return err
	case kindList, kindSet:
		return c.list(kind, c.element)
	case kindMap:
		n, err := c.uvarint()
		if err != nil || n == 0 {
			return err
		}
		kinds, err := c.byte()
		if err != nil {
			return err
		}
		for range n {
			if err := c.element(kinds >> 4); err != nil {
				return err
			}
			if err := c.element(kinds & 0x0f); err != nil {
				return err
			}
		}
		return nil
	case kindStruct:
		return c.fields(kind, func(int, byte) (bool, error) { return false, nil })
	}
	_, err := c.int(kind)
	return err
}
