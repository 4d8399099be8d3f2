package config

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/fedfast/fedfast/fl"
	"github.com/fedfast/fedfast/fl/hyper"
	"github.com/fedfast/fedfast/tuners"
)

// TestSpaceErrors: a dimension that leaves the range of its hyperparameter is
// refused when a study is loaded, with its place.
func TestSpaceErrors(t *testing.T) {
	head := "rounds = 3\n[space]\n"
	tests := []struct{ name, text, set, want string }{
		{
			"below the range", head + "\"client.lr\" = {uniform = [-0.02, 1]}\n", "",
			`study.toml:3: space.client.lr = {uniform = [-0.02, 1]}: client.lr = -0.02: must be a finite number > 0`,
		},
		{
			"text among numbers", head + "\"client.lr\" = {choice = [0.1, \"high\"]}\n", "",
			`study.toml:3: space.client.lr = {choice = [0.1, "high"]}: client.lr: must be a number, not high`,
		},
		{"batch", head + "\"client.batch\" = {int = [-5, 9]}\n", "", `client.batch = -5: must be a positive integer`},
		{"fractions of a batch", head + "\"client.batch\" = {uniform = [1, 64]}\n", "", `client.batch: must be an integer`},
		{"more than a batch can be", head + "\"client.batch\" = {log2 = [0, 40]}\n", "", `client.batch: must be an integer`},
		{
			"not used", head + "\"server.momentum\" = {uniform = [0, 0.9]}\n", "",
			`study.toml:3: space.server.momentum = {uniform = [0, 0.9]}: server.momentum = 0.9: method "fedavg" does not use it`,
		},
		{
			"not used by the method", "method = \"fedprox\"\n" + head +
				"\"client.lambda\" = {log10 = [-3, 0]}\n\"client.mu\" = {log10 = [-3, 0]}\n", "",
			`study.toml:4: space.client.lambda = {log10 = [-3, 0]}: client.lambda = 0.001: method "fedprox" does not use it`,
		},
		{"a value with another meaning", head + "\"client.dropout\" = {uniform = [-1, 0.5]}\n", "", `client.dropout = -`},
		{
			"from a single value into an interval", head + "\"client.bias_decay\" = {uniform = [-1, 100]}\n", "",
			`client.bias_decay = -0.99`,
		},
		{
			"one of two that depend", head + "\"client.steps\" = {int = [0, 5]}\n\"client.epochs\" = {uniform = [0, 2]}\n", "",
			`client.epochs = 0: must be in (0, 1e6]`,
		},
		{
			"widths between", "method = \"heterofl\"\n" + head + "\"client.width\" = {uniform = [0, 1]}\n", "",
			`client.width = `,
		},
		{
			"by --set", "", `space.client.lr={int=[0,1]}`,
			`--set space.client.lr={int=[0,1]}: space.client.lr = {int = [0, 1]}: client.lr = 0: must be`,
		},
		{
			"a key that no dimension replaces", "server.lr = 0.5\n" + head + "\"client.lr\" = {log10 = [-3, 0]}\n", "",
			`study.toml:1: server.lr = 0.5: method "fedavg" does not use it`,
		},
		{
			"no dimension", "method = \"fedprox\"\nclient.mu = 0\n" + head + "\"client.lr\" = {log10 = [-3, 0]}\n", "",
			`study.toml:2: client.mu = 0: method "fedprox" needs a finite number > 0`,
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			src := Source{File: write(t, tt.text)}
			if tt.set != "" {
				src.Sets = []string{tt.set}
			}
			c, places, err := LoadPlaced(src)
			if err != nil {
				t.Fatal(err)
			}
			err = places.Explain(c.CheckFor(ModeTune))
			if err == nil || !strings.Contains(err.Error(), tt.want) || strings.Contains(err.Error(), "\n") {
				t.Errorf("got %v, want a line with %s", err, tt.want)
			}
			method, err := fl.MethodByName(c.Method)
			if err != nil {
				t.Fatal(err)
			}
			if err := c.CheckFor(ModeRun); (err == nil) != (method.CheckParams(c.Client.Client, c.Server) == nil) {
				t.Errorf("a run does not draw, but gives %v", err)
			}
		})
	}
	for _, p := range Presets() {
		c, err := Load(Source{Preset: p.Name})
		if err != nil {
			t.Fatal(err)
		}
		if err := c.CheckSpace(); err != nil {
			t.Errorf("preset %s: %v", p.Name, err)
		}
	}
}

