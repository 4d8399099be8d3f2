package hdf5

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/fedfast/fedfast/data/sys/oneline"
)

// Object is a group or a data set.
type Object struct {
	f    *File
	name string // its path
	at   uint64 // of its header
}

// Root returns the group that holds all others.
func (f *File) Root() Object { return Object{f, "", f.root} }

// Name returns the object's path in the file.
func (o Object) Name() string { return o.name + "/"[min(1, len(o.name)):] }

// named puts the file and the object in front of an error.
func (o Object) named(err error) error {
	return fmt.Errorf("%s: %s: %w", o.f.path, oneline.Name(o.Name()), err)
}

// The messages of object headers that are read.
const (
	dataspaceMessage    = 0x0001
	datatypeMessage     = 0x0003
	layoutMessage       = 0x0008
	filterMessage       = 0x000b
	continuationMessage = 0x0010
	symbolTableMessage  = 0x0011
)

// maxMessages bounds the messages and blocks of one object header.
const maxMessages = 4096

// messages returns the object header's messages by type, the first of each.
func (o Object) messages() (map[uint16][]byte, error) {
	f := o.f
	head, err := f.bytes(o.at, 16)
	if err != nil {
		return nil, err
	}
	if string(head[:4]) == "OHDR" {
		return nil, errors.New("is in the newer form of HDF5 (libver = \"latest\"), which is not read; write the file anew with h5py's default")
	}
	if head[0] != 1 {
		return nil, fmt.Errorf("no object header at %d: the file is damaged", o.at)
	}
	found := map[uint16][]byte{}
	type block struct {
		at   uint64
		size int64
	}
	blocks := []block{{o.at + 16, int64(binary.LittleEndian.Uint32(head[8:]))}}
	count := int(binary.LittleEndian.Uint16(head[2:]))
	for i := 0; i < len(blocks) && count > 0; i++ {
		if i > maxMessages {
			return nil, errors.New("the object header goes on without end: the file is damaged")
		}
		b, err := f.bytes(blocks[i].at, blocks[i].size)
		if err != nil {
			return nil, err
		}
		for ; len(b) >= 8 && count > 0; count-- {
			kind, size := binary.LittleEndian.Uint16(b), int(binary.LittleEndian.Uint16(b[2:]))
			if b = b[8:]; size > len(b) {
				return nil, fmt.Errorf("a message of %d bytes in a header with %d: the file is damaged", size, len(b))
			}
			body := b[:size]
			b = b[size:]
			switch {
			case kind == continuationMessage && size >= 16:
				n := number(body[8:])
				if n > uint64(f.size) {
					return nil, fmt.Errorf("the object header goes on for %d bytes: the file is damaged", n)
				}
				blocks = append(blocks, block{number(body), int64(n)})
			case found[kind] == nil:
				found[kind] = body
			}
		}
	}
	return found, nil
}

// Each calls each for every member of a group, in the order of their names, of
// which none may be there twice. The error is that of each, or names the file and
// the group.
func (o Object) Each(each func(name string, member Object) error) error {
	t, err := o.table()
	if err != nil {
		return o.named(err)
	}
	var inner error
	last, begun := "", false
	err = t.walk(t.tree, -1, func(at uint64) error {
		return t.symbols(at, func(name string, header uint64) (bool, error) {
			if begun && name <= last {
				return false, fmt.Errorf("member %s comes after %s: the file is damaged", oneline.Name(name), oneline.Name(last))
			}
			last, begun = name, true
			inner = each(name, Object{o.f, o.name + "/" + name, header})
			return inner == nil, inner
		})
	})
	if inner != nil {
		return inner
	}
	if err != nil {
		return o.named(err)
	}
	return nil
}

// Member returns the member of a group by its name, without reading the others.
func (o Object) Member(name string) (Object, error) {
	t, err := o.table()
	if err != nil {
		return Object{}, o.named(err)
	}
	member, found := Object{f: o.f, name: o.name + "/" + name}, false
	err = t.descend(name, func(entry string, header uint64) (bool, error) {
		if entry == name {
			member.at, found = header, true
		}
		return !found, nil
	})
	switch {
	case err != nil:
		return Object{}, o.named(err)
	case !found:
		return Object{}, o.named(fmt.Errorf("has no member %s", name))
	}
	return member, nil
}

