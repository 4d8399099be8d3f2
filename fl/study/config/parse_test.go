package config

import (
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
)

// write makes a study file and returns its path.
func write(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "study.toml")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestLoadErrors(t *testing.T) {
	tests := []struct {
		name, text string
		sets       []string
		want       string
	}{
		{"misspelt", "name = \"x\"\n\nrond = 3\n", nil, `study.toml:3: unknown key "rond" (did you mean "rounds"?)`},
		{
			"misspelt in a table", "[client]\nlr = 0.1\nbacth = 3\n", nil,
			`study.toml:3: unknown key "client.bacth" (did you mean "client.batch"?)`,
		},
		{"misspelt table", "[clinet]\nlr = 0.1\n", nil, `study.toml:2: unknown key "clinet.lr" (did you mean "client.lr"?)`},
		{"dotted", "server.rl = 3\n", nil, `study.toml:1: unknown key "server.rl" (did you mean "server.lr"?)`},
		{"quoted", "\n\"client.lrr\" = 3\n", nil, `study.toml:2: unknown key "client.lrr" (did you mean "client.lr"?)`},
		{
			"last part only", "weight_decay = 0.1\n", nil,
			`study.toml:1: unknown key "weight_decay" (did you mean "client.weight_decay"?)`,
		},
		{"nothing like it", "quux_frobnicator = 1\n", nil, `study.toml:1: unknown key "quux_frobnicator"`},
		{"first of two", "cohort = 1\nzeta.a = 1\nalpah = 2\n", nil, `study.toml:2: unknown key "zeta.a"`},
		{"empty table", "[clients]\n", nil, `study.toml:1: unknown key "clients"`},
		{"below a value", "rounds.max = 3\n", nil, `study.toml:1: rounds: must be an integer`},
		{"text for a number", "a = 1\n", []string{}, `unknown key "a"`},
		{"type", "[client]\n\nlr = \"fast\"\n", nil, `study.toml:3: client.lr = "fast": must be a number`},
		{"fraction", "cohort = 2.5\n", nil, `study.toml:1: cohort = 2.5: must be an integer`},
		{"bool", "data.iid = 1\n", nil, `study.toml:1: data.iid = 1: must be true or false`},
		{"list", "tuner.allow = [1]\n", nil, `study.toml:1: tuner.allow: must be a list of strings`},
		{"list of integers", "data.sizes = [1, 2.5]\n", nil, `study.toml:1: data.sizes: must be a list of integers`},
		{"list of numbers", "data.hi = [0.5, \"x\"]\n", nil, `study.toml:1: data.hi: must be a list of numbers`},
		{"no list", "data.hi = \"much\"\n", nil, `study.toml:1: data.hi = "much": must be a list of numbers`},
		{"negative seed", "seed = -1\n", nil, `study.toml:1: seed = -1: must be a non-negative integer`},
		{
			"beyond 64 bits", "",
			[]string{"client.steps=9223372036854775808"},
			`client.steps = 9223372036854775808: exceeds the range of 64-bit integers; must be an integer`,
		},
		{
			"beyond 64 bits, a real number", "",
			[]string{"client.lr=1e999"},
			`client.lr = 1e999: exceeds the range of 64-bit numbers; must be a number`,
		},
		{
			"beyond 31 bits", "rounds = 2147483648\n", nil,
			`study.toml:1: rounds = 2147483648: must be an integer in [-2147483648, 2147483647]`,
		},
		{"long seed", "seed = \"18446744073709551616\"\n", nil, `must be an integer in [0, 2^64 - 1]`},
		{"twice", "client.lr = 1\n\"client.lr\" = 2\n", nil, `key "client.lr" is set twice`},
		{"syntax", "rounds = 3\ncohort = = 4\n", nil, `study.toml:2: `},
		{
			"space", "[space]\n\"client.lr\" = {lgo10 = [-4, 0]}\n", nil,
			`study.toml:2: space: client.lr: unknown kind "lgo10"`,
		},
		{"space dotted", "[space]\nclient.lr = [-4, 0]\n", nil, `study.toml:2: space: client.lr: must be one of`},
		{
			"option", "[tuner.options]\na = 1\nb = [1]\n", nil,
			`study.toml:3: tuner.options.b: a value must be a number, a string or a bool`,
		},
		{
			"model", "model = 3\n", nil,
			`study.toml:1: model: must be the name of a model or a list of tables [[model.layers]]`,
		},
		{
			"layer key", "[[model.layers]]\ntype = \"dense\"\nunit = 3\n", nil,
			`model.layers[1]: unknown key "unit" (did you mean "units"?)`,
		},
		{
			"key of a branch", "[[model.layers]]\ntype = \"residual\"\n[[model.layers.body]]\nunit = 3\n", nil,
			`model.layers[1].body[1]: unknown key "unit" (did you mean "units"?)`,
		},
		{
			"branch", "[[model.layers]]\ntype = \"residual\"\nbody = \"conv\"\n", nil,
			`model.layers[1].body: must be a list of tables, the layers of a branch`,
		},
		{
			"layer type", "[[model.layers]]\ntype = \"dense\"\nunits = \"3\"\n", nil,
			`model.layers[1].units = "3": must be an integer`,
		},
		{
			"another name", "[client]\nlearning_rate = 0.1\n", nil,
			`study.toml:2: unknown key "client.learning_rate" (did you mean "client.lr"?)`,
		},
		{
			"another name alone", "",
			[]string{"batch_size=3"},
			`--set batch_size=3: unknown key "batch_size" (did you mean "client.batch"?)`,
		},
		{
			"type of a layer", "[[model.layers]]\ntype = \"conv2d\"\n", nil,
			`model.layers[1]: unknown type "conv2d" (did you mean "conv"?); available: add, attention, avgpool, batchnorm, channels, concat, conv, `,
		},
		{"set", "", []string{"rouns=3"}, `--set rouns=3: unknown key "rouns" (did you mean "rounds"?)`},
		{"set without value", "", []string{"rounds"}, `--set rounds: want key=value`},
		{"set type", "", []string{"client.lr=fast"}, `--set client.lr=fast: client.lr = "fast": must be a number`},
		{
			"set a path of Windows", "",
			[]string{`data.path="C:\Users\own.npz"`},
			`--set data.path="C:\Users\own.npz": invalid TOML value "C:\Users\own.npz": expected eight hexadecimal digits after '\U', but got "C:\\Us" instead; write texts, such as paths with \, in single quotes: data.path = 'C:\Users\own.npz'`,
		},
		{
			"set a path of Windows with no code", "",
			[]string{`data.path="D:\own.npz"`},
			`; write texts, such as paths with \, in single quotes: data.path = 'D:\own.npz'`,
		},
		{
			"a path without quotes", "[data]\npath = C:\\data\n", nil,
			`study.toml:2: expected value but found "C" instead; write texts, such as paths with \, in single quotes: path = `,
		},
		{"a relative path", "data.path = .\\own.npz # mine\n", nil, `single quotes: data.path = 'C:\Users\me\own.npz'`},
		{"a name without quotes", "method = fedavg\n", nil, `in single quotes: method = 'fedavg'`},
		{"a truth value of Python", "bf16 = True\n", nil, `; write bf16 = true`},
		{"a number without a digit before its point", "[client]\nlr = .5\n", nil, `; write lr = 0.5`},
		{"a decimal comma", "[client]\nlr = 0,1\n", nil, `; write lr = 0.1`},
		{"a key behind a table", "[data]\nrounds = 3\n", nil, `"data.rounds" (write rounds before the first [table])`},
		{"no value", "cohort =\n", nil, `study.toml:1: expected value but found '\n' instead`},
		{"set broken table", "", []string{"space.x={log10=[1"}, `--set space.x={log10=[1: invalid TOML value {log10=[1`},
		{"set of two lines", "", []string{"rounds=3\ncohort=4"}, `--set rounds=3; cohort=4: want key=value on one line`},
		{"set twice", "", []string{"cohort=3", "cohort=4"}, `--set cohort=4: key "cohort" is set twice; leave one out`},
		{"set key", "", []string{"a b=c"}, `invalid key "a b"`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := Load(Source{File: write(t, tt.text), Sets: tt.sets})
			if err == nil || !strings.Contains(err.Error(), tt.want) || strings.Contains(err.Error(), "\n") {
				t.Errorf("got %v, want a line with %s", err, tt.want)
			}
		})
	}
	if _, err := Load(Source{Preset: "femnst"}); err == nil || !strings.Contains(err.Error(), `did you mean "femnist"?`) {
		t.Errorf("an unknown preset gives %v", err)
	}
	if _, err := Load(Source{File: filepath.Join(t.TempDir(), "no.toml")}); err == nil || !strings.Contains(err.Error(),
		"no.toml") {
		t.Errorf("a missing file gives %v", err)
	}
}

