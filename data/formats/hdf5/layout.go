package hdf5

import (
	"bytes"
	"compress/zlib"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"slices"
)

// The ways to store a data set.
const (
	compact    = 0
	contiguous = 1
	chunked    = 2
)

var errLayout = errors.New("a layout cut short: the file is damaged")

// raw returns the bytes of all elements, row by row.
func (d *Dataset) raw() ([]byte, error) {
	f, size := d.o.f, int64(d.n)*int64(d.t.size)
	if err := f.budget.Take(size); err != nil {
		return nil, fmt.Errorf("dimensions %v: %w", d.Dims, err)
	}
	if d.n == 0 {
		return nil, nil
	}
	m := d.layout
	if len(m) < 4 {
		return nil, errLayout
	}
	if m[0] != 3 {
		return nil, fmt.Errorf("a layout of version %d, must be 3", m[0])
	}
	switch m[1] {
	case compact:
		b := m[4:]
		if int64(len(b)) < size {
			return nil, fmt.Errorf("holds %d bytes, must hold %d: the file is damaged", len(b), size)
		}
		return b[:size], nil
	case contiguous:
		if len(m) < 18 {
			return nil, errLayout
		}
		if at := number(m[2:]); at != undefined {
			return f.bytes(at, size)
		}
		return nil, errors.New("holds no data")
	case chunked:
		return d.chunks()
	}
	return nil, fmt.Errorf("a layout of class %d, must be 0 to 2", m[1])
}

// maxChunk bounds the bytes of a chunk.
const maxChunk = 256 << 20

// chunks puts a data set of chunks together.
func (d *Dataset) chunks() ([]byte, error) {
	m := d.layout
	rank := int(m[2]) - 1 // the last one is the size of an element
	if rank != len(d.Dims) || rank < 1 || len(m) < 11+4*(rank+1) {
		return nil, errLayout
	}
	side, bytes := make([]int, rank), int64(d.t.size)
	for i := range side {
		side[i] = int(binary.LittleEndian.Uint32(m[11+4*i:]))
		if side[i] == 0 || bytes > maxChunk/int64(side[i]) {
			return nil, fmt.Errorf("chunks of %v elements: the file is damaged", side[:i+1])
		}
		bytes *= int64(side[i])
	}
	filters, err := filtersOf(d.filter)
	if err != nil {
		return nil, err
	}
	at := number(m[3:])
	if at == undefined {
		return nil, errors.New("holds no data")
	}
	all := 1 // chunks that cover the data set
	for i, n := range d.Dims {
		all *= (n + side[i] - 1) / side[i]
	}
	w := chunkWalk{d: d, side: side, bytes: bytes, filters: filters}
	if err := w.count(at, -1); err != nil {
		return nil, err
	}
	if w.found != all {
		return nil, fmt.Errorf("%d chunks of %d are there: the file is damaged", w.found, all)
	}
	w.out = make([]byte, int64(d.n)*int64(d.t.size))
	return w.out, w.read(at, -1)
}

// chunkWalk goes through the chunks of a data set.
type chunkWalk struct {
	d       *Dataset
	side    []int
	bytes   int64 // of a chunk
	filters []filter
	found   int
	out     []byte
}

// keySize returns the bytes of a key: size, mask, place, place in an element.
func (w *chunkWalk) keySize() int { return 8 + 8*(len(w.side)+1) }

// count counts the chunks below a node before room is made for them.
func (w *chunkWalk) count(at uint64, level int) error {
	n, err := w.d.o.f.node(at, chunkTree, w.keySize(), level)
	if err != nil {
		return err
	}
	if n.level == 0 {
		w.found += len(n.children)
		return nil
	}
	for _, child := range n.children {
		if err := w.count(child, n.level-1); err != nil {
			return err
		}
	}
	return nil
}

