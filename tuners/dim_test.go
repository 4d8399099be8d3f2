package tuners_test

import (
	"math"
	"strings"
	"testing"

	"github.com/BurntSushi/toml"
	"github.com/fedfast/fedfast/tuners"
)

func mustDim(t *testing.T, name string, v any) tuners.Dim {
	t.Helper()
	d, err := tuners.ParseDim(name, v)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func num(t *testing.T, v tuners.Value) float64 {
	t.Helper()
	x, ok := v.Float()
	if !ok {
		t.Fatalf("%s is no number", v)
	}
	return x
}

const below1 = 1 - 0x1p-53

// spaceTOML has every kind of dimension.
const spaceTOML = `
"server.momentum" = {choice = [0, 0.9]}
"server.lr" = {log10 = [-1, 1]}
"server.gamma" = {log10_1m = [-4, -2]}
"client.epochs" = {int = [1, 5]}
"client.steps" = {int = [10, 50], step = 8}
"client.momentum" = {uniform = [0, 0.9], step = 0.1}
"client.batch" = {log2 = [3, 7]}
"client.dropout" = {uniform = [0, 0.5]}
`

func parseSpace(t *testing.T) tuners.Space {
	t.Helper()
	var raw map[string]any
	if _, err := toml.Decode(spaceTOML, &raw); err != nil {
		t.Fatal(err)
	}
	var dims []tuners.Dim
	for name, v := range raw {
		dims = append(dims, mustDim(t, name, v))
	}
	s, err := tuners.NewSpace(dims...)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestSampleEnds(t *testing.T) {
	s := parseSpace(t)
	for _, c := range []struct {
		name    string
		lo, mid float64
		hi      float64
	}{
		{"server.momentum", 0, 0.9, 0.9},
		{"server.lr", 0.1, 1, 10},
		{"server.gamma", 1 - 1e-4, 1 - 1e-3, 1 - 1e-2},
		{"client.epochs", 1, 3, 5},
		{"client.batch", 8, 32, 128},
		{"client.dropout", 0, 0.25, 0.5},
	} {
		d, ok := s.Dim(c.name)
		if !ok {
			t.Fatalf("%s is missing", c.name)
		}
		for _, u := range []struct{ u, want float64 }{{0, c.lo}, {0.5, c.mid}, {below1, c.hi}} {
			got := d.Sample(u.u)
			if math.Abs(num(t, got)-u.want) > 1e-12*math.Abs(u.want) {
				t.Errorf("%s at %v: got %s, want %v", c.name, u.u, got, u.want)
			}
			if err := d.Contains(got); err != nil {
				t.Error(err)
			}
		}
	}
}

func TestPerturbByHand(t *testing.T) {
	s := parseSpace(t)
	for _, c := range []struct {
		name           string
		centre, eps, u float64
		want           float64
	}{
		{"server.lr", 1, 0.1, 0, math.Pow(10, -0.2)},   // 0 - 0.1 * 2
		{"server.lr", 1, 0.1, 0.5, 1},                  //
		{"server.lr", 1, 0.1, 0.75, math.Pow(10, 0.1)}, //
		{"server.lr", 9.9, 0.1, below1, 10},            // clipped
		{"server.gamma", 0.999, 0.1, 0, 1 - 1e-3*math.Pow(10, -0.2)},
		{"client.epochs", 3, 0.1, 0, 2},          // w = ceil(0.4) = 1: one of 2, 3, 4
		{"client.epochs", 3, 0.1, 0.34, 3},       //
		{"client.epochs", 3, 0.1, below1, 4},     //
		{"client.epochs", 1, 0.1, 0, 1},          // clipped
		{"client.epochs", 3, 0.5, 0, 1},          // w = 2
		{"client.batch", 32, 0.1, 0, 16},         // exponent +-1
		{"client.batch", 128, 0.1, below1, 128},  // clipped
		{"client.dropout", 0.2, 0.1, 0, 0.15},    //
		{"client.dropout", 7, 0.1, 0.5, 0.5},     // a centre outside is clipped first
		{"server.momentum", 0.9, 0.1, 0.5, 0.9},  // kept
		{"server.momentum", 0.9, 0.1, 0.04, 0},   // drawn anew
		{"client.dropout", 0.123, 0, 0.9, 0.123}, // eps 0 keeps the bits
	} {
		d, _ := s.Dim(c.name)
		got := d.Perturb(tuners.Num(c.centre), c.eps, c.u)
		if math.Abs(num(t, got)-c.want) > 1e-12*math.Max(1, math.Abs(c.want)) {
			t.Errorf("%s %v eps %v u %v: got %s, want %v", c.name, c.centre, c.eps, c.u, got, c.want)
		}
	}
}

func TestPerturbStaysInside(t *testing.T) {
	s := parseSpace(t)
	for trial := range 200 {
		d := tuners.NewDraws(7, trial, 0, "test")
		p := s.Sample(d)
		if err := s.Contains(p); err != nil {
			t.Fatal(err)
		}
		for range 5 {
			if err := s.Contains(s.Perturb(p, 0.3, d)); err != nil {
				t.Fatal(err)
			}
		}
	}
}

func TestContainsRefuses(t *testing.T) {
	s := parseSpace(t)
	good := s.Sample(tuners.NewDraws(1, 0, 0, "test"))
	for _, c := range []struct {
		key  string
		v    tuners.Value
		want string
	}{
		{"server.lr", tuners.Num(math.NaN()), "server.lr = NaN is outside [0.1, 10]"},
		{"server.lr", tuners.Num(10.1), "outside"},
		{"server.lr", tuners.Str("big"), "not a number"},
		{"server.gamma", tuners.Num(0.5), "outside"},
		{"client.epochs", tuners.Num(2.5), "not an integer"},
		{"client.steps", tuners.Num(20), "not an integer number of steps of 8 from 10"},
		{"client.steps", tuners.Num(58), "outside [10, 50]"},
		{"client.momentum", tuners.Num(0.25), "not an integer number of steps of 0.1 from 0"},
		{"client.batch", tuners.Num(48), "not a power of two"},
		{"server.momentum", tuners.Num(0.5), "not one of the choices [0 0.9]"},
		{"server.mu", tuners.Num(0.5), "server.mu is not a dimension of the space"},
	} {
		err := s.Contains(good.Merge(tuners.Params{c.key: c.v}))
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s = %s: got error %v, want one with %q", c.key, c.v, err, c.want)
		}
	}
	short := good.Clone()
	delete(short, "client.batch")
	if err := s.Contains(short); err == nil || err.Error() != "client.batch is missing" {
		t.Errorf("got error %v", err)
	}
}

func TestParseDimErrors(t *testing.T) {
	for _, c := range []struct {
		toml string
		want string
	}{
		{"x = 3", "x: must be one of {uniform = [a, b]}"},
		{"x = 0.1", "{choice = [...]}, not 0.1"},
		{"x = [true, false]", "{choice = [...]}; for one of several values {choice = [true, false]}"},
		{"x = [\"sgd\", \"adam\"]", "; for one of several values {choice = [\"sgd\", \"adam\"]}"},
		{"x = []", "{choice = [...]}, not []"},
		{"x = {log10 = [-4, 0], int = [1, 2]}", "exactly one"},
		{"x = {}", "exactly one"},
		{"x = {log3 = [1, 2]}", `x: unknown kind "log3"`},
		{"x = {int = 3}", "x: int needs a list, not 3"},
		{"x = {int = [1, 2, 3]}", "x: int needs two numbers [low, high], not 3 values"},
		{"x = {int = [1, 2.5]}", "x: int needs integer bounds"},
		{"x = {int = [8, 64], step = 10}", "x: steps of 10 from 8 pass 64: end at 58"},
		{"x = {int = [8, 64], step = 0}", "x: step must be a positive number, not 0"},
		{"x = {int = [8, 64], step = \"8\"}", "x: step must be a positive number, not 8"},
		{"x = {int = [8, 64], step = -8}", "x: step must be a positive number, not -8"},
		{"x = {int = [64, 8], step = 8}", "needs finite bounds [low, high], not [64, 8]"},
		{"x = {int = [8, 64], step = inf}", "x: step must be a positive number, not +Inf"},
		{"x = {int = [8, 64], step = 0.5}", "x: int needs integer bounds and an integer step, not [8, 64] by 0.5"},
		{"x = {int = [0, 1000000], step = 3}", "and lead to at most 1000 values"},
		{"x = {uniform = [0, 1e308], step = 1e-300}", "and lead to at most 1000 values"},
		{"x = {log2 = [0, 8], step = 2}", "x: only int and uniform take a step, not log2"},
		{"x = {choice = [1, 2], step = 1}", "x: only int and uniform take a step, not choice"},
		{"x = {step = 1}", "exactly one"},
		{"x = {int = [5, 1]}", "needs finite bounds [low, high], not [5, 1]"},
		{"x = {uniform = ['a', 'b']}", "x: uniform needs two numbers"},
		{"x = {uniform = [0, inf]}", "x: uniform needs finite bounds"},
		{"x = {log10_1m = [-4, 1]}", "x: log10_1m takes exponents of 10 from -300 to 0"},
		{"x = {log2 = [3, 5000]}", "x: log2 takes exponents of 2"},
		{"x = {choice = []}", "x: choice needs at least one value"},
		{"x = {choice = [1, 1.0]}", "x: choice repeats 1"},
		{"x = {choice = [[1]]}", "x: choice: a value must be"},
	} {
		var raw map[string]any
		if _, err := toml.Decode(c.toml, &raw); err != nil {
			t.Fatal(c.toml, err)
		}
		_, err := tuners.ParseDim("x", raw["x"])
		if err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: got error %v, want one line with %q", c.toml, err, c.want)
		}
	}
}

