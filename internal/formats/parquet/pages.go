package parquet

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"

	"github.com/parquet-go/parquet-go/format"

	"github.com/fedfast/fedfast/internal/sys/regular"
)

// headSize is what is read of a page's header at first, maxHead what at most: it may
// hold a least and a greatest value.
const (
	headSize = 1 << 12
	maxHead  = 1 << 24
)

// head is a page's header.
type head struct {
	format.PageHeader
	values   int64
	encoding format.Encoding
}

// reader reads the pages of one chunk.
type reader struct {
	f          *File
	column     *Column
	codec      format.CompressionCodec
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
func (f *File) eachOf(ctx context.Context, column *Column, g *format.RowGroup, call func(v Value) error,
	row *int,
) error {
	k := &g.Columns[column.index].MetaData
	at := k.DataPageOffset
	if k.DictionaryPageOffset > 0 && k.DictionaryPageOffset < at {
		at = k.DictionaryPageOffset
	}
	switch {
	case column.Repeated:
		return errors.New("it contains lists; save one value per row")
	case k.Type != column.Kind:
		return damaged("values of type %v in a column of type %v", k.Type, column.Kind)
	case k.NumValues != g.NumRows:
		return damaged("%d values for %d rows", k.NumValues, g.NumRows)
	case at < int64(len(magic)) || at >= f.end:
		if g.NumRows == 0 {
			return nil
		}
		return damaged("its values begin at byte %d, outside of the file", at)
	}
	if err := f.Budget.Take(rowSize * min(g.NumRows, 1<<50)); err != nil {
		return fmt.Errorf("its %d rows: %w", g.NumRows, err)
	}
	r := &reader{f: f, column: column, codec: k.Codec, at: at, buffers: f.buffers}
	defer func() { f.buffers = r.buffers }()
	for left := g.NumRows; left > 0; {
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
		h = head{}
		used, err := described(r.text, r.f.Budget, &h.PageHeader)
		if errors.Is(err, errShort) && size < min(maxHead, r.f.end-r.at) {
			continue // it is longer
		}
		if err == nil {
			err = r.f.Budget.Take(int64(used))
		}
		if err != nil {
			return h, damaged("the header of a page: %w", err)
		}
		r.at += int64(used)
		v1, v2, d := h.DataPageHeader.V, h.DataPageHeaderV2.V, h.DictionaryPageHeader.V
		switch h.Type {
		case format.DictionaryPage:
			h.values, h.encoding = int64(d.NumValues), d.Encoding
		case format.DataPageV2:
			h.values, h.encoding = int64(v2.NumValues), v2.Encoding
		default:
			h.values, h.encoding = int64(v1.NumValues), v1.Encoding
		}
		return h, nil
	}
}

// page reads the next page: its values and how many there are, at most most.
func (r *reader) page(most int64, row int) (values, int64, error) {
	h, err := r.head()
	if err != nil {
		return nil, 0, err
	}
	packed, plain := int64(h.CompressedPageSize), int64(h.UncompressedPageSize)
	if packed < 0 || packed > r.f.end-r.at || plain < 0 || h.values < 0 {
		return nil, 0, damaged("a page says that it has %d bytes, unpacked %d, and %d values", packed, plain, h.values)
	}
	begin := r.at
	r.at += packed
	if h.Type != format.DataPage && h.Type != format.DictionaryPage && h.Type != format.DataPageV2 {
		return nothing{}, 0, nil // such as an index
	}
	if h.Type != format.DictionaryPage && h.values > most {
		return nil, 0, damaged("a page says that it has %d values, where %d rows are left", h.values, most)
	}
	if err := r.f.Budget.Take(packed + plain); err != nil {
		return nil, 0, fmt.Errorf("a page of %d bytes, unpacked %d: %w", packed, plain, err)
	}
	r.packed = sized(r.packed, packed)
	if _, err := r.f.in.ReadAt(r.packed, begin); err != nil {
		return nil, 0, regular.Cause(err)
	}
	if h.CRC != 0 && crc32.ChecksumIEEE(r.packed) != uint32(h.CRC) {
		return nil, 0, damaged("page checksum mismatch")
	}
	if h.Type == format.DictionaryPage {
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
	plain := int64(h.UncompressedPageSize)
	if v2 := h.DataPageHeaderV2.V; h.Type == format.DataPageV2 {
		repeats := int64(v2.RepetitionLevelsByteLength)
		n := int64(v2.DefinitionLevelsByteLength) + repeats
		if repeats < 0 || n < repeats || n > int64(len(r.packed)) || n > plain {
			return nil, nil, damaged("levels of %d and %d bytes in a page of %d", n-repeats, repeats, len(r.packed))
		}
		levels, body = r.packed[repeats:n], r.packed[n:]
		if v2.IsCompressed.V || !v2.IsCompressed.Valid {
			body, err = r.unpack(r.codec, body, plain-n)
		}
		return levels, body, err
	}
	if body, err = r.unpack(r.codec, r.packed, plain); err != nil || r.column.optional == 0 {
		return nil, body, err
	}
	if e := h.DataPageHeader.V.DefinitionLevelEncoding; e != format.RLE {
		return nil, nil, fmt.Errorf("definition levels in encoding %v, which is not read", e)
	}
	return prefixed(body)
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
	if h.encoding != format.Plain && h.encoding != oldDictionary {
		return fmt.Errorf("a dictionary in encoding %v, which is not read", h.encoding)
	}
	body, err := r.unpack(r.codec, r.packed, int64(h.UncompressedPageSize))
	if err != nil {
		return err
	}
	d := &plain{kind: r.column.Kind, width: r.column.width(), b: append([]byte(nil), body...)}
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
