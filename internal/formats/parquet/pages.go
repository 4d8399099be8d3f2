package parquet

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"

	"github.com/fedfast/fedfast/internal/sys/regular"
)

// The types of pages that are read.
const (
	dataPage       = 0
	dictionaryPage = 2
	dataPage2      = 3
)

// headSize is what is read of a page's header at first, maxHead what at most: it may
// hold a least and a greatest value.
const (
	headSize = 1 << 12
	maxHead  = 1 << 24
)

// head is a PageHeader.
type head struct {
	kind            int64
	plain, packed   int64 // bytes, unpacked and as they are
	crc             uint32
	checked         bool // there is a crc
	values          int64
	encoding        int64
	levels, repeats int64 // bytes of version 2
	levelEncoding   int64 // of version 1
	alsoPacked      bool  // of version 2
}

// readHead reads a page's header.
func readHead(c *compact) (h head, err error) {
	h.alsoPacked = true
	number := func(to *int64, kind byte) (bool, error) {
		var err error
		*to, err = c.int(kind)
		return true, err
	}
	err = c.fields(kindStruct, func(id int, kind byte) (bool, error) {
		switch id {
		case 1:
			return number(&h.kind, kind)
		case 2:
			return number(&h.plain, kind)
		case 3:
			return number(&h.packed, kind)
		case 4:
			v, err := c.int(kind)
			h.crc, h.checked = uint32(v), true
			return true, err
		case 5, 7, 8: // of a data page, a dictionary, a data page of version 2
			to := map[int]*int64{1: &h.values, 2: &h.encoding}
			switch id {
			case 5:
				to[3] = &h.levelEncoding
			case 8:
				to = map[int]*int64{1: &h.values, 4: &h.encoding, 5: &h.levels, 6: &h.repeats}
			}
			return true, c.fields(kind, func(field int, kind byte) (bool, error) {
				if id == 8 && field == 7 {
					h.alsoPacked = kind == kindTrue
					return false, nil
				}
				if to[field] == nil {
					return false, nil
				}
				return number(to[field], kind)
			})
		}
		return false, nil
	})
	return h, err
}

// reader reads the pages of one chunk.
type reader struct {
	f          *File
	column     *Column
	codec      int64
	at         int64 // of the next page
	dictionary *plain
	buffers
}

// buffers are used again for the next page.
type buffers struct{ text, packed, unpacked []byte }

// Each calls with the values of a column, row by row from 1 on. What a value refers to
// is valid until the call returns. A row without a value is an error unless the column has Gaps, as is a column
// whose rows may have several.
func (f *File) Each(ctx context.Context, column *Column, call func(row int, v Value) error) error {
	row := 0
	for i := range f.groups {
		g := &f.groups[i]
		err := f.eachOf(ctx, column, g, func(v Value) error { row++; return call(row, v) }, &row)
		if err != nil {
			return fmt.Errorf("%s: column %s: %w", f.Path, column.name(), err)
		}
	}
	return nil
}

// rowSize is the least that a row's value takes of the budget: no dataset has many
// rows of next to nothing.
const rowSize = 8

// eachOf calls with the values of a group of rows.
func (f *File) eachOf(ctx context.Context, column *Column, g *group, call func(v Value) error, row *int) error {
	k := g.chunks[column.index]
	switch {
	case column.Repeated:
		return errors.New("it contains lists; save one value per row")
	case k.kind != column.Kind:
		return damaged("values of type %v in a column of type %v", k.kind, column.Kind)
	case k.values != g.rows:
		return damaged("%d values for %d rows", k.values, g.rows)
	case k.at < int64(len(magic)) || k.at >= f.end:
		if g.rows == 0 {
			return nil
		}
		return damaged("its values begin at byte %d, outside of the file", k.at)
	}
	if err := f.Budget.Take(rowSize * min(g.rows, 1<<50)); err != nil {
		return fmt.Errorf("its %d rows: %w", g.rows, err)
	}
	r := &reader{f: f, column: column, codec: k.codec, at: k.at, buffers: f.buffers}
	defer func() { f.buffers = r.buffers }()
	for left := g.rows; left > 0; {
		if err := ctx.Err(); err != nil {
			return err
		}
		values, n, err := r.page(left, *row)
		if err != nil {
			return err
		}
		left -= n
		for range n {
			v, err := values.next()
			if err != nil {
				return damaged("%w", err)
			}
			if err := call(v); err != nil {
				return err
			}
		}
	}
	return nil
}

// damaged is the error of what no whole file has.
func damaged(format string, args ...any) error {
	return fmt.Errorf("the file is damaged: "+format, args...)
}