func TestDimTextReadsBack(t *testing.T) {
	for _, d := range parseSpace(t) {
		var raw map[string]any
		if _, err := toml.Decode(d.String(), &raw); err != nil {
			t.Fatalf("%s: %v", d, err)
		}
		if got := mustDim(t, d.Name, raw[d.Name]); got.String() != d.String() {
			t.Errorf("got %s, want %s", got, d)
		}
	}
}

func TestSpaceOrderAndWith(t *testing.T) {
	s := parseSpace(t)
	more, err := s.With(tuners.Dim{Name: "fedex.gamma", Kind: tuners.Uniform, Hi: 1},
		tuners.Dim{Name: "server.lr", Kind: tuners.Int, Lo: 1, Hi: 2})
	if err != nil {
		t.Fatal(err)
	}
	if lr, _ := more.Dim("server.lr"); lr.Kind != tuners.Log10 || len(more) != len(s)+1 {
		t.Errorf("With replaced a dimension of the study: %v", more)
	}
	if got := len(more.Matching("client.*")); got != 5 {
		t.Errorf("client.* matches %d dimensions, want 5", got)
	}
	if _, err := tuners.NewSpace(s[0], s[0]); err == nil || !strings.Contains(err.Error(), "twice") {
		t.Errorf("a repeated dimension: got error %v", err)
	}
	if err := (tuners.Space{s[1], s[0]}).Check(); err == nil {
		t.Error("a space out of order passed")
	}
}

