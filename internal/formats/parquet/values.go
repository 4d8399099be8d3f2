package parquet

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"math/big"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/parquet-go/parquet-go/format"

	"github.com/fedfast/fedfast/internal/sys/memory"
)

// oldDictionary is what older writers call values of a dictionary, and the dictionary.
const oldDictionary format.Encoding = 2

// Value is a value of a column.
type Value struct {
	// Int is an integer, or 1 of a boolean that is true.
	Int int64
	// Float is a number.
	Float float64
	// Bytes are the bytes of a text; what reads them must not change or keep them.
	Bytes []byte
	// Missing says that the row has no value.
	Missing bool
}

// Cell returns the text of a value of the column, or else its number, NaN of none; integers that a float64 does not
// hold are texts.
func (c *Column) Cell(v Value) (text string, x float64, err error) {
	switch {
	case v.Missing:
		return "", math.NaN(), nil
	case c.Kind == ByteArray || c.Kind == Fixed:
		return c.bytes(v.Bytes)
	case c.Kind == Float || c.Kind == Double || c.Kind == Int96:
		return "", v.Float, nil
	case c.Kind == Boolean:
		return strconv.FormatBool(v.Int == 1), 0, nil
	case c.Unsigned && c.Kind == Int32:
		v.Int = int64(uint32(v.Int))
	case c.Unsigned && v.Int < 0:
		return strconv.FormatUint(uint64(v.Int), 10), 0, nil
	case c.Scale == 1 && max(v.Int, -v.Int) >= 1<<53:
		return strconv.FormatInt(v.Int, 10), 0, nil
	}
	return "", float64(v.Int) / c.Scale, nil
}

// bytes is Cell of bytes: a text, a number of any length, big end first, or an identifier of 16 bytes.
func (c *Column) bytes(b []byte) (text string, x float64, err error) {
	switch {
	case c.Decimal:
		whole := new(big.Int).SetBytes(b)
		if len(b) > 0 && b[0] >= 1<<7 { // the sign
			whole.Sub(whole, new(big.Int).Lsh(big.NewInt(1), uint(8*len(b))))
		}
		if x, _ = new(big.Float).SetInt(whole).Float64(); c.Scale == 1 && math.Abs(x) >= 1<<53 {
			return whole.String(), 0, nil
		}
		return "", x / c.Scale, nil
	case c.opaque:
		return "", 0, errors.New("its values are float16 or intervals, which are not read; save them as float32")
	case c.uuid && len(b) == 16:
		return fmt.Sprintf("%x-%x-%x-%x-%x", b[:4], b[4:6], b[6:8], b[8:10], b[10:]), 0, nil
	case !utf8.Valid(b):
		return "", 0, fmt.Errorf("%.40q is not valid UTF-8; save texts in UTF-8", b)
	}
	return strings.TrimSpace(string(b)), math.NaN(), nil
}

// values gives one value after the other.
type values interface{ next() (Value, error) }

// nothing has no values.
type nothing struct{}

func (nothing) next() (Value, error) { return Value{}, errShort }

