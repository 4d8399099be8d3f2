package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/fedfast/fedfast/internal/test/npztest"
)

var updateOutputs = flag.Bool("update-outputs", false, "write command/outputs.json anew")

// outputs are calls of the commands whose JSON has a schema. With "-" for the command the call
// prepares others. SMALL and SPACE are settings of a small study, ROOT is the checkout.
var outputs = [][2]string{
	{
		"-",
		"run --study small --set data.name=synthetic --set data.clients=12 --set model=logistic --set cohort=4 --set method=reptile --set rounds=2",
	},
	{"run", "run small/config.toml --study r"},
	{"run", "run small/config.toml --study bare --set eval.personalized=false --set method=fedavgm --set eval.goal=0.9"},
	{
		"run",
		"run small/config.toml --study private --set eval.every=1 --set dp.epsilon=8 --set dp.clip=0.5 --set sampling=poisson --set dp.accountant=rdp",
	},
	{
		"run",
		"run small/config.toml --study public --set digests=all --set dp.noise=1 --set dp.quantile=0.5 --set cohort=12 --set dp.population=1000 --set dp.assume=poisson --set dp.accountant=rdp",
	},
	{
		"run",
		"run small/config.toml --study own --set dp.noise=1 --set dp.clip=0.5 --set dp.mechanism=local --set dp.accountant=rdp",
	},
	{"run", "run small/config.toml --study fleet --set fleet.devices=phones --set eval.every=1"},
	{"run --seeds", "run small/config.toml --study rs --seeds 2"},
	{"run --estimate", "run small/config.toml --estimate"},
	{
		"tune",
		"tune --preset fashion-fedex SMALL SPACE --set budget.rounds=24 --set budget.trial_rounds=12 --set tuner.options={eta=3,eliminations=1} --client-tuner fedex --baseline 2 --study t",
	},
	{
		"tune",
		"tune --preset fashion-fedex SMALL SPACE --set budget.rounds=8 --set budget.trial_rounds=4 --tuner random --client-tuner none --set eval.personalized=false --set target=global --study g",
	},
	{
		"tune",
		"tune --preset fashion-fedex SMALL SPACE --set budget.rounds=8 --set budget.trial_rounds=4 --tuner random --client-tuner none --set dp.noise=3 --set dp.clip=0.5 --set sampling=poisson --set dp.accountant=rdp --study tp",
	},
	{
		"tune --seeds",
		"tune --preset fashion-fedex SMALL SPACE --set budget.rounds=8 --set budget.trial_rounds=4 --tuner random --client-tuner none --baseline 2 --study ts --seeds 2",
	},
	{
		"plan",
		"plan --preset fashion-fedex SMALL SPACE --set rounds=2 --set budget.rounds=8 --set budget.trial_rounds=4 --study pl",
	},
	{"plan", "plan --study pl --check log.csv"},
	{"tune --estimate", "tune --preset fashion-fedex SMALL SPACE --client-tuner fedex --estimate"},
	{"table", "table record --preset fashion-fedex SMALL SPACE --configs 3 --rounds 2 --seeds 2 --out t.parquet"},
	{"table", "table info t.parquet"},
	{
		"table",
		`table record --preset fashion-fedex SMALL --set space={"client.lr"={log10=[0,37]}} --set nonfinite=fail --configs 4 --rounds 2 --out f.parquet`,
	},
	{"table check", "table check t.parquet"},
	{"tune --table", "tune --table t.parquet --tuner random"},
	{"tune", "study resume t"},
	{"run", "study resume r"},
	{"study note", "study note g"},
	{"study note", "study note t words --tag one"},
	{"-", "study note rs words --tag one"},
	{"-", "study note rs/seed-0 words --tag one"},
	{"-", "study note ts words --tag one"},
	{"-", "study note ts/seed-0 words --tag one"},
	{"run --seeds", "run --seeds 2 --study rs"},
	{"tune --seeds", "tune --seeds 2 --study ts"},
	{"study show", "study show t"},
	{"study show", "study show g"},
	{"study show", "study show r"},
	{"study show SEEDS", "study show rs"},
	{"study show SEEDS", "study show ts"},
	{"study list", "study list ."},
	{"study export", "study export t"},
	{"study replay", "study replay public --round 1 --client 0"},
	{"study pack", "study pack t"},
	{"study pack", "study pack t --sign key.pem --out s.fedfast"},
	{"verify", "verify t.fedfast --rounds 1"},
	{"verify", "verify s.fedfast"},
	{"eval", "eval r"},
	{"eval", "eval t --predictions p.csv"},
	{"eval", "eval bare/model.safetensors bare/config.toml"},
	{"report", "report t r --out page.html"},
	{"figure", "figure r"},
	{"study compare", "study compare t r"},
	{"dp epsilon", "dp epsilon"},
	{"dp epsilon", "dp epsilon --fixed"},
	{
		"dp audit",
		"dp audit small/config.toml --canaries 6 --set dp.noise=3 --set dp.clip=0.5 --set sampling=poisson --set dp.accountant=rdp",
	},
	{"dp sigma", "dp sigma"},
	{"dp sigma", "dp sigma --fixed"},
	{"data info", "data info synthetic --set data.clients=12"},
	{"data info", "data info glyphs --set data.clients=12"},
	{
		"data partition",
		"data partition npz-vectors --set data.path=own.npz --set data.clients=3 --set data.partition=dirichlet --set data.alpha=9",
	},
	{"data fleet", "data fleet small/config.toml --set fleet.devices=phones"},
	{"data fetch", "data fetch tff-femnist --from . --dir got"},
	{"data fetch --list", "data fetch --list"},
	{"list keys", "list keys"},
	{"list keys", "list keys client.lr"},
	{"list methods", "list methods"},
	{"list methods NAME", "list methods fedprox"},
	{"list methods NAME", "list methods fedtp"},
	{"list models", "list models"},
	{"list models NAME", "list models logistic"},
	{"list layers", "list layers"},
	{"list layers NAME", "list layers conv"},
	{"list losses", "list losses"},
	{"list losses NAME", "list losses huber"},
	{"list updates", "list updates"},
	{"list updates NAME", "list updates topk"},
	{"list aggregators", "list aggregators"},
	{"list aggregators NAME", "list aggregators krum"},
	{"list tuners NAME", "list tuners sha"},
	{"list probes", "list probes"},
	{"list data", "list data"},
	{"list presets", "list presets"},
	{"model export", "model export r"},
	{"model import", "model import net.py --input 4"},
	{"model import", "model import plain.py --input 4"},
	{"model genotype", "model genotype --random --out g.toml"},
	{"tuner list", "tuner list"},
	{"tuner new", "tuner new mine"},
	{"tuner check", "tuner check --only describe,decisions random"},
	{"bench", "bench --from ROOT/bench/results/kernels.json"},
	{"bench", "bench --from ROOT/bench/results/nn-zen5.json"},
	{"bench", "bench --from ROOT/bench/results/rounds-zen5.json"},
	{"bench", "bench --from ROOT/bench/results/scale.json"},
	{"bench", "bench --from ROOT/bench/results/rounds-zen5.json"},
	{"repro", "repro merge ROOT/bench/results/repro/fedtune-fmnist.jsonl"},
	{"repro list", "repro list fedtune-table1"},
	{"repro list", "repro list fathom-starts"},
	{"ui", "ui ."},
	{"version", "version"},
}