// TestKeysHaveEqualForms writes the same configuration in the forms that TOML
// has for keys.
func TestKeysHaveEqualForms(t *testing.T) {
	forms := []string{
		"client.lr = 0.5\nbudget = {rounds = 9, trial_rounds = 3}\n[space]\n\"client.lr\" = {log10 = [-4, 0]}\n",
		"\"client.lr\" = 0.5\n\"budget.rounds\" = 9\nbudget.trial_rounds = 3\n[space]\nclient.lr = {log10 = [-4, 0]}\n",
		"[client]\nlr = 0.5\n[budget]\nrounds = 9\ntrial_rounds = 3\n[space.client]\nlr = {log10 = [-4.0, 0.0]}\n",
		"client = {lr = 0.5}\n[\"budget\"]\n'rounds' = 9\ntrial_rounds = 3\n[space.client.lr]\nlog10 = [-4, 0]\n",
	}
	var first *Config
	for i, text := range forms {
		c, err := Load(Source{File: write(t, text)})
		if err != nil {
			t.Fatalf("form %d: %v", i, err)
		}
		if first == nil {
			first = c
			if c.Client.LR != 0.5 || c.Budget != (Budget{Rounds: 9, TrialRounds: 3}) || len(c.Space) != 1 || c.Name != "study" {
				t.Fatalf("form 0 gives %+v", c)
			}
		}
		if !reflect.DeepEqual(c, first) {
			t.Errorf("form %d gives %+v, form 0 %+v", i, c, first)
		}
	}
}