// TestCheckedSpacesNeverFail draws spaces of all hyperparameters and methods: of
// one that passes the check, no value and no neighbour of one is refused by a
// trial. Both outcomes must be met.
func TestCheckedSpacesNeverFail(t *testing.T) {
	passed, refused := 0, 0
	rapid.Check(t, func(t *rapid.T) {
		for range 10 {
			c := drawSpace(t)
			space, err := tuners.ParseSpace(c.Space)
			if err != nil {
				continue
			}
			if c.CheckSpace() != nil {
				refused++
				continue
			}
			passed++
			method, err := fl.MethodByName(c.Method)
			if err != nil {
				t.Fatal(err)
			}
			seed := rapid.Uint64().Draw(t, "seed")
			for trial := range 60 {
				draws := tuners.NewDraws(seed, trial, 0, "test")
				p := space.Sample(draws)
				for range 3 {
					h, err := c.Hyper().With(p, nil)
					if err == nil {
						err = method.CheckParams(h.Client, h.Server)
					}
					if err != nil {
						t.Fatalf("%s: space %v passed, but the draw %v fails: %v", c.Method, space, p, err)
					}
					p = space.Perturb(p, 0.3, draws)
				}
			}
		}
	})
	if passed == 0 || refused == 0 {
		t.Errorf("%d spaces passed and %d were refused", passed, refused)
	}
}

// drawSpace draws a method and a space.
func drawSpace(t *rapid.T) *Config {
	c := Default()
	c.Method = rapid.SampledFrom(fl.Methods()).Draw(t, "method")
	method, err := fl.MethodByName(c.Method)
	if err != nil {
		t.Fatal(err)
	}
	c.setHyper(method.Defaults())
	c.Client.Steps = rapid.SampledFrom([]int{0, 0, 3}).Draw(t, "steps")
	keys := hyper.Tunable()
	if rapid.Bool().Draw(t, "of all methods") {
		keys = []string{"client.lr", "client.epochs", "client.steps", "client.batch", "client.dropout"}
	}
	c.Space = map[string]any{}
	for _, key := range rapid.SliceOfNDistinct(rapid.SampledFrom(keys), 1, 2, rapid.ID).Draw(t, "keys") {
		c.Space[key] = drawDim(t)
	}
	return &c
}

// drawDim draws a dimension whose ends lie near the ends of ranges.
func drawDim(t *rapid.T) any {
	edge := rapid.SampledFrom([]float64{
		-1, -0.5, 0, 0, 0.001, 0.0625, 0.5, 0.5, 0.9, 1, 1, 2, 3, 5, 100, 1e6, 1e7,
		math.MaxInt32, 1e12,
	})
	a, b := edge.Draw(t, "a"), edge.Draw(t, "b")
	lo, hi := min(a, b), max(a, b)
	bounded := func(most float64) []any {
		return []any{math.Trunc(max(-most, min(lo, most))), math.Trunc(max(-most, min(hi, most)))}
	}
	switch kind := rapid.SampledFrom([]string{"uniform", "int", "log2", "log10", "log10_1m", "choice"}).Draw(t,
		"kind"); kind {
	case "uniform":
		return map[string]any{kind: []any{lo, hi}}
	case "int":
		return map[string]any{kind: bounded(1 << 50)}
	case "log10_1m":
		return map[string]any{kind: []any{-max(0, min(hi, 300)), -max(0, min(lo, 300))}}
	case "choice":
		list := []any{lo}
		if hi > lo {
			list = append(list, hi)
		}
		return map[string]any{kind: append(list, rapid.SampledFrom([][]any{nil, {true}, {"word"}}).Draw(t, "more")...)}
	default:
		return map[string]any{kind: bounded(300)}
	}
}

