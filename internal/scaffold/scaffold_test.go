package scaffold_test

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/fedfast/fedfast/internal/scaffold"
	"github.com/fedfast/fedfast/internal/test/goworktest"
	"github.com/fedfast/fedfast/tuners"
	"github.com/fedfast/fedfast/tuners/conformance"
	"github.com/fedfast/fedfast/tuners/host"
)

// TestMain lets this binary be the host that a check kills: `abandon REFERENCE`.
func TestMain(m *testing.M) {
	if len(os.Args) == 3 && os.Args[1] == "abandon" {
		if err := conformance.Abandon(context.Background(), os.Args[2], os.Stdout); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	os.Exit(m.Run())
}

// in runs a command in a directory, with environment variables of its own.
func in(t *testing.T, dir string, env []string, name string, args ...string) string {
	t.Helper()
	cmd := exec.Command(name, args...)
	cmd.Dir = dir
	cmd.Env = slices.Concat(os.Environ(), env)
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%s %s: %v\n%s", name, strings.Join(args, " "), err, out)
	}
	return string(out)
}

// quick are the checks that take little time.
var quick = []string{"options", "sessions", "state", "failures", "latency", "stdout", "orphan"}

// conforms checks the tuner of a directory.
func conforms(t *testing.T, dir string, checks ...string) {
	t.Helper()
	ref, err := host.At(dir)
	if err != nil {
		t.Fatal(err)
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	r, err := conformance.Run(t.Context(), ref, conformance.Options{
		Abandon: []string{self, "abandon"}, Timeout: 20 * time.Second,
		Only: checks,
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range r.Checks {
		if c.Verdict != conformance.Passed {
			t.Errorf("%s %s: %s", c.Name, c.Verdict, c.Message)
		}
	}
	t.Logf("latency %+v", r.Latency)
}

func TestAGoProjectBuildsAndPasses(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("builds a program")
	}
	dir := filepath.Join(t.TempDir(), "a project")
	p := scaffold.Project{Name: "my-own", Language: scaffold.Go, Dir: dir, Checkout: scaffold.FindCheckout(".")}
	if p.Checkout == "" {
		t.Fatal("this is not run in a checkout")
	}
	if err := p.Write(); err != nil {
		t.Fatal(err)
	}
	work := []string{goworktest.Env(t, dir), "GOPROXY=off"}
	if text := in(t, dir, work, "gofmt", "-l", "."); text != "" {
		t.Errorf("not formatted: %s", text)
	}
	in(t, dir, work, "go", "test", ".")
	in(t, dir, work, "go", "build", "-o", p.Program(), ".")
	conforms(t, dir, quick...)
}

// python returns a Python that can import modules.
func python(t *testing.T, modules ...string) string {
	t.Helper()
	const probe = "import sys; from importlib.util import find_spec; sys.exit(not all(find_spec(m) for m in sys.argv[1:]))"
	for _, name := range []string{"/usr/bin/python3", "python3"} {
		if exec.Command(name, append([]string{"-c", probe}, modules...)...).Run() == nil {
			return name
		}
	}
	t.Skip("no python3 here has all of " + strings.Join(modules, ", "))
	return ""
}

func TestPythonProjectsPass(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		language string
		modules  []string
		tests    string
		checks   []string
	}{
		{scaffold.Python, []string{"grpc", "google.protobuf"}, "Ran 4 tests", quick},
		{scaffold.Optuna, []string{"grpc", "google.protobuf", "optuna"}, "Ran 3 tests", []string{"state"}}, // a process needs seconds to import Optuna
	} {
		t.Run(c.language, func(t *testing.T) {
			t.Parallel()
			interpreter := python(t, c.modules...)
			dir := filepath.Join(t.TempDir(), "mine")
			p := scaffold.Project{Name: "9-lives", Language: c.language, Dir: dir}
			if err := p.Write(); err != nil {
				t.Fatal(err)
			}
			if out := in(t, dir, []string{"PYTHONDONTWRITEBYTECODE=1"}, interpreter, "-m",
				"unittest"); !strings.Contains(out, c.tests) {
				t.Errorf("the tests print %s", out)
			}
			if testing.Short() {
				t.Skip("the conformance suite takes seconds")
			}
			conforms(t, dir, c.checks...)
		})
	}
}

// TestPythonErrorsAreAnswered breaks a tuner in Python: each fault is answered at once, with
// the field that is wrong.
func TestPythonErrorsAreAnswered(t *testing.T) {
	t.Parallel()
	python(t, "grpc", "google.protobuf")
	for name, c := range map[string]struct{ old, by, want string }{
		"exits": {"k, r = self.known, self.request", "raise SystemExit(3)", "SystemExit: 3"},
		"param": {
			"return [start]", "start.params['client.n'] = None; return [start]",
			"TypeError: client.n = None: float() argument must be",
		},
		"round":       {"return [start]", "return [Start(trial=0, params={}, to_round=2.5)]", "TypeError: to_round = 2.5: "},
		"no decision": {"return [start]", "return [7]", "TypeError: 7 is not a decision"},
		"state":       {"return json.dumps(self.known).encode()", "raise SystemExit('no state')", "SystemExit: no state"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := filepath.Join(t.TempDir(), "mine")
			if err := (scaffold.Project{Name: "mine", Language: scaffold.Python, Dir: dir}).Write(); err != nil {
				t.Fatal(err)
			}
			path := filepath.Join(dir, "tuner.py")
			code, err := os.ReadFile(path)
			if err != nil || !strings.Contains(string(code), c.old) {
				t.Fatal(err, "the template has changed")
			}
			if err := os.WriteFile(path, []byte(strings.Replace(string(code), c.old, c.by, 1)), 0o600); err != nil {
				t.Fatal(err)
			}
			ref, err := host.At(dir)
			if err != nil {
				t.Fatal(err)
			}
			p, err := host.Launch(t.Context(), ref, host.Options{
				StartTimeout: time.Minute, Restarts: -1,
				Logger: slog.New(slog.DiscardHandler),
			})
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(p.Close)
			space := tuners.Space{{Name: "client.n", Kind: tuners.Uniform, Lo: 0, Hi: 1}}
			s, err := p.Open(t.Context(), tuners.OpenRequest{
				Space: space, Trial: tuners.StudySession,
				Budget: tuners.Budget{Rounds: 10, TrialRounds: 2},
			})
			if err == nil {
				_, err = s.Suggest(t.Context(), 1)
			}
			if err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "\n") {
				t.Errorf("%v, want one line with %s", err, c.want)
			}
		})
	}
}

