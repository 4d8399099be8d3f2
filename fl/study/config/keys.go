package config

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/fedfast/fedfast/fl"
	"github.com/fedfast/fedfast/internal/key"
	"github.com/fedfast/fedfast/internal/list"
	"github.com/fedfast/fedfast/internal/sys/oneline"
	"github.com/fedfast/fedfast/nn"
	"github.com/fedfast/fedfast/nn/models"
	"github.com/fedfast/fedfast/tuners"
)

// field is the place of a key in Config.
type field []int

// Kind returns the kind of the field, 0 when there is none.
func (f field) Kind() reflect.Kind {
	if f == nil {
		return reflect.Invalid
	}
	return reflect.TypeFor[Config]().FieldByIndex(f).Type.Kind()
}

// schema maps every key that takes a value to its field. The keys of options and of the
// space are open: they accept any name.
var schema = fields()

// openKeys accept any name below them.
var openKeys = []string{"space", "tuner.options", "client_tuner.options", "loss.options", "data.columns"}

// keys holds the keys, in the order of a study file.
var keys = key.Of(reflect.TypeFor[Config](), "")

// allKeys returns keys with the names that programs register.
func allKeys() []key.Key {
	all := slices.Clone(keys)
	for i := range all {
		switch all[i].Name {
		case "loss.name":
			for _, t := range nn.LossTypes() {
				all[i].Words = append(all[i].Words, string(t.Name))
			}
		case "aggregator.name":
			all[i].Words = fl.AggregatorNames()
		case fl.StageAttack.String():
			all[i].Words = fl.TransformNames(fl.StageAttack)
		case fl.StageSparsify.String():
			all[i].Words = fl.TransformNames(fl.StageSparsify)
		case fl.StageQuantize.String():
			all[i].Words = fl.TransformNames(fl.StageQuantize)
		}
	}
	return all
}

func fields() map[string]field {
	all := map[string]field{}
	for _, k := range keys {
		if !slices.Contains(openKeys, k.Name) {
			all[k.Name] = k.Index
		}
	}
	all["model.layers"] = all["model"]
	return all
}

// Keys returns all keys of a study file, sorted. Those that accept any name end in ".*".
func Keys() []string {
	keys := slices.Collect(maps.Keys(schema))
	keys = append(keys, list.Of(openKeys, func(open string) string { return open + ".*" })...)
	slices.Sort(keys)
	return keys
}

// openKey splits a dotted key below an open one; both parts are empty for other
// keys.
func openKey(key string) (open, name string) {
	for _, o := range openKeys {
		if key == o {
			return o, ""
		}
		if name, ok := strings.CutPrefix(key, o+"."); ok {
			return o, name
		}
	}
	return "", ""
}

// isPrefix reports whether keys begin with key and a dot.
func isPrefix(key string) bool {
	for k := range schema {
		if len(k) > len(key) && k[len(key)] == '.' && k[:len(key)] == key {
			return true
		}
	}
	return slices.ContainsFunc(openKeys, func(o string) bool { return strings.HasPrefix(o+".", key+".") })
}

// unknownKeyError is the error of an unknown key. It computes the suggestion only when
// printed, since a file may contain thousands of unknown keys.
type unknownKeyError string

// Error names the key and suggests a known one.
func (k unknownKeyError) Error() string {
	if _, last, within := strings.Cut(string(k), "."); within {
		if _, top := schema[last]; top {
			return fmt.Sprintf("unknown key %q (write %s before the first [table])", string(k), last)
		}
	}
	known := list.Of(keys, func(k key.Key) key.Name { return key.Name{Name: k.Name, Also: k.Also} })
	return fmt.Sprintf("unknown key %q%s", string(k), key.DidYouMean(string(k), append(known, key.Name{Name: "model.layers"})))
}

// set applies a setting to the configuration.
func (c *Config) set(s setting) error {
	switch s.key {
	case "space":
		if s.name == "" {
			if s.value != auto {
				is := clip(oneline.Of(fmt.Sprint(s.value)))
				return &key.Error{Key: "space", Problem: fmt.Sprintf(" = %s: must be a table of dimensions, or %q", is, auto)}
			}
			s.name, s.value = auto, none
		}
		return c.setDim(s)
	case "tuner.options":
		return setOption(&c.Tuner.Options, s)
	case "loss.options":
		return setOption(&c.Loss.Options, s)
	case "data.columns":
		if s.name == "" { // an empty table
			c.Data.Columns = nil
			return nil
		}
		return setOption(&c.Data.Columns, s)
	case "client_tuner.options":
		return setOption(&c.ClientTuner.Options, s)
	case "model", "model.layers":
		return c.Model.set(s)
	case "seed":
		if text, ok := s.value.(string); ok { // TOML's integers end at 2^63 - 1
			seed, err := strconv.ParseUint(text, 10, 64)
			c.Seed = seed
			return wrong(err == nil, s, "an integer in [0, 2^64 - 1]")
		}
	}
	return assign(reflect.ValueOf(c).Elem().FieldByIndex(schema[s.key]), s)
}