// TestDeepDocumentsAreRefused: what costs a decoder the square of its depth is
// refused before it is decoded.
func TestDeepDocumentsAreRefused(t *testing.T) {
	const n = 100_000
	deep := map[string]string{
		"lists":       "\nx = " + strings.Repeat("[", n) + strings.Repeat("]", n) + "\n",
		"tables":      "\nx = " + strings.Repeat("{a=", n) + "1" + strings.Repeat("}", n) + "\n",
		"dotted":      "\n" + strings.Repeat("a.", n) + "a = 1\n",
		"header":      "\n[" + strings.Repeat("a.", n) + "a]\n",
		"behind text": "\nx = [\"\"\"it's \"quoted\" \"\"\"\"\", " + strings.Repeat("[", n) + "\n",
	}
	for name, text := range deep {
		_, err := Load(Source{File: write(t, text)})
		if err == nil || !strings.Contains(err.Error(), "study.toml:2: tables and lists nested more than 64 levels deep") {
			t.Errorf("%s: got error %.200v", name, err)
		}
		_, err = Load(Source{Sets: []string{strings.TrimSpace(text)}})
		if err == nil || len(err.Error()) > 1000 || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s by --set: got error %.2000v", name, err)
		}
	}
	if _, err := Load(Source{File: write(t, "# "+strings.Repeat("x", maxDocument))}); err == nil ||
		!strings.Contains(err.Error(), "study.toml: study file larger than 1048576 bytes") {
		t.Errorf("a large file: got error %v", err)
	}
	var many strings.Builder
	for i := range 20_000 {
		fmt.Fprintf(&many, "key%d = 1\n", i)
	}
	if _, err := Load(Source{File: write(t, many.String())}); err == nil || !strings.Contains(err.Error(),
		`study.toml:1: unknown key "key0"`) {
		t.Errorf("many unknown keys: got error %v", err)
	}
	c, err := Load(Source{File: write(t, "name = \"a[[[[.\" # "+strings.Repeat("[", 100)+"\ndata.path = '"+
		strings.Repeat(".", 100)+"'\n")})
	if err != nil || c.Name != "a[[[[." {
		t.Errorf("brackets in strings and comments: got error %v", err)
	}
}

// TestSpaceOfUpdates: a space has the numbers of the transforms and of the aggregator that the
// study uses, within their ranges.
func TestSpaceOfUpdates(t *testing.T) {
	t.Parallel()
	for space, want := range map[string]string{
		`"update.bits" = {int = [2, 8]}`:            "",
		`"aggregator.trim" = {uniform = [0, 0.4]}`:  "",
		`"update.bits" = {int = [2, 9]}`:            "space.update.bits = {int = [2, 9]}: update.bits = 9: must be",
		`"update.keep" = {uniform = [0.1, 1]}`:      `space.update.keep: not used, but with update.sparsify = "topk"`,
		`"aggregator.wrong" = {uniform = [0, 0.1]}`: "space.aggregator.wrong: not used with aggregator.name = \"trimmed\"",
	} {
		c, err := Load(Source{Preset: "quickstart", Sets: []string{"update.quantize=qsgd", "aggregator.name=trimmed"}})
		if err != nil {
			t.Fatal(err)
		}
		text, err := Encode(c)
		if err != nil {
			t.Fatal(err)
		}
		head, _, _ := strings.Cut(string(text), "[space]")
		if c, err = Load(Source{Text: head + "[space]\n" + space + "\n"}); err != nil {
			t.Fatal(err)
		}
		if err = c.CheckSpace(); want == "" && err != nil || want != "" &&
			(err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%s: %v, want %q", space, err, want)
		}
	}
}
