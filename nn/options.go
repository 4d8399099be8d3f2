package nn

import (
	"fmt"
	"maps"
	"math"
	"reflect"
	"slices"
	"strings"
)

// ReadOptions returns the options of a layer or of a loss from another module: a struct
// that holds defaults, with the values that are given in their place. The tag toml of a
// field is the option's name; it is a bool, an int, a float64 or a string. Without
// defaults there are no options. The error of one line names an option that is unknown
// or of another type, or defaults that no options can be read into.
func ReadOptions(defaults any, given map[string]any) (any, error) {
	if defaults == nil {
		if len(given) > 0 {
			return nil, fmt.Errorf("option %q: there are no options; leave it out", slices.Min(slices.Collect(maps.Keys(given))))
		}
		return nil, nil
	}
	if reflect.TypeOf(defaults).Kind() != reflect.Struct {
		return nil, fmt.Errorf("options are a %T; they must be a struct", defaults)
	}
	options := reflect.New(reflect.TypeOf(defaults)).Elem()
	options.Set(reflect.ValueOf(defaults))
	fields := optionFields(options)
	for name, f := range fields {
		switch f.Kind() {
		case reflect.Bool, reflect.Int, reflect.Float64, reflect.String:
		default:
			return nil, fmt.Errorf("option %s is a %s; it must be a bool, an int, a float64 or a string", name, f.Type())
		}
	}
	for _, name := range slices.Sorted(maps.Keys(given)) {
		f, ok := fields[name]
		if !ok {
			return nil, fmt.Errorf("unknown option %q; available: %s", name, strings.Join(slices.Sorted(maps.Keys(fields)), ", "))
		}
		if want := setOption(f, given[name]); want != "" {
			return nil, fmt.Errorf("option %s = %v: must be %s", name, given[name], want)
		}
	}
	return options.Interface(), nil
}

// optionFields returns the fields of options by their names.
func optionFields(options reflect.Value) map[string]reflect.Value {
	fields := map[string]reflect.Value{}
	for field, f := range options.Fields() {
		if name := field.Tag.Get("toml"); name != "" && field.IsExported() {
			fields[name] = f
		}
	}
	return fields
}

// setOption sets a field to a value as a file gives it, or returns what that must be.
func setOption(f reflect.Value, given any) (want string) {
	x := reflect.ValueOf(given)
	switch f.Kind() {
	case reflect.Bool:
		if x.Kind() == reflect.Bool {
			f.SetBool(x.Bool())
			return ""
		}
		return "true or false"
	case reflect.String:
		if x.Kind() == reflect.String {
			f.SetString(x.String())
			return ""
		}
		return "a string"
	case reflect.Int:
		if x.CanInt() && int64(int32(x.Int())) == x.Int() {
			f.SetInt(x.Int())
			return ""
		}
		if x.CanFloat() && float64(int32(x.Float())) == x.Float() { // JSON has no other numbers
			f.SetInt(int64(x.Float()))
			return ""
		}
		return "an integer of 32 bits"
	default:
		switch {
		case x.CanInt():
			f.SetFloat(float64(x.Int()))
		case x.CanFloat() && !math.IsNaN(x.Float()) && !math.IsInf(x.Float(), 0):
			f.SetFloat(x.Float())
		default:
			return "a finite number"
		}
		return ""
	}
}