// setDim adds a dimension in canonical form.
func (c *Config) setDim(s setting) error {
	if c.Space == nil {
		c.Space = map[string]any{}
	}
	if s.value == none {
		c.Space[s.name] = none
		return nil
	}
	dim, err := tuners.ParseDim(s.name, s.value)
	if err != nil {
		return fmt.Errorf("space: %w", err)
	}
	c.Space[s.name] = dim.Table()
	return nil
}

func setOption(options *map[string]any, s setting) error {
	v, err := tuners.ValueOf(s.value)
	if err != nil {
		return fmt.Errorf("%s: %w", s.full(), err)
	}
	if *options == nil {
		*options = map[string]any{}
	}
	(*options)[s.name] = v.Any()
	return nil
}

// set sets the model from a name or a list of layers.
func (m *Model) set(s setting) error {
	if table, ok := s.value.(map[string]any); ok && s.key == "model" && len(table) == 1 {
		if s.value = table["name"]; table["layers"] != nil {
			s.key, s.value = "model.layers", table["layers"]
		}
	}
	if name, ok := s.value.(string); ok && s.key == "model" {
		*m = Model{Name: name}
		return nil
	}
	list, ok := tables(s.value)
	if s.key == "model" || !ok {
		return errors.New("model: must be the name of a model or a list of tables [[model.layers]]")
	}
	specs, err := layerSpecs("model.layers", list)
	if err != nil {
		return err
	}
	*m = Model{Layers: specs}
	return nil
}

// layerSpecs reads the tables of layers at a key.
func layerSpecs(at string, list []map[string]any) ([]models.LayerSpec, error) {
	specs := make([]models.LayerSpec, len(list))
	for i, table := range list {
		if err := knownType(table["type"]); err != nil {
			return nil, fmt.Errorf("%s[%d]: %w", at, i+1, err)
		}
		for _, key := range slices.Sorted(maps.Keys(table)) {
			s := setting{key: fmt.Sprintf("%s[%d].%s", at, i+1, key), value: table[key]}
			f, ok := layerField(reflect.ValueOf(&specs[i]).Elem(), key)
			if !ok {
				return nil, fmt.Errorf("%s[%d]: %w", at, i+1, unknownLayerKey(key))
			}
			if options, ok := reflect.TypeAssert[*map[string]any](f.Addr()); ok {
				if err := readOptions(options, s, optionsOf(table["type"])); err != nil {
					return nil, err
				}
				continue
			}
			branch, isBranch := reflect.TypeAssert[*[]models.LayerSpec](f.Addr())
			if !isBranch {
				var err error
				if _, isTable := s.value.(map[string]any); isTable && f.Kind() == reflect.Int {
					err = setChoice(&specs[i], key, s)
				} else {
					err = assign(f, s)
				}
				if err != nil {
					return nil, err
				}
				continue
			}
			inner, ok := tables(s.value)
			if !ok || len(inner) == 0 {
				return nil, fmt.Errorf("%s: must be a list of tables, the layers of a branch", s.key)
			}
			var err error
			if *branch, err = layerSpecs(s.key, inner); err != nil {
				return nil, err
			}
		}
	}
	return specs, nil
}

// knownType returns an error for an unknown layer type.
func knownType(x any) error {
	known := models.LayerNames()
	name, ok := x.(string)
	if !ok || slices.Contains(known, name) {
		return nil // other types are reported elsewhere
	}
	return fmt.Errorf("unknown type %q%s; available: %s", name, key.DidYouMean(name, key.Names(known...)), strings.Join(known, ", "))
}

// tables accepts the forms in which the decoder returns a list of tables.
func tables(x any) ([]map[string]any, bool) {
	switch x := x.(type) {
	case []map[string]any:
		return x, true
	case []any:
		var list []map[string]any
		for _, e := range x {
			table, ok := e.(map[string]any)
			if !ok {
				return nil, false
			}
			list = append(list, table)
		}
		return list, true
	}
	return nil, false
}

