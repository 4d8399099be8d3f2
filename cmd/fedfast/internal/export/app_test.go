package export_test

import (
	"encoding/binary"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/fedfast/fedfast/cmd/fedfast/internal/export"
	"github.com/fedfast/fedfast/data"
	"github.com/fedfast/fedfast/fl/study/config"
	"github.com/fedfast/fedfast/fl/study/workdir"
	"github.com/fedfast/fedfast/nn"
	"github.com/fedfast/fedfast/nn/safetensors"
	"github.com/fedfast/fedfast/plugins"
)

// python is the first Python that can import torch, or empty.
var python = sync.OnceValue(func() string {
	for _, p := range append(filepath.SplitList(os.Getenv("FEDFAST_PYTHON")), "python3", "/usr/bin/python3") {
		const probe = "import importlib.util, sys; sys.exit(not all(map(importlib.util.find_spec, ['torch', 'numpy'])))"
		if exec.Command(p, "-c", probe).Run() == nil {
			return p
		}
	}
	return ""
})

// runApp has testdata/app.py work on apps.
func runApp(t *testing.T, mode string, folders ...string) {
	t.Helper()
	if python() == "" {
		t.Skip("no python3 here can import torch and numpy; install Debian's python3-torch")
	}
	args := append([]string{filepath.Join("testdata", "app.py"), mode}, folders...)
	if out, err := exec.Command(python(), args...).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
}

// trained has fedfast train a study from weights that were drawn before, and exports it.
type trained struct {
	fed     *data.Federation
	model   *nn.Model
	app     string
	weights []float32 // at the end
}