// TestSampleWithOthers: the dimensions that a client tuner adds do not change what
// is drawn of the others.
func TestSampleWithOthers(t *testing.T) {
	s := parseSpace(t)
	more, err := s.With(mustDim(t, "fedex.gamma", map[string]any{"uniform": []any{0.0, 1.0}}),
		mustDim(t, "a", map[string]any{"int": []any{int64(1), int64(9)}}))
	if err != nil || len(more) != len(s)+2 {
		t.Fatal(len(more), err)
	}
	want, got := s.Sample(tuners.NewDraws(7, 3, 0, "test")), more.Sample(tuners.NewDraws(7, 3, 0, "test"))
	centre := s.Sample(tuners.NewDraws(8, 3, 0, "test"))
	wantNear, gotNear := s.Perturb(centre, 0.1, tuners.NewDraws(9, 3, 0, "test")),
		more.Perturb(centre, 0.1, tuners.NewDraws(9, 3, 0, "test"))
	for _, d := range s {
		if got[d.Name] != want[d.Name] || gotNear[d.Name] != wantNear[d.Name] {
			t.Errorf("%s is drawn as %s and near the centre as %s, without the others as %s and %s", d.Name, got[d.Name],
				gotNear[d.Name], want[d.Name], wantNear[d.Name])
		}
	}
	if err := more.Contains(got); err != nil {
		t.Error(err)
	}
	other := more.Sample(tuners.NewDraws(7, 4, 0, "test"))
	if other["fedex.gamma"] == got["fedex.gamma"] {
		t.Errorf("two trials have the gamma %s", got["fedex.gamma"])
	}
}
