package npz

import (
	"encoding/binary"
	"fmt"
	"iter"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
	"unsafe"

	"github.com/fedfast/fedfast/internal/sets/own"
	"github.com/fedfast/fedfast/internal/sys/memory"
)

// Len returns the number of values.
func (a *Array) Len() int { return len(a.bytes) / a.Size }

// Type writes the type as NumPy does: uint8, float32, <U5.
func (a *Array) Type() string {
	switch a.Kind {
	case 'u':
		return "uint" + strconv.Itoa(8*a.Size)
	case 'i':
		return "int" + strconv.Itoa(8*a.Size)
	case 'f':
		return "float" + strconv.Itoa(8*a.Size)
	case 'b':
		return "bool"
	case 'U':
		return "<U" + strconv.Itoa(a.Size/4)
	}
	return string(a.Kind) + strconv.Itoa(a.Size)
}

// Bytes returns the values of an array of type uint8 or bool.
func (a *Array) Bytes() ([]byte, error) {
	if a.Size != 1 || a.Kind != 'u' && a.Kind != 'b' {
		return nil, a.errorf("values of type %s, must be uint8", a.Type())
	}
	return a.bytes, nil
}

// Floats returns numbers, rounded to 32 bits. They must be finite.
func (a *Array) Floats() ([]float32, error) {
	get := a.number()
	if get == nil {
		return nil, a.errorf("values of type %s, must be float32, float64 or an integer type; save %s.astype(\"float32\")", a.Type(), a.Name)
	}
	if err := memory.Check(4 * int64(a.Len())); err != nil {
		return nil, a.errorf("as 32-bit floats it %w", err)
	}
	out := make([]float32, a.Len())
	for i := range out {
		x, ok := get(a.bytes[i*a.Size:])
		out[i] = float32(x)
		switch {
		case !ok:
			return nil, a.errorf("value %s is %.0f: floats round such integers; "+
				"save %s.astype(\"float64\") if it is a quantity, leave it out if it is an id", a.place(i), x, a.Name)
		case math.IsInf(float64(out[i]), 0) && !math.IsInf(x, 0):
			return nil, a.errorf("value %s is %v, must be a finite float32; "+
				"save %s / numpy.maximum(numpy.abs(%[3]s).max(axis=0), 1)",
				a.place(i), x, a.Name)
		case x != x || math.IsInf(x, 0):
			return nil, a.missing(i, x)
		}
	}
	return out, nil
}

// number returns what reads a number, nil of another type.
func (a *Array) number() func(b []byte) (x float64, ok bool) {
	switch {
	case a.Kind == 'f' && a.Size == 4:
		return func(b []byte) (float64, bool) { return float64(math.Float32frombits(a.order.Uint32(b))), true }
	case a.Kind == 'f' && a.Size == 8:
		return func(b []byte) (float64, bool) { return math.Float64frombits(a.order.Uint64(b)), true }
	}
	return a.whole()
}

// column returns the numbers of column k of a table of n columns.
func (a *Array) column(k, n int) iter.Seq[float64] {
	get := a.number()
	return func(yield func(float64) bool) {
		for i := k; get != nil && i < a.Len(); i += n {
			if x, _ := get(a.bytes[i*a.Size:]); !yield(x) {
				return
			}
		}
	}
}

// missing is the error of value i that is no number.
func (a *Array) missing(i int, x float64) error {
	way := own.Keep(a.Name, "numpy.isfinite(%s.reshape(len(%[1]s), -1)).all(1)")
	return a.errorf("value %s is %v, must be a finite float32; leave such samples out: %s", a.place(i), x, way)
}

// unread is the error of samples that are not rows of values.
func (a *Array) unread() error {
	switch {
	case slices.Contains(a.Shape, 0):
		return fmt.Errorf("has the shape %v: there are no samples in it", a.Shape)
	case a.Kind == 'U' || a.Kind == 'S':
		return own.Refused("holds texts", "arrays of numbers, and texts from Parquet", "save pandas.DataFrame({\"text\": "+
			"x, \"label\": y, \"client\": client}).to_parquet(\"own.parquet\") and set data.name = \"parquet-text\"")
	}
	return own.Refused(fmt.Sprintf("has the shape %v", a.Shape), "rows of values, one a sample", fmt.Sprintf("save %s.reshape(-1, 1) if each sample is one number", a.Name))
}

// TakeFloats is Floats of an array that is not read again: 32-bit floats stay where they
// are, so that they are in memory once.
func (a *Array) TakeFloats() ([]float32, error) {
	if a.Kind != 'f' || a.Size != 4 || a.Len() == 0 || uintptr(unsafe.Pointer(unsafe.SliceData(a.bytes)))%4 != 0 {
		return a.Floats()
	}
	out := unsafe.Slice((*float32)(unsafe.Pointer(unsafe.SliceData(a.bytes))), a.Len())
	for i := range out {
		x := math.Float32frombits(a.order.Uint32(a.bytes[4*i:]))
		if x != x || math.IsInf(float64(x), 0) {
			return nil, a.missing(i, float64(x))
		}
		out[i] = x
	}
	a.bytes = nil
	return out, nil
}