// read reads the chunks below a node into out.
func (w *chunkWalk) read(at uint64, level int) error {
	n, err := w.d.o.f.node(at, chunkTree, w.keySize(), level)
	if err != nil {
		return err
	}
	for i, child := range n.children {
		if n.level > 0 {
			err = w.read(child, n.level-1)
		} else {
			err = w.chunk(n.keys[i], child)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// chunk reads one chunk into its place.
func (w *chunkWalk) chunk(key []byte, at uint64) error {
	f := w.d.o.f
	if err := f.budget.Take(w.bytes); err != nil {
		return err
	}
	packed, err := f.bytes(at, int64(binary.LittleEndian.Uint32(key)))
	if err != nil {
		return err
	}
	mask := binary.LittleEndian.Uint32(key[4:])
	content, err := unfiltered(w.filters, mask, packed, w.bytes)
	if err != nil {
		return fmt.Errorf("the chunk at %d: %w", at, err)
	}
	start := make([]int, len(w.side))
	for i := range start {
		o := number(key[8+8*i:])
		if o >= uint64(w.d.Dims[i]) || int(o)%w.side[i] != 0 {
			return fmt.Errorf("a chunk at element %d of dimension %d with %d: the file is damaged", o, i+1, w.d.Dims[i])
		}
		start[i] = int(o)
	}
	w.place(content, start)
	return nil
}

// place copies the part of a chunk that lies within the data set, row by row.
func (w *chunkWalk) place(content []byte, start []int) {
	dims, last := w.d.Dims, len(w.side)-1
	size := w.d.t.size
	part := make([]int, last+1) // of the chunk that lies within
	for i := range part {
		part[i] = min(w.side[i], dims[i]-start[i])
	}
	at := make([]int, last) // within the chunk, without the last dimension
	for {
		from, to := 0, 0
		for i, a := range at {
			from = from*w.side[i] + a
			to = to*dims[i] + start[i] + a
		}
		copy(w.out[(to*dims[last]+start[last])*size:][:part[last]*size], content[from*w.side[last]*size:])
		i := last - 1
		for ; i >= 0; i-- {
			if at[i]++; at[i] < part[i] {
				break
			}
			at[i] = 0
		}
		if i < 0 {
			return
		}
	}
}

// filter is a step that a chunk went through when it was written.
type filter struct {
	id   uint16
	size int // of an element, for shuffle
}

// The filters that are read.
const (
	deflate    = 1
	shuffle    = 2
	fletcher32 = 3
)

// filtersOf reads a filter pipeline; nil is none.
func filtersOf(m []byte) ([]filter, error) {
	if m == nil {
		return nil, nil
	}
	damaged := errors.New("a list of filters cut short: the file is damaged")
	if len(m) < 2 {
		return nil, damaged
	}
	version, n := m[0], int(m[1])
	switch version {
	case 1:
		m = m[min(8, len(m)):]
	case 2:
		m = m[2:]
	default:
		return nil, fmt.Errorf("a list of filters of version %d, must be 1 or 2", version)
	}
	var list []filter
	for range n {
		if len(m) < 8 {
			return nil, damaged
		}
		id := binary.LittleEndian.Uint16(m)
		nameLen, values := 0, 0
		if version == 1 || id >= 256 {
			nameLen, values = int(binary.LittleEndian.Uint16(m[2:])), int(binary.LittleEndian.Uint16(m[6:]))
			m = m[8:]
		} else {
			values = int(binary.LittleEndian.Uint16(m[4:]))
			m = m[6:]
		}
		skip := nameLen
		if version == 1 {
			skip = (nameLen + 7) / 8 * 8
		}
		data := 4 * values
		if version == 1 && values%2 == 1 {
			data += 4
		}
		if len(m) < skip+4*values {
			return nil, damaged
		}
		fl := filter{id: id}
		if values > 0 {
			fl.size = int(binary.LittleEndian.Uint32(m[skip:]))
		}
		m = m[min(len(m), skip+data):]
		switch {
		case id != deflate && id != shuffle && id != fletcher32:
			return nil, fmt.Errorf("filter %d is not read; 1 (deflate), 2 (shuffle) and 3 (fletcher32) are", id)
		case id == shuffle && fl.size < 1:
			return nil, damaged
		}
		list = append(list, fl)
	}
	return list, nil
}

// unfiltered undoes the filters but those that the mask leaves out, the last one
// first. The result has size bytes.
func unfiltered(filters []filter, mask uint32, b []byte, size int64) ([]byte, error) {
	for i, fl := range slices.Backward(filters) {
		if i < 32 && mask>>i&1 == 1 {
			continue
		}
		switch fl.id {
		case deflate:
			z, err := zlib.NewReader(bytes.NewReader(b))
			if err != nil {
				return nil, fmt.Errorf("the zlib data are damaged: %w", err)
			}
			if b, err = io.ReadAll(io.LimitReader(z, size+5)); errors.Is(err, io.ErrUnexpectedEOF) {
				return nil, errors.New("the zlib data end early; is the file complete?")
			} else if err != nil {
				return nil, fmt.Errorf("the zlib data are damaged: %w", err)
			}
		case shuffle:
			b = unshuffled(b, fl.size)
		case fletcher32:
			if len(b) < 4 {
				return nil, errors.New("no checksum is there: the file is damaged")
			}
			b = b[:len(b)-4]
		}
	}
	if int64(len(b)) != size {
		return nil, fmt.Errorf("has %d bytes, must have %d: the file is damaged", len(b), size)
	}
	return b, nil
}

// unshuffled puts the bytes of elements together: b holds the first bytes of all
// elements, then their second ones and so on, then a rest.
func unshuffled(b []byte, size int) []byte {
	n := len(b) / size
	out := make([]byte, len(b))
	for i := range n {
		for j := range size {
			out[i*size+j] = b[j*n+i]
		}
	}
	copy(out[n*size:], b[n*size:])
	return out
}
