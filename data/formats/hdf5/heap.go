package hdf5

import (
	"encoding/binary"
	"fmt"
)

// collection is a part of the global heap: texts by their number.
type collection struct {
	objects map[uint32][]byte
}

// text returns the text that an element of variable length points to.
func (f *File) text(heaps map[uint64]*collection, element []byte) ([]byte, error) {
	size, at, index := binary.LittleEndian.Uint32(element), number(element[4:]), binary.LittleEndian.Uint32(element[12:])
	if size == 0 {
		return []byte{}, nil
	}
	c := heaps[at]
	if c == nil {
		var err error
		if c, err = f.collection(at); err != nil {
			return nil, err
		}
		heaps[at] = c
	}
	object, ok := c.objects[index]
	if !ok || uint64(size) > uint64(len(object)) {
		return nil, fmt.Errorf("no text %d of %d bytes in the heap at %d: the file is damaged", index, size, at)
	}
	return object[:size], nil
}

// collection reads a part of the global heap.
func (f *File) collection(at uint64) (*collection, error) {
	head, err := f.signed(at, 16, "GCOL")
	if err != nil {
		return nil, err
	}
	size := number(head[8:])
	if size < 16 || size > uint64(f.size) {
		return nil, fmt.Errorf("a heap of %d bytes at %d: the file is damaged", size, at)
	}
	if err := f.budget.Take(int64(size)); err != nil {
		return nil, err
	}
	b, err := f.bytes(at+16, int64(size)-16)
	if err != nil {
		return nil, err
	}
	c := &collection{objects: map[uint32][]byte{}}
	for len(b) >= 16 {
		index, n := uint32(binary.LittleEndian.Uint16(b)), number(b[8:])
		if index == 0 { // the free rest
			break
		}
		if b = b[16:]; n > uint64(len(b)) {
			return nil, fmt.Errorf("text %d of the heap at %d has %d bytes: the file is damaged", index, at, n)
		}
		c.objects[index] = b[:n:n]
		b = b[min(uint64(len(b)), (n+7)/8*8):]
	}
	return c, nil
}
