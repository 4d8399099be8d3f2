package tuners_test

import (
	"math"
	"strings"
	"testing"

	"github.com/fedfast/fedfast/tuners"
)

func TestOptions(t *testing.T) {
	d := tuners.Description{Name: "x", Options: []tuners.Option{
		{Name: "eta", Default: tuners.Num(3)},
		{Name: "mode", Default: tuners.Str("a")},
		{Name: "on", Default: tuners.Bool(false)},
	}}
	good := tuners.Params{"eta": tuners.Num(4), "on": tuners.Bool(true)}
	if p := d.CheckOptions(good); p != nil {
		t.Errorf("good options: %v", p)
	}
	if all := d.WithDefaults(good); all.String() != "eta=4 mode=a on=true" {
		t.Errorf("with defaults: %s", all)
	}
	bad := tuners.Params{
		"eta": tuners.Num(math.Inf(1)), "etta": tuners.Num(1), "mode": tuners.Num(2),
		"on": tuners.Str("yes"),
	}
	var got []string
	for _, p := range d.CheckOptions(bad) {
		got = append(got, p.Key+": "+p.Message)
	}
	want := []string{
		"options.eta: eta must be finite, not +Inf",
		`options.etta: x has no option "etta"; available: eta, mode, on`,
		"options.mode: mode must be a string, such as a, not 2",
		"options.on: on must be true or false, such as false, not yes",
	}
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

func TestObjectiveBetter(t *testing.T) {
	nan := math.NaN()
	low, high := tuners.Objective{}, tuners.Objective{Direction: tuners.Maximize}
	for _, c := range []struct {
		o    tuners.Objective
		a, b float64
		want bool
	}{
		{low, 1, 2, true},
		{low, 2, 1, false},
		{low, 1, 1, false},
		{high, 2, 1, true},
		{low, nan, 1, false},
		{low, 1, nan, true},
		{high, 1, nan, true},
	} {
		if got := c.o.Better(c.a, c.b); got != c.want {
			t.Errorf("%s: Better(%v, %v) = %t", c.o.Direction, c.a, c.b, got)
		}
	}
}
