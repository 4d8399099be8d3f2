package hdf5

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"

	"github.com/fedfast/fedfast/data/sys/memory"
)

// Dataset is an array.
type Dataset struct {
	// Dims are its dimensions; none for a single value.
	Dims   []int
	o      Object
	t      datatype
	n      int // elements
	layout []byte
	filter []byte
}

// The classes of types that are read.
const (
	intClass    = 0
	floatClass  = 1
	stringClass = 3
	vlenClass   = 9
)

// datatype is the type of the elements.
type datatype struct {
	class  byte
	size   int // bytes of an element
	signed bool
}

// Dataset reads the form of a data set, not its content.
func (o Object) Dataset() (*Dataset, error) {
	messages, err := o.messages()
	if err != nil {
		return nil, o.named(err)
	}
	d := &Dataset{o: o, layout: messages[layoutMessage], filter: messages[filterMessage]}
	if d.layout == nil || messages[dataspaceMessage] == nil || messages[datatypeMessage] == nil {
		return nil, o.named(errors.New("is no data set"))
	}
	if d.Dims, err = dims(messages[dataspaceMessage]); err != nil {
		return nil, o.named(err)
	}
	if d.t, err = typeOf(messages[datatypeMessage]); err != nil {
		return nil, o.named(err)
	}
	d.n = 1
	for _, n := range d.Dims {
		if n > 0 && d.n > maxDataset/d.t.size/n {
			return nil, o.named(fmt.Errorf("dimensions %v of %d bytes each: more than any set of data has", d.Dims, d.t.size))
		}
		d.n *= n
	}
	return d, nil
}

// dims reads a data space.
func dims(m []byte) ([]int, error) {
	if len(m) < 4 || m[0] < 1 || m[0] > 2 {
		return nil, errors.New("a data space of a version that is not read")
	}
	rank, at := int(m[1]), 4
	if m[0] == 1 {
		at = 8
	}
	if len(m) < at+8*rank {
		return nil, errors.New("a data space without its dimensions: the file is damaged")
	}
	list := make([]int, rank)
	for i := range list {
		n := number(m[at+8*i:])
		if n > maxDataset {
			return nil, fmt.Errorf("a dimension of %d: more than any set of data has", n)
		}
		list[i] = int(n)
	}
	return list, nil
}

// typeOf reads a data type.
func typeOf(m []byte) (datatype, error) {
	if len(m) < 8 {
		return datatype{}, errors.New("a data type cut short: the file is damaged")
	}
	t := datatype{class: m[0] & 0x0f, size: int(binary.LittleEndian.Uint32(m[4:])), signed: m[1]&8 != 0}
	bigEndian := m[1]&1 != 0
	ok := false
	switch t.class {
	case intClass:
		ok = !bigEndian && (t.size == 1 || t.size == 2 || t.size == 4 || t.size == 8)
	case floatClass:
		ok = !bigEndian && (t.size == 4 || t.size == 8)
	case stringClass:
		ok = t.size > 0 && t.size <= maxDataset
	case vlenClass:
		ok = m[1]&0x0f == 1 && t.size == 16
	}
	if !ok {
		return t, fmt.Errorf("elements of class %d with %d bytes, must be integers or floats (little-endian), or texts", t.class, t.size)
	}
	return t, nil
}

// Floats returns the values of a data set of floats.
func (d *Dataset) Floats() ([]float32, error) {
	if d.t.class != floatClass {
		return nil, d.o.named(errors.New("must be floats"))
	}
	raw, err := d.raw()
	if err != nil {
		return nil, d.o.named(err)
	}
	if err := memory.Check(4 * int64(d.n)); err != nil {
		return nil, d.o.named(err)
	}
	values := make([]float32, d.n)
	for i := range values {
		if d.t.size == 4 {
			values[i] = math.Float32frombits(binary.LittleEndian.Uint32(raw[4*i:]))
		} else {
			values[i] = float32(math.Float64frombits(number(raw[8*i:])))
		}
	}
	return values, nil
}

// Ints returns the values of a data set of integers.
func (d *Dataset) Ints() ([]int64, error) {
	if d.t.class != intClass {
		return nil, d.o.named(errors.New("must be integers"))
	}
	raw, err := d.raw()
	if err != nil {
		return nil, d.o.named(err)
	}
	if err := memory.Check(8 * int64(d.n)); err != nil {
		return nil, d.o.named(err)
	}
	values := make([]int64, d.n)
	for i := range values {
		var wide [8]byte
		b := raw[i*d.t.size : (i+1)*d.t.size]
		copy(wide[:], b)
		if d.t.signed && b[len(b)-1]&0x80 != 0 {
			for j := len(b); j < 8; j++ {
				wide[j] = 0xff
			}
		}
		values[i] = int64(number(wide[:]))
	}
	return values, nil
}

// sliceSize is the bytes of a slice without what it holds.
const sliceSize = 24

// Texts returns the values of a data set of texts.
func (d *Dataset) Texts() ([][]byte, error) {
	if d.t.class != stringClass && d.t.class != vlenClass {
		return nil, d.o.named(errors.New("must be texts"))
	}
	raw, err := d.raw()
	if err != nil {
		return nil, d.o.named(err)
	}
	if err := memory.Check(sliceSize * int64(d.n)); err != nil {
		return nil, d.o.named(err)
	}
	texts, heaps := make([][]byte, d.n), map[uint64]*collection{}
	for i := range texts {
		b := raw[i*d.t.size : (i+1)*d.t.size]
		if d.t.class == stringClass {
			texts[i] = trimmed(b)
			continue
		}
		if texts[i], err = d.o.f.text(heaps, b); err != nil {
			return nil, d.o.named(fmt.Errorf("element %d: %w", i, err))
		}
	}
	return texts, nil
}

// trimmed returns a text of fixed length without the zeros that pad it.
func trimmed(b []byte) []byte {
	for len(b) > 0 && b[len(b)-1] == 0 {
		b = b[:len(b)-1]
	}
	return b
}