// layerKeys holds the keys of a layer.
var layerKeys = key.Of(reflect.TypeFor[models.LayerSpec](), "")

// layerKey returns the key of a field of LayerSpec.
func layerKey(f reflect.StructField) string {
	key, _, _ := strings.Cut(f.Tag.Get("toml"), ",")
	return key
}

func layerField(spec reflect.Value, key string) (reflect.Value, bool) {
	for i := range spec.NumField() {
		if key != "-" && layerKey(spec.Type().Field(i)) == key {
			return spec.Field(i), true
		}
	}
	return reflect.Value{}, false
}

func unknownLayerKey(name string) error {
	var known []key.Name
	var all []string
	for _, k := range layerKeys {
		known, all = append(known, key.Name{Name: k.Name, Also: k.Also}), append(all, k.Name)
	}
	return fmt.Errorf("unknown key %q%s; available: %s", name, key.DidYouMean(name, known), strings.Join(all, ", "))
}

// assign sets a field to a decoded value, if its type matches.
func assign(f reflect.Value, s setting) error {
	switch f.Kind() {
	case reflect.Pointer:
		p := reflect.New(f.Type().Elem())
		if err := assign(p.Elem(), s); err != nil {
			return err
		}
		f.Set(p)
		return nil
	case reflect.String:
		text, ok := s.value.(string)
		if !ok && s.literal != "" {
			text, ok = s.literal, true
		}
		f.SetString(text)
		return wrong(ok, s, "a string")
	case reflect.Bool:
		b, ok := s.value.(bool)
		f.SetBool(b)
		return wrong(ok, s, "true or false")
	case reflect.Int:
		n, ok := s.value.(int64)
		f.SetInt(n)
		if ok && (n < math.MinInt32 || n > math.MaxInt32) {
			return wrong(false, s, fmt.Sprintf("an integer in [%d, %d]", math.MinInt32, math.MaxInt32))
		}
		return wrong(ok, s, "an integer")
	case reflect.Uint64:
		n, ok := s.value.(int64)
		f.SetUint(uint64(n))
		return wrong(ok && n >= 0, s, "a non-negative integer")
	case reflect.Float64:
		x, ok := s.value.(float64)
		if n, isInt := s.value.(int64); isInt {
			x, ok = float64(n), true
		}
		f.SetFloat(x)
		return wrong(ok, s, "a number")
	default: // a list
		return assignList(f, s)
	}
}

// assignList sets a field to a decoded list. A single number or string is a list of one;
// an empty list becomes nil.
func assignList(f reflect.Value, s setting) error {
	want := "a list of strings"
	switch f.Interface().(type) {
	case []int:
		want = "a list of integers"
	case []float64:
		want = "a list of numbers"
	}
	list, ok := s.value.([]any)
	if !ok {
		list, ok = []any{s.value}, true
	}
	values := reflect.MakeSlice(f.Type(), len(list), len(list))
	for i, e := range list {
		if err := assign(values.Index(i), setting{key: s.key, value: e}); err != nil {
			ok = false
		}
	}
	if len(list) == 0 {
		values = reflect.Zero(f.Type())
	}
	f.Set(values)
	return wrong(ok, s, want)
}

// wrong returns an error unless right is set.
func wrong(right bool, s setting, want string) error {
	if right {
		return nil
	}
	value := s.literal
	if big := beyond(s.value); big != "" {
		return fmt.Errorf("%s = %s: exceeds the range of %s; must be %s", s.full(), clip(s.value.(string)), big, want)
	}
	if n, whole := s.value.(int64); whole && value == "" {
		value = strconv.FormatInt(n, 10)
	}
	if value == "" {
		if v, err := tuners.ValueOf(s.value); err == nil {
			text, _ := v.MarshalTOML() // ValueOf gives no absent values
			value = string(text)
		}
	}
	switch {
	case value != "":
		return fmt.Errorf("%s = %s: must be %s", s.full(), clip(value), want)
	default:
		return fmt.Errorf("%s: must be %s", s.full(), want)
	}
}

// beyond returns the type whose range a number exceeds that was read as a string because
// it is too large, empty for everything else.
func beyond(x any) string {
	text, _ := x.(string)
	if _, err := strconv.ParseInt(text, 10, 64); errors.Is(err, strconv.ErrRange) {
		return "64-bit integers"
	}
	if _, err := strconv.ParseFloat(text, 64); errors.Is(err, strconv.ErrRange) {
		return "64-bit numbers"
	}
	return ""
}

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