// values returns the values of a data page.
func (r *reader) values(h head, body []byte) (values, error) {
	kind, budget := r.column.Kind, r.f.Budget
	switch h.encoding {
	case format.Plain:
		return &plain{kind: kind, width: r.column.width(), b: body}, nil
	case oldDictionary, format.RLEDictionary:
		if r.dictionary == nil {
			return nil, damaged("there is no dictionary")
		}
		c := compact{b: body}
		bits := byte(0)
		if h.values > 0 {
			b, err := c.bytes(1)
			if err != nil || b[0] > 32 {
				return nil, damaged("numbers of %d bits in the dictionary", b)
			}
			bits = b[0]
		}
		return &referred{runs{c: c, bits: int(bits)}, r.dictionary}, nil
	case format.RLE:
		if kind != Boolean {
			break
		}
		part, _, err := prefixed(body)
		if err != nil {
			return nil, err
		}
		return &booleans{runs{c: compact{b: part}, bits: 1}}, nil
	case format.DeltaBinaryPacked:
		if kind != Int32 && kind != Int64 {
			break
		}
		d, err := newDelta(compact{b: body}, h.values)
		return &whole{d, kind}, err
	case format.DeltaLengthByteArray:
		if kind != ByteArray {
			break
		}
		return newTexts(body, h.values, budget)
	case format.DeltaByteArray:
		if kind != ByteArray {
			break
		}
		c := compact{b: body}
		prefixes, err := lengths(&c, h.values, budget)
		if err != nil {
			return nil, err
		}
		rest, err := newTexts(c.b, h.values, budget)
		return &joined{prefixes: prefixes, rest: rest, budget: budget}, err
	case format.ByteStreamSplit:
		w := r.column.width()
		if w == 0 || int64(len(body)) != int64(w)*h.values {
			return nil, damaged("%d values of %d bytes each in %d bytes", h.values, w, len(body))
		}
		return &split{kind: kind, width: w, b: body, n: int(h.values)}, nil
	default:
	}
	return nil, fmt.Errorf("values of type %v in encoding %v, which is not read", kind, h.encoding)
}

// width returns the bytes of a value of the column, 0 where each says its own.
func (c *Column) width() int {
	return map[Kind]int{Int32: 4, Float: 4, Int64: 8, Double: 8, Int96: 12, Fixed: max(0, c.length)}[c.Kind]
}

// number reads a value of a kind from the bytes that it has.
func number(kind Kind, b []byte) Value {
	switch kind {
	case Int32:
		return Value{Int: int64(int32(binary.LittleEndian.Uint32(b)))}
	case Int64:
		return Value{Int: int64(binary.LittleEndian.Uint64(b))}
	case Int96: // nanoseconds of a Julian day
		day := float64(int32(binary.LittleEndian.Uint32(b[8:]))) - 2440588
		return Value{Float: day + float64(binary.LittleEndian.Uint64(b))/864e11}
	case Float:
		return Value{Float: float64(math.Float32frombits(binary.LittleEndian.Uint32(b)))}
	case Fixed:
		return Value{Bytes: b}
	default:
		return Value{Float: math.Float64frombits(binary.LittleEndian.Uint64(b))}
	}
}

// plain are values as they are, one after the other.
type plain struct {
	kind   Kind
	width  int
	b      []byte
	at     int      // bytes, of booleans bits
	n      int64    // of an index: values
	starts []uint32 // of an index: where texts begin
}

func (p *plain) next() (Value, error) {
	switch w := p.width; {
	case p.kind == Boolean:
		if p.at >= 8*len(p.b) {
			return Value{}, errShort
		}
		p.at++
		return Value{Int: int64(p.b[(p.at-1)/8] >> ((p.at - 1) % 8) & 1)}, nil
	case p.kind == ByteArray:
		part, _, err := prefixed(p.b[p.at:])
		p.at += 4 + len(part)
		return Value{Bytes: part}, err
	case w == 0:
		return Value{}, fmt.Errorf("values of type %v are not read", p.kind)
	case len(p.b)-p.at < w:
		return Value{}, errShort
	default:
		p.at += w
		return number(p.kind, p.b[p.at-w:p.at]), nil
	}
}

// index makes get know n values.
func (p *plain) index(n int64, budget *memory.Budget) error {
	p.n = n
	if w := p.width; p.kind != ByteArray {
		if w == 0 || n > int64(len(p.b)/w) {
			return damaged("a dictionary of %d values of type %v in %d bytes", n, p.kind, len(p.b))
		}
		return nil
	}
	if n > int64(len(p.b)/4) || len(p.b) > math.MaxUint32 {
		return damaged("a dictionary of %d texts in %d bytes", n, len(p.b))
	}
	if err := budget.Take(4 * n); err != nil {
		return err
	}
	p.starts = make([]uint32, n)
	for i := range p.starts {
		p.starts[i] = uint32(p.at)
		if _, err := p.next(); err != nil {
			return err
		}
	}
	return nil
}

