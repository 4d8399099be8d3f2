package parquet

import "encoding/binary"

// thrift is a message in Thrift's compact protocol: fields of a struct follow each
// other by rising numbers.
type thrift struct {
	bytes []byte
	last  []int // the number of the newest field, of each open struct
}

// varint appends a number in base 128, the zigzag form of a signed one.
func (t *thrift) varint(n int64) { t.bytes = binary.AppendVarint(t.bytes, n) }

// uvarint appends an unsigned number in base 128.
func (t *thrift) uvarint(n int) { t.bytes = binary.AppendUvarint(t.bytes, uint64(n)) }

// field begins a field of the open struct.
func (t *thrift) field(number int, kind byte) {
	last := &t.last[len(t.last)-1]
	if delta := number - *last; delta <= 15 {
		t.bytes = append(t.bytes, byte(delta)<<4|kind)
	} else {
		t.bytes = append(t.bytes, kind)
		t.varint(int64(number))
	}
	*last = number
}

// open begins the fields of a struct, close ends them.
func (t *thrift) open() { t.last = append(t.last, 0) }

func (t *thrift) close() {
	t.bytes = append(t.bytes, 0)
	t.last = t.last[:len(t.last)-1]
}

// i32 and i64 append an integer, text a string.
func (t *thrift) i32(number, value int) {
	t.field(number, kindInt32)
	t.varint(int64(value))
}

func (t *thrift) i64(number int, value int64) {
	t.field(number, kindInt64)
	t.varint(value)
}

func (t *thrift) text(number int, value string) {
	t.field(number, kindBinary)
	t.str(value)
}

// str appends an element of a list of strings.
func (t *thrift) str(value string) {
	t.uvarint(len(value))
	t.bytes = append(t.bytes, value...)
}

// list begins a list of n elements.
func (t *thrift) list(number, n int, kind byte) {
	t.field(number, kindList)
	if n < 15 {
		t.bytes = append(t.bytes, byte(n)<<4|kind)
		return
	}
	t.bytes = append(t.bytes, 0xf0|kind)
	t.uvarint(n)
}

// sub appends a struct.
func (t *thrift) sub(number int, fields func()) {
	t.field(number, kindStruct)
	t.open()
	fields()
	t.close()
}