func TestSetTakesLiteralsAndBareWords(t *testing.T) {
	seed := uint64(1<<64 - 1)
	c, err := Load(Source{Seed: &seed, Sets: []string{
		"data.path=../x", "data.split=80/10/10", "name=2024", "data.iid=true", "client.lr=1e-3", "client.epochs=2",
		`space."client.lr"={log10=[-3,0]}`, "space.server.lr={choice=[1, 0.5]}", "tuner.options.mode=fast",
		"tuner.options.n=3",
		`data.encoding="leaf"`, "tuner.allow=[]", "model.layers=[{type='dense', rate=0.0}]", "data.name = a=b",
		"data.sizes=[100, 200]", "data.hi=0.4",
	}})
	if err != nil {
		t.Fatal(err)
	}
	rate := 0.0
	got := []any{
		c.Data.Path, c.Data.Split, c.Name, c.Data.IID, c.Client.LR, c.Client.Epochs, c.Space, c.Tuner.Options,
		c.Data.Encoding, len(c.Tuner.Allow), c.Model.Layers[0].Type, c.Model.Layers[0].Rate, c.Seed, c.Data.Name,
		c.Data.Sizes, c.Data.HI, c.data().Sizes, c.data().HI,
	}
	want := []any{
		"../x", "80/10/10", "2024", new(true), 1e-3, 2.0,
		map[string]any{
			"client.lr": map[string]any{"log10": []any{-3.0, 0.0}},
			"server.lr": map[string]any{"choice": []any{1.0, 0.5}},
		},
		map[string]any{"mode": "fast", "n": 3.0},
		"leaf", 0, "dense", &rate, seed, "a=b",
		[]int{100, 200},
		[]float64{0.4},
		[]int{100, 200},
		[]float64{0.4},
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got %v\nwant %v", got, want)
	}
}

