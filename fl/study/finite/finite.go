// Package finite writes JSON whose numbers are all finite: a loss that has
// diverged to NaN or infinity, which JSON cannot hold, becomes null.
package finite

import (
	"bytes"
	"encoding/json"
	"maps"
	"math"
	"reflect"
	"slices"
	"strings"
)

// Marshal works as json.Marshal does, with null for floats that are not finite.
func Marshal(v any) ([]byte, error) {
	var b bytes.Buffer
	if err := write(&b, reflect.ValueOf(v)); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}

// MarshalIndent is Marshal with two spaces a level.
func MarshalIndent(v any) ([]byte, error) {
	text, err := Marshal(v)
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	err = json.Indent(&b, text, "", "  ")
	return b.Bytes(), err
}

var marshaler = reflect.TypeFor[json.Marshaler]()

// write writes one value. What can hold a float is done here, everything else by
// encoding/json.
func write(b *bytes.Buffer, v reflect.Value) error {
	switch {
	case !v.IsValid():
		b.WriteString("null")
		return nil
	case v.Type().Implements(marshaler):
	case v.Kind() == reflect.Pointer || v.Kind() == reflect.Interface:
		return write(b, v.Elem())
	case v.Kind() == reflect.Float32 || v.Kind() == reflect.Float64:
		if x := v.Float(); math.IsNaN(x) || math.IsInf(x, 0) {
			b.WriteString("null")
			return nil
		}
	case v.Kind() == reflect.Struct:
		b.WriteByte('{')
		first := true
		if err := fields(b, v, &first, nil); err != nil {
			return err
		}
		b.WriteByte('}')
		return nil
	case v.Kind() == reflect.Slice && !v.IsNil() && v.Type().Elem().Kind() != reflect.Uint8:
		b.WriteByte('[')
		for i := range v.Len() {
			if i > 0 {
				b.WriteByte(',')
			}
			if err := write(b, v.Index(i)); err != nil {
				return err
			}
		}
		b.WriteByte(']')
		return nil
	case v.Kind() == reflect.Map && !v.IsNil() && v.Type().Key().Kind() == reflect.String:
		return entries(b, v)
	}
	text, err := json.Marshal(v.Interface())
	b.Write(text)
	return err
}

// entries writes a map in the order of its keys.
func entries(b *bytes.Buffer, v reflect.Value) error {
	keys := v.MapKeys()
	slices.SortFunc(keys, func(x, y reflect.Value) int { return strings.Compare(x.String(), y.String()) })
	b.WriteByte('{')
	for i, k := range keys {
		if i > 0 {
			b.WriteByte(',')
		}
		if err := entry(b, k.String(), v.MapIndex(k)); err != nil {
			return err
		}
	}
	b.WriteByte('}')
	return nil
}

// entry writes a name and its value.
func entry(b *bytes.Buffer, name string, v reflect.Value) error {
	key, err := json.Marshal(name)
	if err != nil {
		return err
	}
	b.Write(key)
	b.WriteByte(':')
	return write(b, v)
}

// named are the names of a struct's own fields, and more.
func named(t reflect.Type, more map[string]bool) map[string]bool {
	names := maps.Clone(more)
	if names == nil {
		names = map[string]bool{}
	}
	for f := range t.Fields() {
		if name, _, _ := strings.Cut(f.Tag.Get("json"), ","); name != "" {
			names[name] = true
		}
	}
	return names
}

// fields writes the fields of a struct and of the structs that it embeds, but for
// those that are hidden by fields of the same name around them.
func fields(b *bytes.Buffer, v reflect.Value, first *bool, hidden map[string]bool) error {
	for i := range v.NumField() {
		f := v.Type().Field(i)
		tag := f.Tag.Get("json")
		name, options, _ := strings.Cut(tag, ",")
		switch {
		case f.Anonymous && name == "" && f.Type.Kind() == reflect.Struct:
			if err := fields(b, v.Field(i), first, named(v.Type(), hidden)); err != nil {
				return err
			}
			continue
		case !f.IsExported() || tag == "-" || options == "omitempty" && empty(v.Field(i)) || hidden[name]:
			continue
		case name == "":
			name = f.Name
		}
		if !*first {
			b.WriteByte(',')
		}
		*first = false
		if err := entry(b, name, v.Field(i)); err != nil {
			return err
		}
	}
	return nil
}

// empty says what omitempty leaves out.
func empty(v reflect.Value) bool {
	switch v.Kind() {
	case reflect.Struct:
		return false
	case reflect.Slice, reflect.Map, reflect.String:
		return v.Len() == 0
	default:
		return v.IsZero()
	}
}
