package fedjax

import "encoding/binary"

// cursor reads the part of msgpack that FedJAX writes. What it returns is part of
// what it reads.
// (https://github.com/msgpack/msgpack/blob/master/spec.md)
type cursor struct {
	rest []byte
}

// form is a kind of value by the first byte: how it says its length.
type form struct {
	short, mask byte // the length or the number is in the first byte's mask bits
	long        byte // first byte of the form with a length of 1 << first bytes,
	first, runs int  // the next ones with twice as many each, runs forms in all
}

var (
	mapKind    = form{short: 0x80, mask: 0x0f, long: 0xde, first: 1, runs: 2}
	listKind   = form{short: 0x90, mask: 0x0f, long: 0xdc, first: 1, runs: 2}
	numberKind = form{short: 0x00, mask: 0x7f, long: 0xcc, first: 0, runs: 4} // not negative
	textKind   = form{short: 0xa0, mask: 0x1f, long: 0xd9, first: 0, runs: 3}
	binaryKind = form{long: 0xc4, first: 0, runs: 3}
	extKind    = form{long: 0xc7, first: 0, runs: 3}
)

// take returns the next n bytes.
func (c *cursor) take(n int) ([]byte, error) {
	if n < 0 || n > len(c.rest) {
		return nil, errPack
	}
	b := c.rest[:n:n]
	c.rest = c.rest[n:]
	return b, nil
}

// has reports whether the next value is of a form.
func (c *cursor) has(f form) bool {
	if len(c.rest) == 0 {
		return false
	}
	b := c.rest[0]
	return f.mask != 0 && b&^f.mask == f.short || b >= f.long && int(b) < int(f.long)+f.runs
}

// length reads the first byte of a value of a form and its length (of a number:
// the number), at most 1<<31 - 1.
func (c *cursor) length(f form) (int, error) {
	if !c.has(f) {
		return 0, errPack
	}
	b := c.rest[0]
	c.rest = c.rest[1:]
	if f.mask != 0 && b&^f.mask == f.short {
		return int(b & f.mask), nil
	}
	digits, err := c.take(1 << (f.first + int(b-f.long)))
	if err != nil {
		return 0, err
	}
	var wide [8]byte
	copy(wide[8-len(digits):], digits)
	n := binary.BigEndian.Uint64(wide[:])
	if n > 1<<31-1 {
		return 0, errPack
	}
	return int(n), nil
}

// bytes reads a text or binary value.
func (c *cursor) bytes() ([]byte, error) {
	kind := binaryKind
	if c.has(textKind) {
		kind = textKind
	}
	n, err := c.length(kind)
	if err != nil {
		return nil, err
	}
	return c.take(n)
}

// extension reads a value of an extension type.
func (c *cursor) extension() (code byte, body []byte, err error) {
	var n int
	if len(c.rest) > 0 && c.rest[0] >= 0xd4 && c.rest[0] <= 0xd8 { // of 1, 2, 4, 8, 16 bytes
		n = 1 << (c.rest[0] - 0xd4)
		c.rest = c.rest[1:]
	} else if n, err = c.length(extKind); err != nil {
		return 0, nil, err
	}
	head, err := c.take(1)
	if err != nil {
		return 0, nil, err
	}
	body, err = c.take(n)
	return head[0], body, err
}
