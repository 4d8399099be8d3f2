package tff

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"

	"google.golang.org/protobuf/encoding/protowire"
)

// Example is a decoded tf.train.Example: features by name, each a list of
// floats, integers or texts. Its memory is used again for the next one.
type Example struct {
	features []feature
	used     int
}

// kind is which list of a tf.train.Feature is set; its field's number.
type kind = protowire.Number

const (
	textKind  kind = 1 // bytes_list
	floatKind kind = 2 // float_list
	intKind   kind = 3 // int64_list
)

var kindNames = map[kind]string{0: "nothing", textKind: "bytes", floatKind: "floats", intKind: "integers"}

type feature struct {
	name   string
	kind   kind
	floats []float32
	ints   []int64
	texts  [][]byte // parts of the message
}

// len returns the number of values.
func (f *feature) len() int {
	switch f.kind {
	case textKind:
		return len(f.texts)
	case floatKind:
		return len(f.floats)
	case intKind:
		return len(f.ints)
	default:
		return 0
	}
}

// maxFeatures bounds the features of an example; Stack Overflow's have six.
const maxFeatures = 100

var errWire = errors.New("is no tf.train.Example")

// Decode reads a serialized tf.train.Example: field 1 holds the features, whose
// field 1 is a map from a name to a list of values, packed or one by one. e
// refers to message.
func (e *Example) Decode(message []byte) error {
	e.used = 0
	return fields(message, func(n protowire.Number, value []byte, _ uint64) error {
		if n != 1 || value == nil {
			return nil
		}
		return fields(value, func(n protowire.Number, value []byte, _ uint64) error {
			if n != 1 || value == nil {
				return nil
			}
			return e.entry(value)
		})
	})
}

// entry reads an entry of the map: field 1 the name, field 2 the feature.
func (e *Example) entry(message []byte) error {
	if e.used == maxFeatures {
		return fmt.Errorf("has more than %d features, as no example does", maxFeatures)
	}
	if e.used == len(e.features) {
		e.features = append(e.features, feature{})
	}
	f := &e.features[e.used]
	e.used++
	var name, value []byte
	err := fields(message, func(n protowire.Number, v []byte, _ uint64) error {
		switch n {
		case 1:
			name = v
		case 2:
			value = v
		default: // a field of a later version
		}
		return nil
	})
	if err != nil {
		return err
	}
	if string(name) != f.name { // the same order of names needs no new text
		f.name = string(name)
	}
	f.kind, f.floats, f.ints, f.texts = 0, f.floats[:0], f.ints[:0], f.texts[:0]
	return fields(value, func(n protowire.Number, list []byte, _ uint64) error {
		if list == nil || n < textKind || n > intKind {
			return nil
		}
		f.kind = n
		return fields(list, f.value)
	})
}

// value reads one field of a list: a value, or a packed run of them.
func (f *feature) value(n protowire.Number, value []byte, number uint64) error {
	switch {
	case n != 1:
	case f.kind == textKind:
		if value == nil {
			return errWire
		}
		f.texts = append(f.texts, value)
	case value == nil && f.kind == floatKind:
		f.floats = append(f.floats, math.Float32frombits(uint32(number)))
	case value == nil:
		f.ints = append(f.ints, int64(number))
	case f.kind == floatKind:
		if len(value)%4 != 0 {
			return errWire
		}
		for ; len(value) > 0; value = value[4:] {
			f.floats = append(f.floats, math.Float32frombits(binary.LittleEndian.Uint32(value)))
		}
	default:
		for len(value) > 0 {
			v, size := protowire.ConsumeVarint(value)
			if size < 0 {
				return errWire
			}
			f.ints = append(f.ints, int64(v))
			value = value[size:]
		}
	}
	return nil
}

// fields calls each for every field of a message: value holds the bytes of one
// with a length and is never nil then, number the value of one without.
func fields(message []byte, each func(n protowire.Number, value []byte, number uint64) error) error {
	for len(message) > 0 {
		n, wire, size := protowire.ConsumeTag(message)
		if size < 0 {
			return errWire
		}
		message = message[size:]
		var value []byte
		var number uint64
		switch wire {
		case protowire.BytesType:
			if value, size = protowire.ConsumeBytes(message); value == nil {
				value = []byte{}
			}
		case protowire.VarintType:
			number, size = protowire.ConsumeVarint(message)
		case protowire.Fixed32Type:
			var v uint32
			v, size = protowire.ConsumeFixed32(message)
			number = uint64(v)
		default:
			size = protowire.ConsumeFieldValue(n, wire, message)
		}
		if size < 0 {
			return errWire
		}
		message = message[size:]
		if wire == protowire.BytesType || wire == protowire.VarintType || wire == protowire.Fixed32Type {
			if err := each(n, value, number); err != nil {
				return err
			}
		}
	}
	return nil
}

// find returns a feature with n values of one kind.
func (e *Example) find(name string, k kind, n int) (*feature, error) {
	var found *feature
	for i := range e.features[:e.used] {
		f := &e.features[i]
		switch {
		case f.name != name:
		case found != nil:
			return nil, fmt.Errorf("has feature %s twice", name)
		default:
			found = f
		}
	}
	if found == nil {
		return nil, fmt.Errorf("has no feature %s", name)
	}
	if found.kind != k || found.len() != n {
		return nil, fmt.Errorf("feature %s holds %d %s, must be %d %s", name, found.len(), kindNames[found.kind], n, kindNames[k])
	}
	return found, nil
}

// Floats returns the n floats of a feature, valid until the next Decode.
func (e *Example) Floats(name string, n int) ([]float32, error) {
	f, err := e.find(name, floatKind, n)
	if err != nil {
		return nil, err
	}
	return f.floats, nil
}

// Ints returns the n integers of a feature, valid until the next Decode.
func (e *Example) Ints(name string, n int) ([]int64, error) {
	f, err := e.find(name, intKind, n)
	if err != nil {
		return nil, err
	}
	return f.ints, nil
}

// Text returns the one text of a feature, valid as long as the message.
func (e *Example) Text(name string) ([]byte, error) {
	f, err := e.find(name, textKind, 1)
	if err != nil {
		return nil, err
	}
	return f.texts[0], nil
}

// Label returns the one integer of a feature, which must be in [0, classes).
func (e *Example) Label(name string, classes int) (int32, error) {
	v, err := e.Ints(name, 1)
	if err != nil {
		return 0, err
	}
	if v[0] < 0 || v[0] >= int64(classes) {
		return 0, fmt.Errorf("%s %d must be in 0 to %d", name, v[0], classes-1)
	}
	return int32(v[0]), nil
}
