package key

import (
	"math"
	"reflect"
	"strings"
	"testing"
)

func TestRanges(t *testing.T) {
	inf, nan := math.Inf(1), math.NaN()
	tests := []struct {
		text, want string
		whole      bool
		in, out    []float64
	}{
		{"", "a finite number", false, []float64{-1, 0, 1e300}, []float64{inf, -inf, nan}},
		{"(0, inf)", "a finite number > 0", false, []float64{1e-300, 1e300}, []float64{0, -1, inf, nan}},
		{"[1, inf)", "a positive integer", true, []float64{1, 2}, []float64{0, inf}},
		{"[0, 1)", "in [0, 1)", false, []float64{0, 0.999}, []float64{-1e-9, 1, nan}},
		{"(0, 1]", "in (0, 1]", false, []float64{1, 1e-9}, []float64{0, 1.001}},
		{"[0, 1) or -1", "in [0, 1), or -1", false, []float64{0, 0.5, -1}, []float64{1, -0.5, nan}},
		{"[1, 10000]", "an integer in [1, 10000]", true, []float64{1, 10000}, []float64{0, 10001}},
		{"0 or 1 or 0.5", "one of 0, 1, 0.5", false, []float64{0, 1, 0.5}, []float64{0.25, inf}},
		{"0", "0", false, []float64{0}, []float64{1e-9}},
	}
	for _, tt := range tests {
		var r Range
		if tt.text != "" {
			r = In(tt.text)
		}
		if got := r.words(tt.whole); got != tt.want || r.String() != tt.text || r.Single() != (tt.text == "0") {
			t.Errorf("%s: %q, %q, single %v; want %q", tt.text, got, r, r.Single(), tt.want)
		}
		for _, x := range tt.in {
			if !r.Holds(x) {
				t.Errorf("%s does not hold %v", tt.text, x)
			}
		}
		for _, x := range tt.out {
			if r.Holds(x) {
				t.Errorf("%s holds %v", tt.text, x)
			}
		}
	}
	for _, bad := range []string{"", "0..1", "[0, x)", "{0, 1)", "[0, 1", "[0, 1) or (2, 3)", "1, 2"} {
		if _, err := ParseRange(bad); err == nil || !strings.HasPrefix(err.Error(), "range ") {
			t.Errorf("%q is read: %v", bad, err)
		}
	}
}

type inner struct {
	Rate float64 `toml:"rate" in:"[0, 1)" doc:"a rate" also:"p"`
}

type outer struct {
	Name string `toml:"name" of:"a b"`
	inner
	Sizes  []int `toml:"sizes" in:"[1, inf)"`
	Hidden int
	Seed   uint64          `toml:"-"`
	Table  inner           `toml:"table"`
	Free   map[string]any  `toml:"free"`
	Value  struct{ X int } `toml:"value"`
	Wrap   bool            `toml:"wrap"`
}

func TestKeysOfAStruct(t *testing.T) {
	var got []string
	for _, k := range Of(reflect.TypeFor[outer](), "p.") {
		got = append(got, k.Name+": "+k.Type()+" "+k.Allowed())
	}
	want := "p.name: string a, b; p.rate: number [0, 1); p.sizes: list of integers [1, inf); p.table.rate: number [0, 1); p.free: table ; p.value: table ; p.wrap: boolean "
	if strings.Join(got, "; ") != want {
		t.Errorf("got  %s\nwant %s", strings.Join(got, "; "), want)
	}
}

func TestCheckNamesKeyAndValue(t *testing.T) {
	right := outer{Name: "a", Sizes: []int{1, 2}}
	for _, tt := range []struct {
		want   string
		change func(o *outer)
	}{
		{"", func(*outer) {}},
		{`name = "c": must be one of a, b`, func(o *outer) { o.Name = "c" }},
		{"rate = 1: must be in [0, 1)", func(o *outer) { o.Rate = 1 }},
		{"rate = NaN: must be in [0, 1)", func(o *outer) { o.Rate = math.NaN() }},
		{"sizes = 0: must be a positive integer", func(o *outer) { o.Sizes = []int{3, 0} }},
		{"table.rate = -1: must be in [0, 1)", func(o *outer) { o.Table.Rate = -1 }},
	} {
		o := right
		tt.change(&o)
		var problems []string
		for _, k := range Of(reflect.TypeFor[outer](), "") {
			if err := k.Check(reflect.ValueOf(o)); err != nil {
				problems = append(problems, err.Error())
			}
		}
		if got := strings.Join(problems, ""); got != tt.want {
			t.Errorf("got %q, want %q", got, tt.want)
		}
	}
}
