package fl

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"math"
	"reflect"

	"github.com/fedfast/fedfast/fl/internal/clock"
)

// The binary forms of a part and of scores, all numbers little-endian; vectors and the
// checksum at the end are as in a snapshot:
//
//	8 bytes   "ffpart", 0, the version: 5
//	uint64    weight, number, clients taken, the first slot
//	vector    sum, extra, signs
//	uint32    number of rows, then the weight and the vector of each
//	uint32    number of slots, then the numbers of each
//
//	8 bytes   "ffexam", 0, the version: 2
//	uint32    number of clients, then for each four times: the score's numbers, the
//	          examples, the number of masks, and of each the error and the labels
//
// A number is a uint64: the bits of a float64, or an integer. The length of a list comes
// before its numbers.
const (
	partMagic = "ffpart\x00\x05"
	examMagic = "ffexam\x00\x02"
)

// maxList is more than the outputs of a network are.
const maxList = 1 << 20

// numbersOf calls f with every number in a struct, in the order of its fields, but for
// hyperparameters and jobs, which who has a slot trained knows, and what only rounds that are
// trained whole need, which is unexported; and with every list, before what is in it.
func numbersOf(v reflect.Value, f func(reflect.Value)) {
	if v.Kind() != reflect.Struct {
		f(v)
		if v.Kind() == reflect.Slice {
			for i := range v.Len() {
				numbersOf(v.Index(i), f)
			}
		}
		return
	}
	for of, field := range v.Fields() {
		if t := field.Type(); of.IsExported() && t != reflect.TypeFor[ClientParams]() && t != reflect.TypeFor[clock.Job]() {
			numbersOf(field, f)
		}
	}
}

func (e *snapshotWriter) number(v reflect.Value) {
	switch v.Kind() {
	case reflect.Float64:
		e.uint64(math.Float64bits(v.Float()))
	case reflect.Bool:
		if v.Bool() {
			e.uint64(1)
		} else {
			e.uint64(0)
		}
	case reflect.Slice:
		e.uint64(uint64(v.Len()))
	default:
		e.uint64(uint64(v.Int()))
	}
}

func (d *snapshotReader) uint64() uint64 { return binary.LittleEndian.Uint64(d.bytes(8)) }

func (d *snapshotReader) number(v reflect.Value) {
	x := d.uint64()
	switch v.Kind() {
	case reflect.Float64:
		v.SetFloat(math.Float64frombits(x))
	case reflect.Bool:
		v.SetBool(x != 0)
	case reflect.Slice:
		left, known := d.left()
		switch {
		case d.err != nil || x == 0:
		case known && x > left/8:
			d.err = io.ErrUnexpectedEOF
		case x > maxList:
			d.err = fmt.Errorf("it is damaged: a list of %d", x)
		default:
			v.Set(reflect.MakeSlice(v.Type(), int(x), int(x)))
		}
	default:
		v.SetInt(int64(x))
	}
}

// end writes the checksum.
func (e *snapshotWriter) end(what string) (int64, error) {
	e.write(binary.LittleEndian.AppendUint32(nil, e.crc.Sum32()))
	if e.err == nil {
		e.err = e.w.Flush()
	}
	if e.err != nil {
		return e.n, fmt.Errorf("%s: %w", what, e.err)
	}
	return e.n, nil
}

// end reads the checksum and returns what is wrong.
func (d *snapshotReader) end(what string) error {
	want := d.crc.Sum32()
	if sum := d.bytes(4); d.err == nil && binary.LittleEndian.Uint32(sum) != want {
		d.err = errors.New("it is damaged: its checksum is wrong")
	}
	if errors.Is(d.err, io.EOF) || errors.Is(d.err, io.ErrUnexpectedEOF) {
		d.err = errors.New("it is cut off")
	}
	if d.err != nil {
		return fmt.Errorf("%s: %w", what, d.err)
	}
	return nil
}