func train(t *testing.T, dir, text, format string) *trained {
	t.Helper()
	c, err := config.Load(config.Source{Text: text})
	if err != nil {
		t.Fatal(err)
	}
	_, m, err := config.Prepare(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	start := m.NewParams()
	m.Init(start, 7)
	c.Init = filepath.Join(dir, "start.safetensors")
	f, err := os.Create(c.Init)
	if err != nil {
		t.Fatal(err)
	}
	if err := safetensors.Write(f, m, start); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	fed, m, err := config.Prepare(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	s := &trained{fed: fed, model: m, app: filepath.Join(dir, format)}
	study := filepath.Join(dir, "study")
	o := workdir.Options{Launcher: workdir.InProcess(plugins.Builtin())}
	if _, err := workdir.Run(t.Context(), study, c, o); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(study, workdir.ModelFile)
	if s.weights, err = safetensors.Read(file, m); err != nil {
		t.Fatal(err)
	}
	if _, err := export.App(t.Context(), c, config.ModeRun, file, s.app, format); err != nil {
		t.Fatal(err)
	}
	return s
}

// saved holds what PyTorch saved against what fedfast trained.
func (s *trained) saved(t *testing.T, file string, bound float64) {
	t.Helper()
	got, err := safetensors.Read(filepath.Join(s.app, file), s.model)
	if err != nil {
		t.Fatal(err)
	}
	start := s.model.NewParams()
	s.model.Init(start, 0)
	worst, moved := 0.0, 0.0
	for i, w := range s.weights {
		worst = max(worst, math.Abs(float64(got[i])-float64(w)))
		moved = max(moved, math.Abs(float64(start[i])-float64(w)))
	}
	if !(worst <= bound) || moved < 1e-3 {
		t.Errorf("%s: weights differ by %.3g, at most %.1g is allowed; training moved them by %.3g", s.app, worst,
			bound, moved)
	}
	t.Logf("%s: largest difference %.2g, moved by %.2g", filepath.Base(filepath.Dir(s.app)), worst, moved)
}

// samples writes samples of some clients as numpy.savez does, with Python.
const samples = `
import numpy as np, sys
r = np.random.default_rng(3)
x = {"vectors": lambda n: r.normal(size=(n, 7)).astype("float32"), 
     "images": lambda n: r.integers(0, 256, (n, 9, 8, 2)).astype("uint8"),
     "tokens": lambda n: r.integers(1, 12, (n, 6))}[sys.argv[2]]
n = 40
y = lambda x: (x.reshape(len(x), -1)[:, :3].argmax(1)).astype("int64")
a, b = x(n), x(9)
np.savez(sys.argv[1], x=a, y=y(a), client=np.repeat("only", n), x_test=b, y_test=y(b), client_test=np.repeat("only", 9))
`

// patients writes a table of some hospitals with gaps, categories and a constant column.
func patients(t *testing.T, dir string, hospitals ...string) {
	t.Helper()
	r := rand.New(rand.NewPCG(5, 6))
	for _, h := range hospitals {
		var text strings.Builder
		text.WriteString("age;pain;sex;flat;day;who;ill\n")
		for range 30 + r.IntN(20) {
			age, ill := fmt.Sprintf("%.1f", 40+20*r.Float64()), r.IntN(4)
			if r.IntN(5) == 0 {
				age = []string{"", "NA", "-9"}[r.IntN(3)]
			}
			fmt.Fprintf(&text, "%s;%d;%s;3;2024-01-%02d;%s;%d\n", age, 1+r.IntN(4),
				[]string{"f", "m", ""}[r.IntN(3)], 1+r.IntN(28), h, ill)
		}
		if err := os.MkdirAll(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, h+".csv"), []byte(text.String()), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

const tableData = `
data.name = "csv"
data.path = %q
data.label_column = "ill"
data.positive = ">= 2"
data.missing = ["-9"]
data.columns = { pain = "category" }
data.client_column = "who"
data.split = "100/0/0"
`

// TestFirstStepAsPyTorch holds that the local training of an exported app, in PyTorch, makes of the same weights and
// samples what fedfast makes: one step of all samples to 1e-6, and three epochs with the options of local training.
func TestFirstStepAsPyTorch(t *testing.T) {
	if python() == "" {
		t.Skip("no python3 here can import torch and numpy; install Debian's python3-torch")
	}
	layers := func(text string) string { return "model.layers = [" + text + "]\n" }
	var apps []string
	all := map[string]*trained{}
	for name, c := range map[string]struct{ kind, model, more string }{
		"mlp": {
			"vectors", layers(`{ type = "dense", units = 9 }, { type = "tanh" }, { type = "dense" }`),
			"client.momentum = 0.9\nclient.nesterov = true\nclient.clip_norm = 0.2\nmethod = \"fedprox\"\nclient.mu = 0.3\n",
		},
		"cnn": {
			"images", layers(`{ type = "conv", filters = 6, kernel = 3, pad = 1 }, { type = "groupnorm", groups = 3 },
			{ type = "relu" }, { type = "maxpool", size = 2 }, { type = "flatten" }, { type = "dense" }`),
			"data.image_mean = [0.3, 0.4]\ndata.image_std = [0.2, 0.5]\nclient.weight_decay = 0.1\nclient.bias_decay = 0\n",
		},
		"lstm": {
			"tokens", layers(`{ type = "embedding", size = 5 }, { type = "lstm", hidden = 6 }, { type = "dense" }`),
			"client.weight_decay = 0.01\nclient.lr_schedule = \"cosine\"\nclient.lr_length = 3\nloss.label_smoothing = 0.1\n",
		},
		"adam": {
			"vectors", layers(`{ type = "dense", units = 9 }, { type = "relu" }, { type = "dense" }`),
			"client.optimizer = \"adamw\"\n",
		},
		"batchnorm": {"images", layers(`{ type = "conv", filters = 5, kernel = 3 }, { type = "batchnorm" },
			{ type = "relu" }, { type = "flatten" }, { type = "dense" }`), ""},
		"numbers": {"", "model = \"logistic\"\nloss.name = \"huber\"\n", "number"},
		"table": {
			"", "model = \"logistic\"\nloss.class_weights = [1, 3]\n",
			"client.momentum = 0.5\nclient.weight_decay = 0.01\n",
		},
	} {
		numbers := c.more == "number"
		if numbers {
			c.more = ""
		}
		for _, epochs := range []int{1, 3} {
			dir := t.TempDir()
			text := c.model + c.more + fmt.Sprintf("client.lr = 0.05\nclient.epochs = %d\n", epochs)
			text += "rounds = 1\ncohort = 1\nclient.batch = 1000\n"
			if c.kind == "" {
				patients(t, filepath.Join(dir, "rows"), "only")
				text += fmt.Sprintf(tableData, filepath.Join(dir, "rows"))
			} else {
				file := filepath.Join(dir, "own.npz")
				if out, err := exec.Command(python(), "-c", samples, file, c.kind).CombinedOutput(); err != nil {
					t.Fatalf("%v\n%s", err, out)
				}
				text += fmt.Sprintf("data.name = \"npz-%s\"\ndata.path = %q\ndata.split = \"100/0/files\"\n", c.kind, file)
			}
			if numbers {
				text = strings.Replace(text, "data.positive = \">= 2\"\n", "", 1)
				text = strings.Replace(text, "{ pain = \"category\" }", "{ pain = \"category\", ill = \"number\" }", 1)
			}
			s := train(t, dir, text, export.Flower)
			apps, all[fmt.Sprint(name, " ", epochs)] = append(apps, s.app), s
		}
	}
	runApp(t, "step", apps...)
	for name, s := range all {
		t.Run(name, func(t *testing.T) { s.saved(t, "trained.safetensors", 1e-6) })
	}
}

// TestFlowerAppAsFedfast has a whole app train, with small stand-ins of Flower's classes, and holds what its server
// saves against fedfast's training of the same clients with full batches.
func TestFlowerAppAsFedfast(t *testing.T) {
	dir := t.TempDir()
	patients(t, filepath.Join(dir, "rows"), "east", "north", "west")
	perFile := strings.Replace(tableData, "client_column = \"who\"", "drop_columns = [\"who\"]", 1)
	text := fmt.Sprintf(perFile, filepath.Join(dir, "rows")) + `
model = "logistic"
rounds = 3
cohort = 3
client.batch = 1000
client.lr = 0.3
client.lr_schedule = "linear"
client.lr_length = 4
client.lr_warmup = 1
`
	s := train(t, dir, text, export.Flower)
	runApp(t, "run", s.app)
	s.saved(t, "final.safetensors", 1e-6)
	runApp(t, "inputs", s.app)
	raw, err := os.ReadFile(filepath.Join(s.app, "inputs.f32"))
	if err != nil {
		t.Fatal(err)
	}
	got := make([]float32, len(raw)/4)
	if _, err := binary.Decode(raw, binary.LittleEndian, got); err != nil {
		t.Fatal(err)
	}
	width, view := s.fed.C, s.fed.Clients[0].Train
	want := make([]float32, view.Len()*width)
	var all []int32
	for i := range view.Len() {
		all = append(all, int32(i))
	}
	if err := view.Fill(all, want, nil, make([]int32, len(all)), nil); err != nil {
		t.Fatal(err)
	}
	sorted := func(x []float32) [][]float32 {
		return slices.SortedFunc(slices.Chunk(x, width), slices.Compare)
	}
	if !slices.EqualFunc(sorted(got), sorted(want), func(a, b []float32) bool {
		return slices.EqualFunc(a, b, func(x, y float32) bool { return math.Abs(float64(x)-float64(y)) < 1e-6 })
	}) {
		t.Errorf("inputs %v, want those of %v", sorted(got)[:2], sorted(want)[:2])
	}
}

// names reads testdata/names.txt: the names of the frameworks with their parameters.
func names(t *testing.T) map[string][]string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", "names.txt"))
	if err != nil {
		t.Fatal(err)
	}
	all := map[string][]string{}
	for _, line := range strings.Split(strings.TrimSpace(string(text)), "\n")[1:] {
		words := strings.Fields(line)
		all[words[0]] = words[1:]
	}
	return all
}

// TestAppsUseWhatThereIs exports each method that has a counterpart, and holds that the files compile and use only
// names and parameters that Flower 1.28.0 and NVFlare 2.8.1 have.
func TestAppsUseWhatThereIs(t *testing.T) {
	dir, known := t.TempDir(), names(t)
	patients(t, filepath.Join(dir, "rows"), "east", "north", "west", "south", "center")
	imports := regexp.MustCompile(`(?m)^from ((?:flwr|nvflare)\S*) import (.*)$`)
	calls := regexp.MustCompile(`(?s)\b(?:strategy\.)?(\w+)\(\n(.*?)\n    \)`)
	argument := regexp.MustCompile(`(?m)^        (\w+)=`)
	apps := map[string][]string{}
	made := 0
	both, flower := []string{"flower", "nvflare"}, []string{"flower"}
	for method, format := range map[string][]string{
		`method = "fedavg"`: both, `method = "fedprox"`: both, `method = "fedavgm"`: both, `method = "fedadam"`: both,
		`method = "fedadagrad"`: both, `method = "fedyogi"`: flower, `method = "qfedavg"`: flower,
		`aggregator.name = "median"`: flower, `aggregator.name = "trimmed"`: flower, `aggregator.name = "krum"`: flower,
		`aggregator.name = "multikrum"`: flower, `server.weighted = false`: both,
		`client = { steps = 3, drop_last = true, optimizer = "adam", lr_schedule = "step", lr_every = 2,
			lr_factor = 0.5, clip_norm = 1, bias_decay = 0.1, dropout = 0.2, epochs = 0.3 }`: both,
	} {
		for _, f := range format {
			at := filepath.Join(dir, strconv.Itoa(made))
			made++
			if err := os.Mkdir(at, 0o700); err != nil {
				t.Fatal(err)
			}
			text := method + "\n" + fmt.Sprintf(tableData, filepath.Join(dir, "rows"))
			s := train(t, at, text+"model = \"logistic\"\nrounds = 2\ncohort = 5\n", f)
			apps[f] = append(apps[f], s.app)
			code, _ := filepath.Glob(filepath.Join(s.app, "*.py"))
			more, _ := filepath.Glob(filepath.Join(s.app, "fedapp", "*.py"))
			used := 0
			for _, path := range append(code, more...) {
				text, err := os.ReadFile(path)
				if err != nil {
					t.Fatal(err)
				}
				for i, line := range strings.Split(string(text), "\n") {
					if len(line) > 120 && filepath.Base(path) != "model.py" {
						t.Errorf("%s:%d: %d columns", path, i+1, len(line))
					}
				}
				called := map[string]string{"start": "strategy.start"}
				for _, m := range imports.FindAllStringSubmatch(string(text), -1) {
					for name := range strings.SplitSeq(m[2], ", ") {
						called[name] = m[1] + "." + name
						if _, ok := known[m[1]+"."+name]; !ok {
							t.Errorf("%s imports %s from %s", path, name, m[1])
						}
						used++
					}
				}
				for _, m := range calls.FindAllStringSubmatch(string(text), -1) {
					for _, a := range argument.FindAllStringSubmatch(m[2], -1) {
						if of := called[m[1]]; of != "" && !slices.Contains(known[of], a[1]) {
							t.Errorf("%s: %s has no parameter %s", path, of, a[1])
						}
					}
				}
				for _, m := range regexp.MustCompile(`\bflare\.(\w+)\(`).FindAllStringSubmatch(string(text), -1) {
					if _, ok := known["nvflare.client."+m[1]]; !ok {
						t.Errorf("%s calls %s", path, m[1])
					}
				}
			}
			if used < 2 {
				t.Errorf("%s %s: %d names of the framework", method, f, used)
			}
			compile := append([]string{"-m", "py_compile"}, append(code, more...)...)
			if python() == "" {
				continue
			}
			if out, err := exec.Command(python(), compile...).CombinedOutput(); err != nil {
				t.Errorf("%s %s: %v\n%s", method, f, err, out)
			}
		}
	}
	runApp(t, "run", apps[export.Flower]...)
	runApp(t, "job", apps[export.NVFlare]...)
}

// TestRefusals holds that what has no counterpart is told in a line.
func TestRefusals(t *testing.T) {
	dir := t.TempDir()
	patients(t, filepath.Join(dir, "rows"), "east", "north", "west")
	base := fmt.Sprintf(tableData, filepath.Join(dir, "rows")) + "rounds = 1\ncohort = 2\n"
	const (
		has = `aggregator "mean" has no counterpart; Flower 1.28.0 has FedAvg, FedProx, FedAvgM, FedAdagrad, FedAdam, ` +
			"FedYogi and QFedAvg, and with fedavg and aggregator.name: FedMedian, FedTrimmedAvg, Krum and MultiKrum"
		lacks = " of Flower 1.28.0 has no counterpart of it"
	)
	refusals := map[string]string{
		"method = \"scaffold\"\n":                       `format flower: method "scaffold" with ` + has,
		"aggregator.name = \"rfa\"\n":                   `format flower: method "fedavg" with aggregator "rfa"`,
		"update.quantize = \"uniform\"\n":               "format flower: update.quantize = uniform: FedAvg" + lacks,
		"client.wrap = true\n":                          "format flower: client.wrap = true: FedAvg" + lacks,
		"sampling = \"shuffle\"\n":                      "format flower: sampling = shuffle: FedAvg" + lacks,
		"method = \"fedadagrad\"\nserver.beta1 = 0.5\n": "format flower: server.beta1 = 0.5: FedAdagrad" + lacks,
		"method = \"ditto\"\n": `format flower: method "ditto" gives each client a model of its own, which servers of ` +
			"Flower 1.28.0 do not keep",
		"nvflare\nmethod = \"fedavgm\"\n": "format nvflare: cohort = 2 of 3 clients: FedOptRecipe of NVFlare 2.8.1 " +
			"has all of them train in each round",
		"nvflare\nmethod = \"fedyogi\"\n": `format nvflare: method "fedyogi" with aggregator "mean" has no ` +
			"counterpart; NVFlare 2.8.1 has recipes for",
	}
	for _, text := range slices.Sorted(maps.Keys(refusals)) {
		more, format := text, export.Flower
		if rest, ok := strings.CutPrefix(text, "nvflare"); ok {
			more, format = rest, export.NVFlare
		}
		c, err := config.Load(config.Source{Text: more + base + "model = \"logistic\"\n"})
		if err != nil {
			t.Fatal(err)
		}
		_, m, err := config.Prepare(t.Context(), c)
		if err != nil {
			t.Fatal(err)
		}
		file := filepath.Join(dir, "model.safetensors")
		f, err := os.Create(file)
		if err != nil {
			t.Fatal(err)
		}
		if err := safetensors.Write(f, m, m.NewParams()); err != nil {
			t.Fatal(err)
		}
		if err := f.Close(); err != nil {
			t.Fatal(err)
		}
		_, err = export.App(t.Context(), c, config.ModeRun, file, filepath.Join(dir, "none"), format)
		if err == nil || !strings.HasPrefix(err.Error(), refusals[text]) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%q: %v, want %s", text, err, refusals[text])
		}
		if _, err := os.Stat(filepath.Join(dir, "none")); err == nil {
			t.Errorf("%q: something is written", text)
		}
	}
}
