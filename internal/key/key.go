// Package key reads what is known of the keys of a study file from the tags of
// the struct fields that hold their values, so that each fact stands once, beside
// its field:
//
//	Momentum float64 `toml:"momentum" in:"[0, 1)" default:"0" doc:"..." also:"beta"`
//
// toml is the name below the table of the struct; a field without it is no key. in
// is the range of numbers, of the words that a text may be, separated by spaces;
// doc says in a line what the key means, and also lists other names for it, from
// which an error guesses the right one; by names the command that reads the key, or
// all keys of a table, where not all do.
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

// Key is what is known of one key.
type Key struct {
	// Name is dotted: client.lr.
	Name string
	// Doc says in a line what the key means.
	Doc string
	// In is the range of a number, or of the numbers of a list.
	In Range
	// Words are those that a text may be, nil for any.
	Words []string
	// Also lists other names of the key.
	Also []string
	// By says which command reads the key, empty for all.
	By string
	// Index is the place of the field in the struct, see
	// reflect.Value.FieldByIndex.
	Index []int
	// Tag holds the tags of the field.
	Tag reflect.StructTag

	of reflect.Type
}

// Of returns the keys of a struct type, in the order of their fields; prefix
// stands before their names. A field that is a struct is a table of keys, unless
// its fields have no tags: then it is one key, as a map is.
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
			keys = append(keys, newKey(prefix+name, i, f))
		}
	}
	return keys
}

// below puts the place of a struct before those of its fields.
func below(i int, keys []Key) []Key {
	for k := range keys {
		keys[k].Index = slices.Insert(keys[k].Index, 0, i)
	}
	return keys
}

func newKey(name string, i int, f reflect.StructField) Key {
	k := Key{Name: name, Doc: f.Tag.Get("doc"), Also: strings.Fields(f.Tag.Get("also")), Words: strings.Fields(f.Tag.Get("of")), By: f.Tag.Get("by"), Index: []int{i}, Tag: f.Tag, of: f.Type}
	if in, ok := f.Tag.Lookup("in"); ok {
		k.In = In(in)
	}
	return k
}

// Type names the type of the key's value, as errors and the reference do.
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
		return "true or false"
	case reflect.Int, reflect.Uint64:
		return "whole number"
	case reflect.Float64:
		return "number"
	case reflect.Struct, reflect.Map:
		return "table"
	default:
		return "text"
	}
}

// Whole says whether the key's numbers are whole.
func (k Key) Whole() bool {
	return elem(k.of).Kind() == reflect.Int || elem(k.of).Kind() == reflect.Uint64
}

// Truth says whether the key is true or false.
func (k Key) Truth() bool { return elem(k.of).Kind() == reflect.Bool }

// Text says whether the key is a text.
func (k Key) Text() bool { return elem(k.of).Kind() == reflect.String }

func elem(t reflect.Type) reflect.Type {
	if t.Kind() == reflect.Slice || t.Kind() == reflect.Pointer {
		return t.Elem()
	}
	return t
}

// Want says what the key's value must be, for an error: "a whole number of 1 or
// more".
func (k Key) Want() string {
	switch elem(k.of).Kind() {
	case reflect.Bool:
		return "true or false"
	case reflect.String:
		switch len(k.Words) {
		case 0:
			return "a text"
		case 1:
			return strconv.Quote(k.Words[0])
		}
		return "one of " + strings.Join(k.Words, ", ")
	default:
		return k.In.words(k.Whole())
	}
}

// Allowed says which values the key may have, as the reference lists them: a
// range or words, empty when its type says all.
func (k Key) Allowed() string {
	if len(k.Words) > 0 {
		return strings.Join(k.Words, ", ")
	}
	return k.In.String()
}

// Check returns an error that names the key unless the value of its field in a
// struct is allowed; of lists, unless every element is.
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
			return &Error{k.Name, fmt.Sprintf(" = %s: is beyond what numbers of 32 bits hold, %.3g", shown(v), math.MaxFloat32)}
		}
	case reflect.String:
		right = len(k.Words) == 0 || slices.Contains(k.Words, v.String())
	default: // truths, and seeds, which may be any
	}
	if right {
		return nil
	}
	return &Error{k.Name, fmt.Sprintf(" = %s: must be %s", shown(v), k.Want())}
}

// shown returns a value as errors show it.
func shown(v reflect.Value) string {
	if v.Kind() == reflect.String {
		return fmt.Sprintf("%.200q", v.String())
	}
	return fmt.Sprint(v.Interface())
}

// Error says what is wrong with the value of a key.
type Error struct {
	// Key is the key as a study file has it.
	Key string
	// Problem follows the key in the text of the error.
	Problem string
}

// Error names the key and the problem.
func (e *Error) Error() string { return e.Key + e.Problem }