// magic reads the first bytes.
func (d *snapshotReader) magic(want, what string) {
	if got := string(d.bytes(len(want))); d.err == nil && got != want {
		d.err = fmt.Errorf("not a %s of this version", what)
	}
}

func newSnapshotWriter(w io.Writer) *snapshotWriter {
	return &snapshotWriter{w: bufio.NewWriterSize(w, 1<<16), crc: crc32.New(castagnoli)}
}

func newSnapshotReader(r io.Reader) *snapshotReader {
	return &snapshotReader{r: bufio.NewReaderSize(r, 1<<16), from: r, crc: crc32.New(castagnoli)}
}

// writeTo writes the part in its binary form, which readPart reads; without the
// hyperparameters of its slots.
func (p *part) writeTo(w io.Writer) error {
	e := newSnapshotWriter(w)
	e.write([]byte(partMagic))
	for _, x := range []float64{p.Weight, p.Number} {
		e.uint64(math.Float64bits(x))
	}
	e.uint64(uint64(p.Taken))
	e.uint64(uint64(p.Lo))
	for _, v := range [][]float32{p.Sum, p.Extra, p.Signs} {
		e.vector(v)
	}
	e.uint32(len(p.Rows))
	for i, row := range p.Rows {
		e.uint64(math.Float64bits(p.RowWeights[i]))
		e.vector(row)
	}
	e.uint32(len(p.Slots))
	for i := range p.Slots {
		numbersOf(reflect.ValueOf(p.Slots[i]), e.number)
	}
	_, err := e.end("part of a round")
	return err
}

// readPart reads what part.writeTo wrote. What is cut off, damaged or of another
// version is an error.
func readPart(r io.Reader) (*part, error) {
	d := newSnapshotReader(r)
	d.magic(partMagic, "part of a round")
	p := &part{Weight: math.Float64frombits(d.uint64()), Number: math.Float64frombits(d.uint64()), Taken: d.index(), Lo: d.index()}
	p.Sum, p.Extra, p.Signs = d.vector(), d.vector(), d.vector()
	for range d.count() {
		weight, row := math.Float64frombits(d.uint64()), d.vector()
		if d.err != nil {
			break
		}
		p.RowWeights, p.Rows = append(p.RowWeights, weight), append(p.Rows, row)
	}
	for range d.count() {
		var s Slot
		numbersOf(reflect.ValueOf(&s).Elem(), d.number)
		if d.err != nil {
			break
		}
		p.Slots = append(p.Slots, s)
	}
	return p, d.end("part of a round")
}

// writeScores writes scores in their binary form, which readScores reads.
func writeScores(w io.Writer, scores []clientScores) error {
	e := newSnapshotWriter(w)
	e.write([]byte(examMagic))
	e.uint32(len(scores))
	for i := range scores {
		for _, set := range scores[i].sets() {
			numbersOf(reflect.ValueOf(set.Score), e.number)
			e.uint64(uint64(set.n))
			e.uint32(len(set.masked))
			for _, m := range set.masked {
				e.uint64(math.Float64bits(m.err))
				e.uint64(uint64(m.left))
			}
		}
	}
	_, err := e.end("scores of clients")
	return err
}

// readScores reads what writeScores wrote. What is cut off, damaged or of another
// version is an error.
func readScores(r io.Reader) ([]clientScores, error) {
	d := newSnapshotReader(r)
	d.magic(examMagic, "score file")
	var scores []clientScores
	for range d.count() {
		var c clientScores
		for _, set := range c.sets() {
			numbersOf(reflect.ValueOf(&set.Score).Elem(), d.number)
			set.n = d.index()
			for range d.count() {
				if d.err != nil {
					break
				}
				set.masked = append(set.masked, maskedScore{math.Float64frombits(d.uint64()), d.index()})
			}
		}
		if d.err != nil {
			break
		}
		scores = append(scores, c)
	}
	return scores, d.end("scores of clients")
}

// sets are the scores on all sets of examples.
func (c *clientScores) sets() []*setScore {
	return []*setScore{&c.globalVal, &c.globalTest, &c.personalVal, &c.personalTest}
}
