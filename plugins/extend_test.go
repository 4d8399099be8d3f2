package plugins_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"testing"

	"github.com/fedfast/fedfast/internal/test/goworktest"
)

// TestExtendedFromAnotherModule runs the tests of examples/extend, a module that registers
// a layer, a loss, a method, a data set and a tuner, and the command that it makes of
// fedfast: one study file names all five, the layer is narrowed and exported, and what is
// wrong is told in a line.
func TestExtendedFromAnotherModule(t *testing.T) {
	if testing.Short() {
		t.Skip("builds a program")
	}
	source, dir := filepath.Join("examples", "extend"), t.TempDir()
	program := filepath.Join(dir, "extend")
	if runtime.GOOS == "windows" {
		program += ".exe"
	}
	work := goworktest.Env(t, source)
	for _, args := range [][]string{{"test", "-mod=readonly", "."}, {"build", "-mod=readonly", "-o", program, "."}} {
		cmd := exec.Command("go", args...)
		cmd.Dir, cmd.Env = source, append(os.Environ(), work)
		if text, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("go %v in %s: %v\n%s", args, source, err, text)
		}
	}
	study, err := os.ReadFile(filepath.Join(source, "study.toml"))
	if err != nil {
		t.Fatal(err)
	}
	write := func(name, old, with string) {
		t.Helper()
		text := strings.Replace(string(study), old, with, 1)
		if old != "" && text == string(study) {
			t.Fatalf("study.toml has no %s", old)
		}
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("study.toml", "", "")
	write("range.toml", "start = 0.1", "start = 2")
	write("unknown.toml", "start = 0.1", "stat = 0.1")
	write("first.toml", "type = \"conv\"\nfilters = 8\nkernel = 5", "type = \"prelu\"")
	run := func(args ...string) string {
		t.Helper()
		cmd := exec.Command(program, args...)
		cmd.Dir = dir
		text, err := cmd.CombinedOutput()
		if err != nil {
			return "fails: " + string(text)
		}
		return string(text)
	}
	for _, tt := range []struct{ args, want string }{
		{"list layers prelu", `(?m)^options.start +number +\[0, 1\] +no `},
		{"list methods capped", `(?m)^capped`},
		{"data list", `(?m)^shapes`},
		{"tuner list", `(?m)^enough`},
		{"tune study.toml --study tuned", `(?m)^study: completed `},
		{"tune study.toml --set tuner.options.goal=1 --study soon --json", `"rounds": 10,`},
		{"list losses", `(?m)^focal +a class +cross-entropy `},
		{"list losses focal", `(?m)^loss.options.gamma +number +\[1, 10\] `},
		{
			"run study.toml --set rounds=2 --set update.quantize=ternary --set aggregator.name=midrange --study small",
			`(?m)^updates +clients sent .* instead of .*; combined by midrange$`,
		},
		{"run study.toml --set rounds=2 --study s", `(?m)^study: completed `},
		{"run study.toml --set rounds=2 --study t --workers 1", `(?m)^study: completed `},
		{"eval s", `(?m)^model `},
		{
			"run study.toml --set method=fedrolex --set client.widths=[1,0.5] --set rounds=2 --study rolex",
			`(?m)^study: completed `,
		},
		{"model export s", `(?m)^python +s.model.py$`},
		{
			"run range.toml --study no",
			`^fails: fedfast: range.toml:\d+: model.layers\[2\].options.start = 2: must be in \[0, 1\]\n$`,
		},
		{
			"run unknown.toml --study no",
			`^fails: fedfast: unknown.toml:\d+: model.layers\[2\].options: unknown option "stat"; available: start\n$`,
		},
		{"run first.toml --study no", `^fails: fedfast: .*layer 1 \(prelu\): a PReLU cannot be the first layer\n$`},
		{
			"run study.toml --set loss.options.gamma=0.5 --study no",
			`^fails: fedfast: .*loss.options.gamma = 0.5: must be in \[1, 10\]\n$`,
		},
		{
			"run study.toml --set loss.label_smoothing=0.1 --study no",
			`^fails: fedfast: .*the loss "focal" smooths no labels; leave it out\n$`,
		},
		{"run study.toml --set method=maml --set rounds=2 --study second", `(?m)^study: completed `},
	} {
		if got := run(strings.Fields(tt.args)...); !regexp.MustCompile(tt.want).MatchString(got) {
			t.Errorf("%s: got\n%s\nwant %s", tt.args, got, tt.want)
		}
	}
	sum := regexp.MustCompile(`"weights_sha256": "[0-9a-f]{64}"`)
	var sums []string
	for _, s := range []string{"s", "t"} {
		text, err := os.ReadFile(filepath.Join(dir, s, "result.json"))
		if err != nil {
			t.Fatal(err)
		}
		sums = append(sums, sum.FindString(string(text)))
	}
	if sums[0] == "" || sums[0] != sums[1] {
		t.Errorf("the weights are %q, with one worker %q", sums[0], sums[1])
	}
	module, err := os.ReadFile(filepath.Join(dir, "s", "model.py"))
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(module), "self.prelu1 = nn.PReLU(8)") {
		t.Errorf("the module has no PReLU:\n%s", module)
	}
	for _, python := range []string{"python3", "/usr/bin/python3"} {
		if exec.Command(python, "-c",
			"import importlib.util, sys; sys.exit(not importlib.util.find_spec('torch'))").Run() != nil {
			continue
		}
		if text, err := exec.Command(python, filepath.Join(dir, "s", "model.py")).CombinedOutput(); err != nil {
			t.Errorf("PyTorch does not load it: %v\n%s", err, text)
		}
		if err := os.WriteFile(filepath.Join(dir, "net.py"), []byte(importedNet), 0o600); err != nil {
			t.Fatal(err)
		}
		got := run("model", "import", "net.py", "--input", "1x28x28", "--python", python)
		study, err := os.ReadFile(filepath.Join(dir, "net.toml"))
		if err != nil || strings.Count(string(study), `type = "prelu"`) != 2 {
			t.Errorf("imported, error %v:\n%s\n%s", err, got, study)
		}
		break
	}
}

// importedNet is a PyTorch module with the layer, whose predictions the import compares.
const importedNet = `
from torch import nn

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(nn.Conv2d(1, 4, 5), nn.PReLU(4, init=0.3), nn.Flatten(), nn.Linear(2304, 8), nn.PReLU(8), nn.Linear(8, 62))

    def forward(self, x):
        return self.layers(x)
`