func TestLayersOverride(t *testing.T) {
	load := func(src Source) *Config {
		t.Helper()
		c, err := Load(src)
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	preset := load(Source{Preset: "femnist-fedex"})
	if preset.Budget != (Budget{Rounds: 2000, TrialRounds: 200}) || preset.Tuner.Options["eta"] != 3.0 ||
		preset.ClientTuner.Name != "fedex" || preset.Name != "femnist-fedex" {
		t.Fatalf("the preset gives %+v", preset)
	}
	file := write(t, "budget.rounds = 1000\nclient.lr = 0.7\nname = \"mine\"\n")
	c := load(Source{Preset: "femnist-fedex", File: file, Sets: []string{"client.lr=0.3"}})
	if c.Budget != (Budget{Rounds: 1000, TrialRounds: 100}) || c.Client.LR != 0.3 || c.Name != "mine" ||
		c.Cohort != preset.Cohort {
		t.Errorf("the layers give %+v", c)
	}
	for sets, want := range map[string]Budget{
		"budget.rounds=200":                        {Rounds: 200, TrialRounds: 20},
		"budget.rounds=4":                          {Rounds: 4, TrialRounds: 1},
		"budget.rounds=200 budget.trial_rounds=50": {Rounds: 200, TrialRounds: 50},
		"budget.trial_rounds=50 budget.rounds=200": {Rounds: 200, TrialRounds: 50},
		"budget.trial_rounds=50":                   {Rounds: 2000, TrialRounds: 50},
	} {
		if c := load(Source{Preset: "femnist-fedex", Sets: strings.Fields(sets)}); c.Budget != want {
			t.Errorf("%s gives %+v, want %+v", sets, c.Budget, want)
		}
	}
	c = load(Source{
		Preset: "femnist-fedex", Tuner: "random", ClientTuner: "none",
		Sets: []string{"tuner.options.trials=4"},
	})
	if !reflect.DeepEqual(c.Tuner.Options, map[string]any{"trials": 4.0}) || c.ClientTuner.Name != "" ||
		c.ClientTuner.Options != nil {
		t.Errorf("another tuner gives %+v, %+v", c.Tuner, c.ClientTuner)
	}
	c = load(Source{Preset: "femnist-fedex", Tuner: "sha", Sets: []string{"client_tuner.options.configs=9"}})
	if c.Tuner.Options["eta"] != 3.0 || c.ClientTuner.Options["configs"] != 9.0 || c.ClientTuner.Options["eps"] != 0.1 {
		t.Errorf("the same tuner gives %+v, %+v", c.Tuner, c.ClientTuner)
	}
	c = load(Source{Preset: "quickstart", Sets: []string{"model.name=logistic", `space."client.lr"=none`}})
	if c.Model.Name != "logistic" || c.Model.Layers != nil || c.Space["client.lr"] != nil ||
		c.Space["client.momentum"] == nil {
		t.Errorf("a model by name gives %+v, the space is %v", c.Model, c.Space)
	}
	inline := load(Source{Sets: []string{`model.layers=[{type='residual', body=[{type='conv', filters=4, kernel=3, pad=1}], shortcut=[{type='relu'}]}, {type='dense'}]`}})
	tables := load(Source{File: write(t, `
[[model.layers]]
type = "residual"
[[model.layers.body]]
type = "conv"
filters = 4
kernel = 3
pad = 1
[[model.layers.shortcut]]
type = "relu"
[[model.layers]]
type = "dense"
`)})
	if l := tables.Model.Layers; len(l) != 2 || len(l[0].Body) != 1 || l[0].Body[0].Pad != 1 || len(l[0].Shortcut) != 1 ||
		!reflect.DeepEqual(l, inline.Model.Layers) {
		t.Errorf("a residual block is %+v, inline %+v", l, inline.Model.Layers)
	}
	c = load(Source{Preset: "femnist", File: write(t, "[[model.layers]]\ntype = \"dense\"\n")})
	if c.Model.Name != "" || len(c.Model.Layers) != 1 {
		t.Errorf("a model by layers gives %+v", c.Model)
	}
}
