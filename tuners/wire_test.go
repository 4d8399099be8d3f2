package tuners

import (
	"reflect"
	"testing"
)

// TestDescriptionOverTheWire has every field of a description arrive.
func TestDescriptionOverTheWire(t *testing.T) {
	want := Description{
		Name: "x", Version: "1", Doc: "doc", Options: []Option{{Name: "o", Default: Num(2), Doc: "an option", Scaled: true}},
		Controls: []string{"client.*"}, Adds: []Dim{{Name: "x.y", Kind: Uniform, Lo: 1, Hi: 2}}, Probes: []string{"p"}, Scalars: []string{ScalarClientKey},
	}
	v := reflect.ValueOf(&want).Elem()
	for i := range v.NumField() {
		if f := v.Field(i); f.Kind() == reflect.Bool {
			f.SetBool(true)
		}
		if v.Field(i).IsZero() {
			t.Errorf("the test sets no %s", v.Type().Field(i).Name)
		}
	}
	got, err := descriptionFromWire(descriptionToWire(want))
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("of %+v arrives\n%+v, %v", want, got, err)
	}
}