// outputsSpace has a dimension of each kind, and configurations that do not learn.
const outputsSpace = `{"server.lr"={log10=[-1,1]},"server.momentum"={choice=[0,0.9]},"client.lr"={log10=[-4,0]},` +
	`"client.momentum"={uniform=[0,1]},"client.weight_decay"={log10=[-5,-1]},"client.epochs"={int=[1,5]},"client.batch"={log2=[3,6]}}`

// twoTuners are the settings of a study of SHA and FedEx.
var twoTuners = []string{
	"--client-tuner", "fedex", "--set", "tuner.options={eta=3,eliminations=3}", "--set", "space=" + outputsSpace,
}

// key is a private key that signs packs.
const key = `-----BEGIN PRIVATE KEY-----
MC4CAQAwBQYDK2VwBCIEIAE1ei76N/bQNZOndxA2BcRHwx4JqrMVR6g49Gp5uZI/
-----END PRIVATE KEY-----
`

// TestOutputs compares the keys and types of all that commands print with --json with the
// schemas that `fedfast describe` has. A program that reads them must not be surprised.
func TestOutputs(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("runs some sixty commands")
	}
	dir := t.TempDir()
	checkout, err := filepath.Abs(root)
	if err != nil {
		t.Fatal(err)
	}
	y := make([]int64, 60)
	for i := range y {
		y[i] = int64(i % 3)
	}
	own, err := npztest.Encode(true, npztest.Array{Name: "x", Shape: []int{60, 2}, Values: make([]float32, 120)},
		npztest.Array{Name: "y", Shape: []int{60}, Values: y})
	if err != nil {
		t.Fatal(err)
	}
	network := []byte("from torch import nn\nnet = nn.Sequential(nn.Linear(4, 3), nn.LogSoftmax(1))\n")
	for name, content := range map[string][]byte{
		"net.py": network, "plain.py": bytes.Replace(network,
			[]byte(", nn.LogSoftmax(1)"), nil, 1), "own.npz": own, "emnist_all.sqlite.lzma": {']', 0, 0},
		"key.pem": []byte(key), "log.csv": []byte("round,loss\n1,2\n2,1\n"),
	} {
		if err := os.WriteFile(filepath.Join(dir, name), content, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	samples := map[string][]any{}
	torch := slices.ContainsFunc(pythons(), func(python string) bool { return hasModules(python, "torch") })
	for _, o := range outputs {
		if o[0] == "model import" && !torch {
			continue
		}
		command := strings.ReplaceAll(o[1], "ROOT", checkout)
		command = strings.NewReplacer(
			"SMALL", "--set data.name=synthetic --set data.clients=12 --set model=logistic --set cohort=4 --set method=reptile",
			"SPACE", "--set space="+outputsSpace,
		).Replace(command)
		cmd := exec.CommandContext(t.Context(), "fedfast", append(strings.Fields(command), "--json")...)
		cmd.Dir = dir
		v, err := firstJSON(cmd, o[0] == "ui")
		if err != nil {
			t.Errorf("fedfast %s: %v", command, err)
			continue
		}
		if o[0] != "-" {
			samples[o[0]] = append(samples[o[0]], v)
		}
	}
	got := map[string]any{}
	for name, values := range samples {
		got[name] = shape(t, name, values)
	}
	file := filepath.Join("command", "outputs.json")
	var want struct {
		Version int            `json:"version"`
		Outputs map[string]any `json:"outputs"`
	}
	text, err := os.ReadFile(file)
	if err == nil {
		err = json.Unmarshal(text, &want)
	}
	if err != nil {
		t.Fatal(err)
	}
	if *updateOutputs {
		if !torch {
			t.Fatal("-update-outputs needs a Python with PyTorch, for model import")
		}
		var out strings.Builder // a line each
		for i, name := range slices.Sorted(maps.Keys(got)) {
			text, err := json.Marshal(got[name])
			if err != nil {
				t.Fatal(err)
			}
			fmt.Fprintf(&out, "%s\n  %q: %s", strings.Repeat(",", min(i, 1)), name, text)
		}
		text := fmt.Sprintf("{\n \"version\": %d,\n \"outputs\": {%s\n }\n}\n", want.Version, out.String())
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil { //nolint:gosec // as other sources
			t.Fatal(err)
		}
		return
	}
	if !torch {
		delete(want.Outputs, "model import")
	}
	for _, name := range slices.Sorted(maps.Keys(want.Outputs)) {
		a, errA := json.MarshalIndent(want.Outputs[name], "", " ")
		b, errB := json.MarshalIndent(got[name], "", " ")
		if errA != nil || errB != nil || !bytes.Equal(a, b) {
			t.Errorf("fedfast %s --json: keys or types have changed; where programs that read them have to change, raise the version in "+
				"command/outputs.json; then go test ./cmd/fedfast -run TestOutputs -update-outputs\n%s", name,
				firstDifference(string(a), string(b)))
		}
		delete(got, name)
	}
	if len(got) > 0 {
		t.Errorf("without schemas: %v", slices.Sorted(maps.Keys(got)))
	}
}

// firstJSON runs a command and returns what it prints. One that serves is then ended.
func firstJSON(cmd *exec.Cmd, serves bool) (v any, err error) {
	var errs strings.Builder
	cmd.Stderr = &errs
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		return nil, err
	}
	err = json.NewDecoder(out).Decode(&v)
	if serves {
		_ = cmd.Process.Kill() // it may have ended
		_ = cmd.Wait()         // killed
		return v, err
	}
	if rest, errRest := io.ReadAll(out); errRest != nil || len(bytes.TrimSpace(rest)) > 0 {
		err = errors.Join(err, errRest, fmt.Errorf("more than one value: %.80q", rest))
	}
	if ended := cmd.Wait(); ended != nil {
		return nil, fmt.Errorf("%w: %s", ended, errs.String())
	}
	return v, err
}

