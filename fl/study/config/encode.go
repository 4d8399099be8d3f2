package config

import (
	"bytes"
	"fmt"
	"maps"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/fedfast/fedfast/internal/list"
	"github.com/fedfast/fedfast/nn/models"
	"github.com/fedfast/fedfast/tuners"
)

// Encode encodes a configuration as a study file with all keys except those that depend
// on the data. Load reads it back as the same configuration. The error names a value that
// TOML cannot represent.
func Encode(c *Config) ([]byte, error) {
	w := &writer{}
	w.table(reflect.ValueOf(c).Elem(), "")
	for i := range c.Model.Layers {
		w.layer("model.layers", c.Model.Layers[i])
	}
	return w.out.Bytes(), w.err
}

// EncodeLayers encodes layers as the tables of a study file.
func EncodeLayers(layers []models.LayerSpec) ([]byte, error) {
	w := &writer{}
	for _, l := range layers {
		w.layer("model.layers", l)
	}
	return w.out.Bytes(), w.err
}

// EncodeData encodes the keys of the data as the table of a study file.
func EncodeData(d Data) ([]byte, error) {
	w := &writer{}
	fmt.Fprintf(&w.out, "\n[data]\n")
	w.table(reflect.ValueOf(d), "data.")
	return w.out.Bytes(), w.err
}

// writer writes TOML and keeps the first error.
type writer struct {
	out bytes.Buffer
	err error
}

// tableField is a field that is a table of its own.
type tableField struct {
	key   string
	value reflect.Value
}

// table writes the values of a struct, then its tables.
func (w *writer) table(v reflect.Value, prefix string) {
	for _, t := range w.values(v, prefix) {
		if t.value.Kind() == reflect.Map {
			w.open(t.key, t.value.Interface().(map[string]any))
			continue
		}
		fmt.Fprintf(&w.out, "\n[%s]\n", t.key)
		w.table(t.value, t.key+".")
	}
}

// values writes the values of a struct and returns its tables.
func (w *writer) values(v reflect.Value, prefix string) (later []tableField) {
	for i := range v.NumField() {
		if !v.Type().Field(i).IsExported() {
			continue
		}
		key, f := v.Type().Field(i).Tag.Get("toml"), v.Field(i)
		switch m, isModel := reflect.TypeAssert[Model](f); {
		case isModel:
			if len(m.Layers) == 0 {
				w.line("model", m.Name)
			}
		case key == "-":
		case v.Type().Field(i).Anonymous:
			later = append(later, w.values(f, prefix)...)
		case f.Kind() == reflect.Struct || f.Kind() == reflect.Map:
			later = append(later, tableField{prefix + key, f})
		case f.Kind() == reflect.Pointer:
			if !f.IsNil() {
				w.line(key, f.Elem().Interface())
			}
		case prefix+key == "client_tuner.name" && f.String() == "":
			w.line(key, none)
		default:
			w.line(key, f.Interface())
		}
	}
	return later
}

// open writes a table with arbitrary keys.
func (w *writer) open(key string, table map[string]any) {
	if len(table) == 0 {
		return
	}
	fmt.Fprintf(&w.out, "\n[%s]\n", key)
	for _, name := range slices.Sorted(maps.Keys(table)) {
		if key != "space" {
			fmt.Fprintf(&w.out, "%s = %s\n", strconv.Quote(name), w.value(table[name]))
			continue
		}
		dim, err := tuners.ParseDim(name, table[name])
		if err != nil {
			w.fail(err)
			continue
		}
		fmt.Fprintln(&w.out, dim)
	}
}

// layer writes one layer of the list at a key, without unset keys, then those of its
// branches.
func (w *writer) layer(at string, l models.LayerSpec) {
	fmt.Fprintf(&w.out, "\n[[%s]]\n", at)
	v := reflect.ValueOf(l)
	for i := range v.NumField() {
		f := v.Field(i)
		key := layerKey(v.Type().Field(i))
		if c, ok := l.Choices[key]; ok {
			fmt.Fprintf(&w.out, "%s = %s\n", key, w.choice(c))
		} else if options, ok := reflect.TypeAssert[map[string]any](f); ok {
			if len(options) > 0 {
				fmt.Fprintf(&w.out, "%s = %s\n", key, w.inline(options))
			}
		} else if _, branch := reflect.TypeAssert[[]models.LayerSpec](f); !f.IsZero() && !branch && key != "-" {
			w.line(key, reflect.Indirect(f).Interface())
		}
	}
	for _, inner := range l.Body {
		w.layer(at+".body", inner)
	}
	for _, inner := range l.Shortcut {
		w.layer(at+".shortcut", inner)
	}
}

// inline writes a table on a line.
func (w *writer) inline(table map[string]any) string {
	var pairs []string
	for _, name := range slices.Sorted(maps.Keys(table)) {
		pairs = append(pairs, strconv.Quote(name)+" = "+w.value(table[name]))
	}
	return "{ " + strings.Join(pairs, ", ") + " }"
}

// line writes one key.
func (w *writer) line(key string, value any) {
	fmt.Fprintf(&w.out, "%s = %s\n", key, w.literal(value))
}

// literal writes the value of a field.
func (w *writer) literal(value any) string {
	switch x := value.(type) {
	case []string:
		return array(x, w.value)
	case []float64:
		return array(x, w.value)
	case []int:
		return array(x, func(n any) string { return strconv.Itoa(n.(int)) })
	case int:
		return strconv.Itoa(x)
	case uint64:
		text := strconv.FormatUint(x, 10)
		if x > math.MaxInt64 {
			return w.value(text)
		}
		return text
	default:
		return w.value(x)
	}
}

// array writes a list of values, each as element writes it.
func array[T any](x []T, element func(any) string) string {
	literals := list.Of(x, func(v T) string { return element(v) })
	return "[" + strings.Join(literals, ", ") + "]"
}

func (w *writer) value(x any) string {
	v, err := tuners.ValueOf(x)
	if err != nil {
		w.fail(err)
		return ""
	}
	text, err := v.MarshalTOML()
	if err != nil {
		w.fail(err)
	}
	return string(text)
}

func (w *writer) fail(err error) {
	if w.err == nil {
		w.err = fmt.Errorf("encode the configuration: %w", err)
	}
}

// setChoice reads { choices = [16, 32] } or { as = "NAME" } instead of an integer of a
// layer.
func setChoice(l *models.LayerSpec, key string, s setting) error {
	table := s.value.(map[string]any)
	var c models.LayerChoice
	list, isList := table["choices"].([]any)
	as, isName := table["as"].(string)
	ok := len(table) == 1 && (isList && len(list) > 0 || isName && as != "")
	for _, x := range list {
		n, whole := x.(int64)
		ok = ok && whole && int64(int(n)) == n
		c.Choices = append(c.Choices, int(n))
	}
	if c.As = as; !ok {
		return fmt.Errorf("%s: must be an integer, { choices = [...] }, or { as = \"NAME\" } with the name of an earlier choice", s.key)
	}
	if l.Choices == nil {
		l.Choices = map[string]models.LayerChoice{}
	}
	l.Choices[key] = c
	return nil
}

// choice writes what setChoice reads.
func (w *writer) choice(c models.LayerChoice) string {
	if c.As != "" {
		return fmt.Sprintf("{ as = %s }", w.value(c.As))
	}
	return fmt.Sprintf("{ choices = %s }", array(c.Choices, func(n any) string { return strconv.Itoa(n.(int)) }))
}