// Ints returns integers, which must be in [least, most].
func (a *Array) Ints(least, most int32) ([]int32, error) {
	get := a.whole()
	if get == nil {
		return nil, a.errorf("values of type %s, must be integers; save %s.astype(\"int32\"), or numpy.unique(%[2]s, return_inverse=True)[1].reshape(%[2]s.shape) of names", a.Type(), a.Name)
	}
	if err := memory.Check(4 * int64(a.Len())); err != nil {
		return nil, a.errorf("as 32-bit numbers it %w", err)
	}
	out := make([]int32, a.Len())
	for i := range out {
		x, ok := get(a.bytes[i*a.Size:])
		if !ok || x < float64(least) || x > float64(most) {
			one := *a
			one.bytes = a.bytes[i*a.Size:][:a.Size]
			text, _ := one.Texts() // of an integer
			return nil, a.errorf("value %s is %s, must be in %d to %d", a.place(i), text[0], least, most)
		}
		out[i] = int32(x)
	}
	return out, nil
}

// whole returns what reads an integer, nil of another type; ok is false for
// one that a float64 does not hold.
func (a *Array) whole() func(b []byte) (x float64, ok bool) {
	const exact = own.Exact
	if !strings.ContainsRune("uib", rune(a.Kind)) || !slices.Contains([]int{1, 2, 4, 8}, a.Size) {
		return nil
	}
	return func(b []byte) (float64, bool) {
		var wide [8]byte // in the order of little bytes first
		copy(wide[:], b[:a.Size])
		if a.order == binary.BigEndian {
			slices.Reverse(wide[:a.Size])
		}
		n := binary.LittleEndian.Uint64(wide[:])
		if signed := int64(n<<(64-8*a.Size)) >> (64 - 8*a.Size); a.Kind == 'i' {
			return float64(signed), signed >= -exact && signed <= exact
		}
		return float64(n), n <= exact
	}
}

// textSize is about what a text takes in addition to its letters.
const textSize = 32

// Texts returns texts, which integers, also floats that are, are written as.
func (a *Array) Texts() ([]string, error) {
	if err := memory.Check(textSize*int64(a.Len()) + int64(len(a.bytes))); err != nil {
		return nil, a.errorf("as texts it %w", err)
	}
	out := make([]string, a.Len())
	switch get := a.number(); {
	case a.Kind == 'u' && a.Size == 8:
		for i := range out {
			out[i] = strconv.FormatUint(a.order.Uint64(a.bytes[8*i:]), 10)
		}
	case a.Kind == 'i' && a.Size == 8:
		for i := range out {
			out[i] = strconv.FormatInt(int64(a.order.Uint64(a.bytes[8*i:])), 10)
		}
	case get != nil:
		exact := float64(own.Exact)
		if a.Size == 4 && a.Kind == 'f' {
			exact = own.Exact32
		}
		for i := range out {
			x, _ := get(a.bytes[i*a.Size:])
			if x != x {
				return nil, a.missing(i, x)
			}
			var err error
			if out[i], err = own.Whole(a.Name, x, exact); err != nil {
				return nil, a.errorf("%w", err)
			}
		}
	case a.Kind == 'S':
		for i := range out {
			out[i] = strings.TrimRight(string(a.bytes[i*a.Size:][:a.Size]), "\x00")
			if !utf8.ValidString(out[i]) {
				return nil, a.errorf("value %s is not valid UTF-8: %.64q", a.place(i), out[i])
			}
		}
	case a.Kind == 'U':
		var letters []rune
		for i := range out {
			letters = letters[:0]
			for at := 0; at < a.Size; at += 4 {
				letters = append(letters, rune(a.order.Uint32(a.bytes[i*a.Size+at:])))
			}
			out[i] = strings.TrimRight(string(letters), "\x00")
		}
	default:
		return nil, a.errorf("%w", own.Refused("values of type "+a.Type(), "integers and strings", fmt.Sprintf("save %s.astype(str)", a.Name)))
	}
	return out, nil
}

// place writes the index of value i, such as [3, 0].
func (a *Array) place(i int) string {
	index := make([]string, len(a.Shape))
	for k := len(a.Shape) - 1; k >= 0; k-- {
		index[k] = strconv.Itoa(i % a.Shape[k])
		i /= a.Shape[k]
	}
	return "[" + strings.Join(index, ", ") + "]"
}