// get returns value i of an index.
func (p *plain) get(i uint32) (Value, error) {
	if int64(i) >= p.n {
		return Value{}, fmt.Errorf("value %d of a dictionary of %d", i, p.n)
	}
	if p.kind == ByteArray {
		part, _, err := prefixed(p.b[p.starts[i]:])
		return Value{Bytes: part}, err
	}
	return number(p.kind, p.b[int(i)*p.width:][:p.width]), nil
}

// runs are small numbers: runs of equal ones, and groups of eight, bit by bit.
type runs struct {
	c      compact
	bits   int
	equal  uint64 // of the run that are left
	value  uint32
	packed []byte // of the groups
	left   uint64
	bit    int
}

func (r *runs) next() (uint32, error) {
	for r.equal == 0 && r.left == 0 {
		head, err := r.c.uvarint()
		if err != nil {
			return 0, err
		}
		if head&1 == 0 {
			b, err := r.c.bytes(uint64((r.bits + 7) / 8))
			if err != nil {
				return 0, err
			}
			var wide [4]byte
			copy(wide[:], b)
			r.equal, r.value = head>>1, binary.LittleEndian.Uint32(wide[:])
			continue
		}
		groups := head >> 1
		if r.bits > 0 {
			groups = min(groups, (uint64(len(r.c.b))+uint64(r.bits)-1)/uint64(r.bits)) // the last one may be cut
		}
		r.left, r.bit = 8*min(groups, 1<<40), 0
		r.packed, _ = r.c.bytes(min(groups*uint64(r.bits), uint64(len(r.c.b)))) // there are as many
	}
	if r.equal > 0 {
		r.equal--
		return r.value, nil
	}
	r.left--
	v, err := bitsAt(r.packed, r.bit, r.bits)
	r.bit += r.bits
	return uint32(v), err
}

// bitsAt returns the n bits from a bit on, the low ones first.
func bitsAt(b []byte, from, n int) (uint64, error) {
	if n == 0 {
		return 0, nil
	}
	if from+n > 8*len(b) {
		return 0, errShort
	}
	var v uint64
	for got := 0; got < n; {
		at, off := (from+got)/8, (from+got)%8
		take := min(8-off, n-got)
		v |= uint64(b[at]>>off) & (1<<take - 1) << got
		got += take
	}
	return v, nil
}

// referred are values of a dictionary.
type referred struct {
	runs
	of *plain
}

func (r *referred) next() (Value, error) {
	i, err := r.runs.next()
	if err != nil {
		return Value{}, err
	}
	return r.of.get(i)
}

// gapped are values of the rows that have one: those whose level is whole.
type gapped struct {
	runs
	whole uint32
	of    values
}

func (g *gapped) next() (Value, error) {
	if level, err := g.runs.next(); err != nil || level != g.whole {
		return Value{Missing: true}, err
	}
	return g.of.next()
}

// booleans are booleans in runs.
type booleans struct{ runs }

func (b *booleans) next() (Value, error) {
	v, err := b.runs.next()
	return Value{Int: int64(v)}, err
}

// delta are integers as differences: blocks of parts, of which each has the bits
// that its largest difference needs.
type delta struct {
	c       compact
	left    int64 // values, with the first
	first   bool
	value   int64
	perPart int
	parts   int
	least   int64  // difference of the block
	widths  []byte // of the parts of the block that are left
	inPart  int    // values that are left in the part
	part    []byte
	bit     int
	width   int
}

// newDelta reads the head of n numbers.
func newDelta(c compact, n int64) (*delta, error) {
	d := &delta{c: c, first: true}
	var head [3]uint64 // values a block, parts a block, values
	for i := range head {
		var err error
		if head[i], err = d.c.uvarint(); err != nil {
			return nil, damaged("%w", err)
		}
	}
	v, err := d.c.varint()
	if err != nil {
		return nil, damaged("%w", err)
	}
	const most = 1 << 20
	if head[0] == 0 || head[0] > most || head[1] == 0 || head[0]%head[1] != 0 || head[0]/head[1]%8 != 0 || head[2] != uint64(n) {
		return nil, damaged("blocks of %d values in %d parts, %d in all, of a page with %d", head[0], head[1], head[2], n)
	}
	d.value, d.left, d.parts, d.perPart = v, n, int(head[1]), int(head[0]/head[1])
	return d, nil
}