// table is the symbol table of a group: a tree of its members, whose names are in
// a heap.
type table struct {
	f     *File
	tree  uint64
	names []byte
}

// table returns the symbol table of a group.
func (o Object) table() (*table, error) {
	messages, err := o.messages()
	if err != nil {
		return nil, err
	}
	m := messages[symbolTableMessage]
	if len(m) < 16 {
		return nil, errors.New("is no group with a symbol table")
	}
	heap, err := o.f.signed(number(m[8:]), 32, "HEAP")
	if err != nil {
		return nil, err
	}
	size := number(heap[8:])
	if size > uint64(o.f.size) {
		return nil, fmt.Errorf("the names of the members have %d bytes: the file is damaged", size)
	}
	names, err := o.f.bytes(number(heap[24:]), int64(size))
	if err != nil {
		return nil, err
	}
	return &table{o.f, number(m), names}, nil
}

// name returns the text at a place of the heap.
func (t *table) name(at uint64) (string, error) {
	if at < uint64(len(t.names)) {
		if n := bytes.IndexByte(t.names[at:], 0); n >= 0 {
			return string(t.names[at : at+uint64(n)]), nil
		}
	}
	return "", fmt.Errorf("no name at %d: the file is damaged", at)
}

// node is a node of a tree of version 1.
type node struct {
	level    int
	keys     [][]byte // one more than children
	children []uint64
}

// node reads a node with keys of some bytes. Its level must be the given one, if
// that is not -1.
func (f *File) node(at uint64, kind byte, keySize, level int) (*node, error) {
	if err := f.visit(); err != nil {
		return nil, err
	}
	head, err := f.signed(at, 24, "TREE")
	if err != nil {
		return nil, err
	}
	n := &node{level: int(head[5])}
	if head[4] != kind || level >= 0 && n.level != level {
		return nil, fmt.Errorf("the node at %d is of kind %d and level %d: the file is damaged", at, head[4], n.level)
	}
	used := int(binary.LittleEndian.Uint16(head[6:]))
	body, err := f.bytes(at+24, int64(used*(keySize+8)+keySize))
	if err != nil {
		return nil, err
	}
	for range used {
		n.keys = append(n.keys, body[:keySize])
		n.children = append(n.children, number(body[keySize:]))
		body = body[keySize+8:]
	}
	n.keys = append(n.keys, body)
	return n, nil
}

// The kinds of trees.
const (
	groupTree = 0
	chunkTree = 1
)

// walk calls leaf with the leaves below a node, in order.
func (t *table) walk(at uint64, level int, leaf func(at uint64) error) error {
	n, err := t.f.node(at, groupTree, 8, level)
	if err != nil {
		return err
	}
	for _, child := range n.children {
		if n.level == 0 {
			err = leaf(child)
		} else {
			err = t.walk(child, n.level-1, leaf)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// descend calls each with the members of the leaf where a name must be: names of
// child i are above key i and not above key i+1.
func (t *table) descend(name string, each func(name string, header uint64) (bool, error)) error {
	at, level := t.tree, -1
	for {
		n, err := t.f.node(at, groupTree, 8, level)
		if err != nil {
			return err
		}
		lo, hi := 0, len(n.children) // the first child whose last name is not below
		for lo < hi {
			mid := (lo + hi) / 2
			last, err := t.name(number(n.keys[mid+1]))
			if err != nil {
				return err
			}
			if last < name {
				lo = mid + 1
			} else {
				hi = mid
			}
		}
		if lo == len(n.children) {
			return nil
		}
		if n.level == 0 {
			return t.symbols(n.children[lo], each)
		}
		at, level = n.children[lo], n.level-1
	}
}

// symbols calls each with the members that a leaf lists until it returns false.
func (t *table) symbols(at uint64, each func(name string, header uint64) (bool, error)) error {
	head, err := t.f.signed(at, 8, "SNOD")
	if err != nil {
		return err
	}
	const entry = 40
	n := int64(binary.LittleEndian.Uint16(head[6:]))
	if err := t.f.visit(); err != nil {
		return err
	}
	body, err := t.f.bytes(at+8, n*entry)
	if err != nil {
		return err
	}
	for ; len(body) > 0; body = body[entry:] {
		name, err := t.name(number(body))
		if err != nil {
			return err
		}
		if more, err := each(name, number(body[8:])); err != nil || !more {
			return err
		}
	}
	return nil
}
