// Package key reads the properties of the keys of a study file from the tags of the
// struct fields that hold their values:
//
//	Momentum float64 `toml:"momentum" in:"[0, 1)" also:"beta"`
//
// The tags are: toml, the name within the struct's table (a field without it is not a
// key); in, the range of a number; of, the values of a string, separated by spaces; also,
// other names, from which errors suggest the right one; by, the only command that reads the
// key, or all keys of a table; with, the values of another key that use this one, separated
// by spaces; doc, a one-line description. A key of this module has no tag doc: the last
// paragraph of its field's comment describes it, from which go test makes docs.go.
package key

import (
	"cmp"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"
)

// module begins the paths of packages whose keys are in docs.
const module = "github.com/fedfast/fedfast/"

// Key describes one key.
type Key struct {
	// Name is the dotted name: client.lr.
	Name string
	// Doc is a one-line description.
	Doc string
	// In is the range of a number, or of the numbers of a list.
	In Range
	// Words are the allowed strings, nil for any.
	Words []string
	// Also lists other names of the key.
	Also []string
	// By is the only command that reads the key, empty for all.
	By string
	// With are the values of another key that use this one, nil for all.
	With []string
	// Index is the index of the field in the struct, see
	// reflect.Value.FieldByIndex.
	Index []int
	// Tag holds the tags of the field.
	Tag reflect.StructTag

	of reflect.Type
}

// Of returns the keys of a struct type, in the order of its fields, with prefix before
// their names. A field that is a struct is a table of keys, unless its fields have no
// tags: then it is one key, like a map.
func Of(t reflect.Type, prefix string) []Key {
	var keys []Key
	for i := range t.NumField() {
		f := t.Field(i)
		name, _, _ := strings.Cut(f.Tag.Get("toml"), ",")
		switch {
		case name == "-" || name == "" && !f.Anonymous:
		case f.Anonymous:
			keys = append(keys, below(i, Of(f.Type, prefix))...)
		case f.Type.Kind() == reflect.Struct && len(Of(f.Type, "")) > 0:
			table := below(i, Of(f.Type, prefix+name+"."))
			for k := range table {
				table[k].By = cmp.Or(table[k].By, f.Tag.Get("by"))
			}
			keys = append(keys, table...)
		default:
			k := newKey(prefix+name, i, f)
			k.Doc = cmp.Or(k.Doc, docs[strings.TrimPrefix(t.PkgPath(), module)+"."+t.Name()+"."+f.Name])
			keys = append(keys, k)
		}
	}
	return keys
}

// below prepends the index of a struct to those of its fields.
func below(i int, keys []Key) []Key {
	for k := range keys {
		keys[k].Index = slices.Insert(keys[k].Index, 0, i)
	}
	return keys
}

func newKey(name string, i int, f reflect.StructField) Key {
	k := Key{
		Name: name, Doc: f.Tag.Get("doc"), Also: strings.Fields(f.Tag.Get("also")), Words: strings.Fields(f.Tag.Get("of")),
		By: f.Tag.Get("by"), With: strings.Fields(f.Tag.Get("with")), Index: []int{i}, Tag: f.Tag, of: f.Type,
	}
	if in, ok := f.Tag.Lookup("in"); ok {
		k.In = In(in)
	}
	return k
}

// Type returns the name of the value's type for errors and the reference.
func (k Key) Type() string {
	if k.of.Kind() == reflect.Slice {
		return "list of " + typeName(k.of.Elem()) + "s"
	}
	return typeName(k.of)
}

func typeName(t reflect.Type) string {
	switch t.Kind() {
	case reflect.Pointer:
		return typeName(t.Elem())
	case reflect.Bool:
		return "boolean"
	case reflect.Int, reflect.Uint64:
		return "integer"
	case reflect.Float64:
		return "number"
	case reflect.Struct, reflect.Map:
		return "table"
	default:
		return "string"
	}
}

// Whole reports whether the key's numbers are integers.
func (k Key) Whole() bool {
	return elem(k.of).Kind() == reflect.Int || elem(k.of).Kind() == reflect.Uint64
}

// Truth reports whether the key is a boolean.
func (k Key) Truth() bool { return elem(k.of).Kind() == reflect.Bool }

// Text reports whether the key is a string.
func (k Key) Text() bool { return elem(k.of).Kind() == reflect.String }

func elem(t reflect.Type) reflect.Type {
	if t.Kind() == reflect.Slice || t.Kind() == reflect.Pointer {
		return t.Elem()
	}
	return t
}

// Want describes the allowed values, for an error: "a positive integer".
func (k Key) Want() string {
	switch elem(k.of).Kind() {
	case reflect.Bool:
		return "true or false"
	case reflect.String:
		switch len(k.Words) {
		case 0:
			return "a string"
		case 1:
			return strconv.Quote(k.Words[0])
		}
		return "one of " + strings.Join(k.Words, ", ")
	default:
		return k.In.words(k.Whole())
	}
}

// Allowed returns the allowed values for the reference: a range or a list of strings,
// empty if the type does not restrict them.
func (k Key) Allowed() string {
	if len(k.Words) > 0 {
		return strings.Join(k.Words, ", ")
	}
	return k.In.String()
}

// Check returns an error that names the key unless the value of its field in a struct is
// allowed. For a list every element must be allowed.
func (k Key) Check(s reflect.Value) error {
	v := s.FieldByIndex(k.Index)
	if v.Kind() != reflect.Slice {
		return k.check(v)
	}
	for i := range v.Len() {
		if err := k.check(v.Index(i)); err != nil {
			return err
		}
	}
	return nil
}

func (k Key) check(v reflect.Value) error {
	right := true
	switch v.Kind() {
	case reflect.Int:
		right = k.In.Holds(float64(v.Int()))
	case reflect.Float64:
		right = k.In.Holds(v.Float())
		if right && math.Abs(v.Float()) > math.MaxFloat32 { // the engine computes in 32 bits
			return &Error{k.Name, fmt.Sprintf(" = %s: exceeds the range of float32 (%.3g)", shown(v), math.MaxFloat32)}
		}
	case reflect.String:
		right = len(k.Words) == 0 || slices.Contains(k.Words, v.String())
	default: // booleans, and seeds: any value
	}
	if right {
		return nil
	}
	return &Error{k.Name, fmt.Sprintf(" = %s: must be %s", shown(v), k.Want())}
}

// UsedWith reports whether one of the values of other keys uses the key.
func (k Key) UsedWith(values ...string) bool {
	return len(k.With) == 0 || slices.ContainsFunc(k.With, func(v string) bool { return slices.Contains(values, v) })
}

// shown formats a value for errors.
func shown(v reflect.Value) string {
	if v.Kind() == reflect.String {
		return fmt.Sprintf("%.200q", v.String())
	}
	return fmt.Sprint(v.Interface())
}

// Error is an invalid value of a key.
type Error struct {
	// Key is the key in the study file.
	Key string
	// Problem follows the key in the error's text.
	Problem string
}

// Error implements the error interface.
func (e *Error) Error() string { return e.Key + e.Problem }