// plainKey is a key of an object with fixed keys.
var plainKey = regexp.MustCompile(`^[a-z][a-z0-9_]*$`)

// shape returns the JSON Schema of some values at a place.
func shape(t *testing.T, at string, values []any) map[string]any {
	t.Helper()
	kinds := map[string]bool{}
	var items []any
	fields := map[string][]any{}
	objects := 0
	for _, v := range values {
		switch v := v.(type) {
		case nil:
			kinds["null"] = true
		case bool:
			kinds["boolean"] = true
		case float64:
			kinds["number"] = true
		case string:
			kinds["string"] = true
		case []any:
			kinds["array"] = true
			items = append(items, v...)
		case map[string]any:
			kinds["object"] = true
			objects++
			for key, value := range v {
				fields[key] = append(fields[key], value)
			}
		}
	}
	out := map[string]any{}
	if names := slices.Sorted(maps.Keys(kinds)); len(names) == 1 {
		out["type"] = names[0]
	} else if len(names) > 1 {
		out["type"] = names
	}
	if kinds["array"] && len(items) > 0 {
		out["items"] = shape(t, at+"[]", items)
	}
	if !kinds["object"] {
		return out
	}
	properties, required := map[string]any{}, []string{}
	var hyper []any
	for key, values := range fields {
		if strings.Contains(key, ".") {
			hyper = append(hyper, values...)
			continue
		}
		if !plainKey.MatchString(key) {
			t.Errorf("%s: %q is no plain key; is it the name of something?", at, key)
		}
		properties[key] = shape(t, at+"."+key, values)
		if len(values) == objects {
			required = append(required, key)
		}
	}
	slices.Sort(required)
	if len(hyper) > 0 { // keyed by names of hyperparameters
		out["patternProperties"] = map[string]any{`[.]`: shape(t, at+".*", hyper)}
	}
	if len(properties) > 0 {
		out["properties"], out["required"] = properties, required
	}
	out["additionalProperties"] = false
	return out
}

// firstDifference shows where two texts begin to differ.
func firstDifference(want, got string) string {
	a, b := strings.Split(want, "\n"), strings.Split(got, "\n")
	for i := range min(len(a), len(b)) {
		if a[i] != b[i] {
			from := max(0, i-6)
			return "want\n" + strings.Join(a[from:min(i+3, len(a))], "\n") + "\ngot\n" + strings.Join(b[from:min(i+3, len(b))],
				"\n")
		}
	}
	return "one of them ends early"
}