func (d *delta) next() (int64, error) {
	if d.left--; d.left < 0 {
		return 0, errShort
	}
	if d.first {
		d.first = false
		return d.value, nil
	}
	if d.inPart == 0 {
		if len(d.widths) == 0 {
			var err error
			if d.least, err = d.c.varint(); err != nil {
				return 0, err
			}
			if d.widths, err = d.c.bytes(uint64(d.parts)); err != nil {
				return 0, err
			}
		}
		if d.width = int(d.widths[0]); d.width > 64 {
			return 0, fmt.Errorf("differences of %d bits", d.width)
		}
		d.widths = d.widths[1:]
		var err error
		if d.part, err = d.c.bytes(uint64(d.perPart / 8 * d.width)); err != nil {
			return 0, err
		}
		d.inPart, d.bit = d.perPart, 0
	}
	v, err := bitsAt(d.part, d.bit, d.width)
	d.bit += d.width
	d.inPart--
	d.value += d.least + int64(v) // which may go around
	return d.value, err
}

// whole are differences as values.
type whole struct {
	*delta
	kind Kind
}

func (w *whole) next() (Value, error) {
	v, err := w.delta.next()
	if w.kind == Int32 {
		v = int64(int32(v))
	}
	return Value{Int: v}, err
}

// lengths reads n lengths, differences, and leaves what follows them.
func lengths(c *compact, n int64, budget *memory.Budget) ([]int64, error) {
	if err := budget.Take(8 * n); err != nil {
		return nil, err
	}
	d, err := newDelta(*c, n)
	if err != nil {
		return nil, err
	}
	list := make([]int64, n)
	for i := range list {
		if list[i], err = d.next(); err != nil {
			return nil, damaged("the lengths of texts: %w", err)
		}
	}
	*c = d.c
	return list, nil
}

// texts are texts one after the other, whose lengths come first.
type texts struct {
	lengths []int64
	b       []byte
}

func newTexts(body []byte, n int64, budget *memory.Budget) (*texts, error) {
	c := compact{b: body}
	list, err := lengths(&c, n, budget)
	return &texts{list, c.b}, err
}

func (t *texts) next() (Value, error) {
	if len(t.lengths) == 0 {
		return Value{}, errShort
	}
	n := t.lengths[0]
	t.lengths = t.lengths[1:]
	if n < 0 || n > int64(len(t.b)) {
		return Value{}, fmt.Errorf("a text of %d bytes, where %d are left", n, len(t.b))
	}
	v := t.b[:n]
	t.b = t.b[n:]
	return Value{Bytes: v}, nil
}

// joined are texts that begin as the one before.
type joined struct {
	prefixes []int64
	rest     *texts
	last     []byte
	budget   *memory.Budget
}

func (j *joined) next() (Value, error) {
	end, err := j.rest.next()
	if err != nil {
		return Value{}, err
	}
	n := j.prefixes[0]
	j.prefixes = j.prefixes[1:]
	if n < 0 || n > int64(len(j.last)) {
		return Value{}, errors.New("a text begins as one that is shorter")
	}
	if err := j.budget.Take(n); err != nil {
		return Value{}, err
	}
	j.last = append(j.last[:n], end.Bytes...)
	return Value{Bytes: j.last}, nil
}

// split are numbers of which first come the first bytes, then the second ones.
type split struct {
	kind  Kind
	width int
	b     []byte
	n     int
	at    int
}

func (s *split) next() (Value, error) {
	if s.at == s.n {
		return Value{}, errShort
	}
	b := make([]byte, s.width)
	for i := range b {
		b[i] = s.b[i*s.n+s.at]
	}
	s.at++
	return number(s.kind, b), nil
}
