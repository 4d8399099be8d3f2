package tuners

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/fedfast/fedfast/kernels/det"
)

// ValueKind says what a Value holds.
type ValueKind uint8

// The kinds of a Value. None is the zero Value, which stands for "absent".
const (
	NoneValue ValueKind = iota
	NumValue
	StrValue
	BoolValue
)

// Value is a number, a string or a bool. Values are comparable with ==; the zero
// Value means "absent". JSON and TOML forms are the plain literals and give back
// the same bits.
type Value struct {
	kind ValueKind
	num  float64
	str  string
}

// Num returns a Value that holds a number.
func Num(x float64) Value { return Value{kind: NumValue, num: x} }

// Str returns a Value that holds a string.
func Str(s string) Value { return Value{kind: StrValue, str: s} }

// Bool returns a Value that holds a bool.
func Bool(b bool) Value {
	v := Value{kind: BoolValue}
	if b {
		v.num = 1
	}
	return v
}

// ValueOf turns what a TOML or JSON decoder gives (integers, floats, strings,
// bools) into a Value.
func ValueOf(x any) (Value, error) {
	switch x := x.(type) {
	case Value:
		return x, nil
	case float64:
		return Num(x), nil
	case float32:
		return Num(float64(x)), nil
	case int:
		return Num(float64(x)), nil
	case int64:
		return Num(float64(x)), nil
	case json.Number:
		f, err := x.Float64()
		return Num(f), err
	case string:
		return Str(x), nil
	case bool:
		return Bool(x), nil
	}
	return Value{}, fmt.Errorf("a value must be a number, a string or a bool, not %T", x)
}

// Kind returns what v holds.
func (v Value) Kind() ValueKind { return v.kind }

// Float returns the number that v holds, and whether it holds one.
func (v Value) Float() (float64, bool) { return v.num, v.kind == NumValue }

// Text returns the string that v holds, and whether it holds one.
func (v Value) Text() (string, bool) { return v.str, v.kind == StrValue }

// Truth returns the bool that v holds, and whether it holds one.
func (v Value) Truth() (value, ok bool) {
	return v.kind == BoolValue && v.num == 1, v.kind == BoolValue
}

// Any returns v as a float64, a string, a bool, or nil when it is absent.
func (v Value) Any() any {
	switch v.kind {
	case NumValue:
		return v.num
	case StrValue:
		return v.str
	case BoolValue:
		return v.num == 1
	case NoneValue:
	}
	return nil
}

// String returns the shortest text that reads back as v: 0.01, sgd, true.
func (v Value) String() string {
	switch v.kind {
	case NumValue:
		return strconv.FormatFloat(v.num, 'g', -1, 64)
	case StrValue:
		return v.str
	case BoolValue:
		return strconv.FormatBool(v.num == 1)
	case NoneValue:
	}
	return "none"
}

// MarshalJSON writes the plain JSON literal. A number that is not finite is an
// error.
func (v Value) MarshalJSON() ([]byte, error) {
	switch v.kind {
	case NumValue:
		if !det.Finite(v.num) {
			return nil, fmt.Errorf("number %v cannot be represented in JSON", v.num)
		}
		return []byte(v.String()), nil
	case StrValue:
		return json.Marshal(v.str)
	case BoolValue:
		return []byte(v.String()), nil
	case NoneValue:
	}
	return []byte("null"), nil
}

// UnmarshalJSON reads a JSON number, string, bool or null.
func (v *Value) UnmarshalJSON(b []byte) error {
	var x any
	if err := json.Unmarshal(b, &x); err != nil {
		return err
	}
	if x == nil {
		*v = Value{}
		return nil
	}
	w, err := ValueOf(x)
	if err == nil {
		*v = w
	}
	return err
}

// MarshalTOML writes the plain TOML literal.
func (v Value) MarshalTOML() ([]byte, error) {
	switch v.kind {
	case NumValue:
		switch {
		case math.IsNaN(v.num):
			return []byte("nan"), nil
		case math.IsInf(v.num, 0):
			return []byte(strings.ToLower(v.String())), nil
		}
		s := v.String()
		if !strings.ContainsAny(s, ".e") && (v.num != math.Trunc(v.num) || math.Abs(v.num) >= 1<<53 || math.Signbit(v.num) && v.num == 0) {
			s += ".0"
		}
		return []byte(s), nil
	case StrValue:
		return []byte(quoteTOML(v.str)), nil
	case BoolValue:
		return []byte(v.String()), nil
	case NoneValue:
	}
	return nil, errors.New("missing value cannot be represented in TOML")
}

// UnmarshalTOML takes what a TOML decoder read.
func (v *Value) UnmarshalTOML(x any) error {
	w, err := ValueOf(x)
	if err == nil {
		*v = w
	}
	return err
}

// quoteTOML writes s as a basic TOML string.
func quoteTOML(s string) string {
	var b strings.Builder
	b.WriteByte('"')
	for _, r := range s {
		switch {
		case r == '"' || r == '\\':
			b.WriteByte('\\')
			b.WriteRune(r)
		case r < ' ' || r == 0x7f:
			fmt.Fprintf(&b, `\u%04X`, r)
		default:
			b.WriteRune(r)
		}
	}
	b.WriteByte('"')
	return b.String()
}