func TestTheGoProjectNeedsWhatTheExampleNeeds(t *testing.T) {
	for _, name := range []string{"go.mod", "go.sum"} {
		want, err := os.ReadFile(filepath.Join("..", "..", "plugins", "examples", "coordinate", name))
		if err != nil {
			t.Fatal(err)
		}
		got, err := os.ReadFile(filepath.Join("golang", name+".txt"))
		if err != nil || string(got) != string(want) {
			t.Errorf("%s differs from the example's (%v): run go generate", name, err)
		}
	}
}

func TestWithoutACheckoutAReleaseIsNamed(t *testing.T) {
	for version, want := range map[string]string{
		"v1.2.3": "module fedfast-tuner-x\n\ngo 1.26.0\n\nrequire github.com/fedfast/fedfast v1.2.3\n",
		"":       "module fedfast-tuner-x\n\ngo 1.26.0\n",
	} {
		dir := filepath.Join(t.TempDir(), "x")
		if err := (scaffold.Project{Name: "x", Language: scaffold.Go, Dir: dir, Version: version}).Write(); err != nil {
			t.Fatal(err)
		}
		got, err := os.ReadFile(filepath.Join(dir, "go.mod"))
		if err != nil || string(got) != want {
			t.Errorf("%s, %v", got, err)
		}
		if _, err := os.Stat(filepath.Join(dir, "go.sum")); err == nil {
			t.Error("there is a go.sum that nothing can check")
		}
	}
}

func TestBadProjectsAreRefused(t *testing.T) {
	full := t.TempDir()
	if err := os.WriteFile(filepath.Join(full, "kept"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		p    scaffold.Project
		want string
	}{
		{scaffold.Project{Name: "My Tuner", Language: scaffold.Go, Dir: t.TempDir()}, `invalid tuner name "My Tuner"`},
		{
			scaffold.Project{Name: "mine", Language: "perl", Dir: t.TempDir()},
			`unknown language "perl"; must be go, python or optuna`,
		},
		{scaffold.Project{Name: "mine", Language: scaffold.Go, Dir: full}, full + " is not empty"},
	} {
		if err := c.p.Write(); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v, want %s", err, c.want)
		}
	}
	if _, err := os.Stat(filepath.Join(full, "kept")); err != nil {
		t.Error(err)
	}
}

func TestFindCheckout(t *testing.T) {
	root := scaffold.FindCheckout(".")
	if mod, err := os.ReadFile(filepath.Join(root, "go.mod")); err != nil ||
		!strings.HasPrefix(string(mod), "module github.com/fedfast/fedfast\n") {
		t.Errorf("%q: %v", root, err)
	}
	if got := scaffold.FindCheckout(t.TempDir()); got != "" {
		t.Errorf("found %s", got)
	}
}

// TestPythonTestEnds runs the test of a project whose tuner resumes its trials, and that of one which
// never ends.
func TestPythonTestEnds(t *testing.T) {
	interpreter := python(t)
	for _, c := range []struct{ old, to, want string }{
		{"to_round=r.trial_rounds)", "to_round=r.trial_rounds // 2)", "\nOK"},
		{"return [Done(k[\"best\"])]", "return [Wait()]", "no Done after 10,000 calls of suggest"},
	} {
		dir := filepath.Join(t.TempDir(), "own")
		if err := (scaffold.Project{Name: "own", Language: scaffold.Python, Dir: dir}).Write(); err != nil {
			t.Fatal(err)
		}
		file := filepath.Join(dir, "tuner.py")
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		changed := strings.NewReplacer(c.old, c.to,
			"Option, Problem, ", "Option, Problem, Resume, ",
			"        if k[\"running\"]", "        if k.get(\"half\") is not None:\n"+
				"            return [Resume(k.pop(\"half\"), r.trial_rounds)]\n        if k[\"running\"]",
			"        k = self.known\n", "        k = self.known\n        if round < self.request.trial_rounds:\n"+
				"            k[\"half\"] = trial\n            return\n",
		).Replace(string(text))
		if err := os.WriteFile(file, []byte(changed), 0o600); err != nil {
			t.Fatal(err)
		}
		cmd := exec.Command(interpreter, "-m", "unittest")
		cmd.Dir = dir
		out, err := cmd.CombinedOutput()
		if !strings.Contains(string(out), c.want) || (err == nil) != (c.want == "\nOK") {
			t.Errorf("%s: %v\n%s", c.to, err, out)
		}
	}
}