// head reads the next page's header.
func (r *reader) head() (h head, err error) {
	for size := int64(headSize); ; size *= 4 {
		size = min(size, maxHead, r.f.end-r.at)
		r.text = sized(r.text, size)
		if _, err := r.f.in.ReadAt(r.text, r.at); err != nil {
			return h, regular.Cause(err)
		}
		c := &compact{b: r.text}
		h, err = readHead(c)
		if errors.Is(err, errShort) && size < min(maxHead, r.f.end-r.at) {
			continue // it is longer
		}
		used := size - int64(len(c.b))
		if err == nil {
			err = r.f.Budget.Take(used)
		}
		if err != nil {
			return h, damaged("the header of a page: %w", err)
		}
		r.at += used
		return h, nil
	}
}

// page reads the next page: its values and how many there are, at most most.
func (r *reader) page(most int64, row int) (values, int64, error) {
	h, err := r.head()
	if err != nil {
		return nil, 0, err
	}
	if h.packed < 0 || h.packed > r.f.end-r.at || h.plain < 0 || h.values < 0 {
		return nil, 0, damaged("a page says that it has %d bytes, unpacked %d, and %d values", h.packed, h.plain, h.values)
	}
	begin := r.at
	if r.at += h.packed; h.kind != dataPage && h.kind != dictionaryPage && h.kind != dataPage2 {
		return nothing{}, 0, nil // such as an index
	}
	if h.kind != dictionaryPage && h.values > most {
		return nil, 0, damaged("a page says that it has %d values, where %d rows are left", h.values, most)
	}
	if err := r.f.Budget.Take(h.packed + h.plain); err != nil {
		return nil, 0, fmt.Errorf("a page of %d bytes, unpacked %d: %w", h.packed, h.plain, err)
	}
	r.packed = sized(r.packed, h.packed)
	if _, err := r.f.in.ReadAt(r.packed, begin); err != nil {
		return nil, 0, regular.Cause(err)
	}
	if h.checked && crc32.ChecksumIEEE(r.packed) != h.crc {
		return nil, 0, damaged("page checksum mismatch")
	}
	if h.kind == dictionaryPage {
		return nothing{}, 0, r.readDictionary(h)
	}
	levels, body, err := r.parts(h)
	if err != nil {
		return nil, 0, err
	}
	n := h.values
	first := runs{c: compact{b: levels}, bits: r.column.levelBits()}
	if r.column.optional > 0 {
		at := first
		for i := range n {
			switch level, err := at.next(); {
			case err != nil:
				return nil, 0, damaged("which rows have values: %w", err)
			case level == uint32(r.column.optional):
			case r.column.Gaps:
				h.values--
			default:
				return nil, 0, fmt.Errorf("row %d has no value; leave such rows out, by frame.dropna()", int64(row)+i+1)
			}
		}
	}
	v, err := r.values(h, body)
	if h.values < n {
		v = &gapped{first, uint32(r.column.optional), v}
	}
	return v, n, err
}

// parts unpacks a data page and returns its definition levels and its values.
func (r *reader) parts(h head) (levels, body []byte, err error) {
	if h.kind == dataPage2 {
		n := h.levels + h.repeats
		if h.levels < 0 || h.repeats < 0 || n < 0 || n > int64(len(r.packed)) || n > h.plain {
			return nil, nil, damaged("levels of %d and %d bytes in a page of %d", h.levels, h.repeats, len(r.packed))
		}
		levels, body = r.packed[h.repeats:n], r.packed[n:]
		if h.alsoPacked {
			body, err = r.unpack(r.codec, body, h.plain-n)
		}
		return levels, body, err
	}
	if body, err = r.unpack(r.codec, r.packed, h.plain); err != nil || r.column.optional == 0 {
		return nil, body, err
	}
	if h.levelEncoding != encodingRLE {
		return nil, nil, fmt.Errorf("definition levels in encoding %d, which is not read", h.levelEncoding)
	}
	levels, body, err = prefixed(body)
	return levels, body, err
}

// prefixed cuts off a part that begins with its length in 4 bytes.
func prefixed(b []byte) (part, rest []byte, err error) {
	if len(b) < 4 {
		return nil, nil, damaged("%w", errShort)
	}
	n := binary.LittleEndian.Uint32(b)
	if uint64(n) > uint64(len(b)-4) {
		return nil, nil, damaged("%d bytes are said to follow, and %d do", n, len(b)-4)
	}
	return b[4 : 4+n], b[4+n:], nil
}

// readDictionary keeps the values that others refer to.
func (r *reader) readDictionary(h head) error {
	if h.encoding != encodingPlain && h.encoding != encodingPlainDictionary {
		return fmt.Errorf("a dictionary in encoding %d, which is not read", h.encoding)
	}
	body, err := r.unpack(r.codec, r.packed, h.plain)
	if err != nil {
		return err
	}
	d := &plain{kind: r.column.Kind, b: append([]byte(nil), body...)}
	if err := d.index(h.values, r.f.Budget); err != nil {
		return err
	}
	r.dictionary = d
	return nil
}

// sized returns a slice of n bytes, b if it has room.
func sized(b []byte, n int64) []byte {
	if int64(cap(b)) < n {
		return make([]byte, n)
	}
	return b[:n]
}
