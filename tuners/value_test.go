package tuners_test

import (
	"encoding/json"
	"math"
	"strings"
	"testing"

	"github.com/BurntSushi/toml"
	"github.com/fedfast/fedfast/tuners"
)

func TestValuesReadBackExactly(t *testing.T) {
	p := tuners.Params{
		"a": tuners.Num(0.1), "b": tuners.Num(math.Nextafter(1, 2)), "c": tuners.Num(5e-324), "d": tuners.Num(1e300),
		"e": tuners.Num(3), "f": tuners.Num(-7), "g": tuners.Str("a \"quoted\"\n\\ line"), "h": tuners.Bool(true),
		"i": tuners.Bool(false),
		"j": tuners.Num(1 << 60), "k": tuners.Str(""), "l": tuners.Num(123456789.25),
	}
	b, err := json.Marshal(p)
	if err != nil {
		t.Fatal(err)
	}
	var q tuners.Params
	if err := json.Unmarshal(b, &q); err != nil {
		t.Fatal(err)
	}
	if !q.Equal(p) {
		t.Errorf("JSON: got %v, want %v", q, p)
	}
	var text strings.Builder
	if err := toml.NewEncoder(&text).Encode(p); err != nil {
		t.Fatal(err)
	}
	var r tuners.Params
	if _, err := toml.Decode(text.String(), &r); err != nil {
		t.Fatalf("%v in\n%s", err, text.String())
	}
	if !r.Equal(p) {
		t.Errorf("TOML: got %v, want %v\n%s", r, p, text.String())
	}
	negative, err := tuners.Num(math.Copysign(0, -1)).MarshalTOML()
	if err != nil || string(negative) != "-0.0" {
		t.Errorf("-0 in TOML: %q, %v", negative, err)
	}
}

func TestValueHasOneKind(t *testing.T) {
	if _, err := json.Marshal(tuners.Num(math.NaN())); err == nil {
		t.Error("NaN became JSON")
	}
	if _, ok := tuners.Str("1").Float(); ok {
		t.Error("a string passed as a number")
	}
	if tuners.Num(1) == tuners.Bool(true) {
		t.Error("1 equals true")
	}
	if _, err := tuners.ValueOf([]any{1}); err == nil {
		t.Error("a list became a value")
	}
}
