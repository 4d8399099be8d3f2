// Package house holds what the rooms of this module may import, how much code each may
// hold, and which packages others can import.
package house

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	gopath "path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

const module = "github.com/fedfast/fedfast"

// root is the folder of go.mod.
var root = filepath.Join("..", "..", "..")

// mayImport holds, for each room, the rooms right below it: its packages may depend
// on those, on what these may depend on, and on nothing else of ours. A room is a
// folder with all below it that is no room of its own.
var mayImport = map[string][]string{
	"kernels/det":                {},
	"internal/list":              {},
	"internal/sys":               {"internal/list"},
	"internal/naming":            {"internal/list"},
	"internal/key":               {"internal/list"},
	"internal/finite":            {},
	"internal/pareto":            {"internal/list"},
	"internal/nanos":             {},
	"internal/figure":            {"internal/list"},
	"internal/stats":             {"internal/list"},
	"internal/pixel":             {},
	"internal/draw":              {"internal/list", "kernels/det"},
	"internal/deal":              {"internal/draw"},
	"internal/privacy":           {"internal/key", "kernels/det"},
	"internal/formats":           {"internal/sys"},
	"internal/scaffold":          {"internal/sys"},
	"kernels":                    {"kernels/det"},
	"tensor":                     {"kernels"},
	"nn":                         {"tensor", "internal/naming"},
	"nn/safetensors":             {"nn", "internal/sys"},
	"data":                       {"internal/deal", "internal/sys", "internal/pixel"},
	"internal/sets":              {"data", "internal/formats"},
	"data/sets":                  {"internal/sets"},
	"tuners":                     {"kernels/det", "internal/sys"},
	"internal/rules":             {"tuners"},
	"internal/play":              {"internal/rules"},
	"tuners/host":                {"internal/rules"},
	"tuners/conformance":         {"internal/play", "tuners/host"},
	"internal/tuner":             {"internal/play", "internal/stats", "internal/pareto"},
	"plugins":                    {"internal/tuner", "internal/naming"},
	"fl/hyper":                   {"fl/fleet", "internal/key", "tuners"},
	"fl/fleet":                   {"internal/draw", "internal/key", "internal/nanos", "internal/sys"},
	"fl":                         {"fl/hyper", "fl/fleet", "nn", "data", "internal/privacy"},
	"fl/methods":                 {"fl"},
	"fl/study/config":            {"fl/methods", "data/sets", "nn/safetensors"},
	"internal/store":             {"internal/sys"},
	"fl/study/internal/record":   {"fl/study/config", "internal/store"},
	"fl/study/internal/meter":    {"fl/study/internal/record"},
	"fl/study/internal/replay":   {"fl/study/internal/record", "internal/finite", "internal/rules"},
	"fl/study/result":            {"fl/study/internal/replay", "internal/pareto", "internal/stats"},
	"fl/study/internal/trial":    {"fl/study/result", "fl/study/internal/meter"},
	"fl/study":                   {"fl/study/internal/trial", "internal/play"},
	"fl/study/view":              {"fl/study/result"},
	"internal/probe":             {"nn"},
	"fl/study/internal/estimate": {"fl/study", "internal/probe"},
	"fl/study/cluster":           {"fl/study/cluster/internal/worker"},
	"fl/study/workdir":           {"fl/study/internal/estimate", "tuners/host"},
	"bench/repro":                {"internal/figure", "internal/stats", "fl/study/cluster", "fl/study/workdir", "plugins"},
	"bench":                      {"bench/repro"},
	"cmd":                        {"bench", "fl/study/view", "internal/scaffold", "tuners/conformance"},

	// What tests share; nothing of the product is above it.
	"internal/test": {"data/sets", "internal/tuner", "nn", "tuners/host"},

	"fl/study/cluster/internal/wire":   {"fl/study"},
	"fl/study/cluster/internal/worker": {"fl/study/cluster/internal/wire"},
}

// underneath returns the rooms that a room may depend on.
func underneath(room string) map[string]bool {
	all := map[string]bool{}
	for _, next := range mayImport[room] {
		all[next] = true
		maps.Copy(all, underneath(next))
	}
	return all
}

// mayImportModules holds the other modules that a folder may name itself, for
// the folders that promise to need little.
var mayImportModules = map[string][]string{
	"kernels/det": {},
	"kernels":     {"github.com/klauspost/cpuid/v2"},
	"tensor":      {},
	"nn":          {},
}

// withoutHost are the packages that must not start processes, not even through
// others: what is decided does not depend on where a tuner runs.
var withoutHost = []string{"tuners", "internal/rules", "internal/play", "fl", "fl/study", "fl/study/cluster"}

// pkg is what go list tells of a package.
type pkg struct {
	ImportPath    string
	Imports, Deps []string
	Standard      bool
}

// folder is the key of mayImport for a package of this module.
func folder(path string) string {
	path = strings.TrimPrefix(strings.TrimPrefix(path, module), "/")
	for room := path; room != "."; room = gopath.Dir(room) {
		if _, ok := mayImport[room]; ok {
			return room
		}
	}
	top, _, _ := strings.Cut(path, "/")
	return top
}

// breaches returns what is wrong with a package's imports.
func breaches(p pkg) []string {
	var wrong []string
	from := folder(p.ImportPath)
	allowed := underneath(from)
	if _, known := mayImport[from]; !known {
		return []string{fmt.Sprintf("%s: the folder has no line in mayImport", p.ImportPath)}
	}
	for _, dep := range p.Deps {
		if dep != module && !strings.HasPrefix(dep, module+"/") {
			continue
		}
		if to := folder(dep); to != from && !allowed[to] {
			wrong = append(wrong, fmt.Sprintf("%s depends on %s", p.ImportPath, dep))
		}
		if dep == module+"/tuners/host" && slices.Contains(withoutHost, strings.TrimPrefix(p.ImportPath, module+"/")) {
			wrong = append(wrong, fmt.Sprintf("%s depends on %s: it must do with any tuner, launched or not", p.ImportPath, dep))
		}
	}
	for _, path := range p.Imports {
		if rest, ours := strings.CutPrefix(path, module+"/"); ours {
			if rest == "tuners/host" && strings.HasPrefix(from, "fl") && from != "fl/study/workdir" {
				wrong = append(wrong, fmt.Sprintf("%s imports %s: the engine knows tuners by their interface only", p.ImportPath,
					path))
			}
			continue
		}
		modules, held := mayImportModules[from]
		if first, _, _ := strings.Cut(path, "/"); held && strings.Contains(first, ".") && !slices.Contains(modules, path) {
			wrong = append(wrong, fmt.Sprintf("%s imports %s", p.ImportPath, path))
		}
	}
	return wrong
}

// public are the packages that other modules can import: what a user of the library, or
// the author of a method, a data set or a tuner needs. All else lies below internal.
var public = []string{
	"bench", "bench/repro", "cmd/fedfast/command", "cmd/fedfast/docs",
	"data", "data/sets",
	"fl", "fl/fleet", "fl/hyper", "fl/methods",
	"fl/study", "fl/study/cluster", "fl/study/config", "fl/study/result", "fl/study/view", "fl/study/workdir",
	"kernels", "kernels/det",
	"nn", "nn/models", "nn/safetensors",
	"plugins",
	"tensor",
	"tuners", "tuners/conformance", "tuners/host",
}

// TestPublicPackages keeps the list of public packages short, and each with a comment and
// an Example whose output go test compares.
func TestPublicPackages(t *testing.T) {
	out, err := exec.CommandContext(t.Context(), "go", "list", "-f",
		"{{.Name}} {{.ImportPath}} {{.Doc}}", module+"/...").Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	var found []string
	for line := range strings.Lines(string(out)) {
		name, rest, _ := strings.Cut(strings.TrimSpace(line), " ")
		path, doc, _ := strings.Cut(rest, " ")
		path = strings.TrimPrefix(path, module+"/")
		if name == "main" || slices.Contains(strings.Split(path, "/"), "internal") {
			continue
		}
		if found = append(found, path); doc == "" {
			t.Errorf("%s has no package comment", path)
		}
		if !hasExample(t, path) {
			t.Errorf("%s has no Example with an Output", path)
		}
	}
	slices.Sort(found)
	if want := slices.Sorted(slices.Values(public)); !slices.Equal(found, want) {
		t.Errorf("public packages are\n%v\nwant\n%v", found, want)
	}
}

// hasExample says whether go test runs an example of a package's.
func hasExample(t *testing.T, path string) bool {
	t.Helper()
	example := regexp.MustCompile(`(?ms)^func Example\w*\(\) \{.*?^\t// Output:`)
	files, err := filepath.Glob(filepath.Join(root, filepath.FromSlash(path), "*_test.go"))
	if err != nil {
		t.Fatal(err)
	}
	return slices.ContainsFunc(files, func(name string) bool {
		text, err := os.ReadFile(name)
		return err == nil && example.Match(text)
	})
}

func TestImportsPointDown(t *testing.T) {
	out, err := exec.CommandContext(t.Context(), "go", "list", "-deps",
		"-json=ImportPath,Imports,Deps,Standard", module+"/...").Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	seen := map[string]bool{}
	for d := json.NewDecoder(strings.NewReader(string(out))); ; {
		var p pkg
		if err := d.Decode(&p); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatal(err)
		}
		if p.Standard || !strings.HasPrefix(p.ImportPath, module+"/") {
			continue
		}
		seen[folder(p.ImportPath)] = true
		for _, wrong := range breaches(p) {
			t.Error(wrong)
		}
	}
	for name := range mayImport {
		if !seen[name] {
			t.Errorf("go list shows no package below %s: is the line in mayImport stale?", name)
		}
	}
}

// TestBreachesAreSeen makes sure that the test above can fail.
func TestBreachesAreSeen(t *testing.T) {
	tests := []struct {
		p    pkg
		want string
	}{
		{pkg{ImportPath: module + "/nn", Deps: []string{module + "/kernels", module + "/fl"}}, "nn depends on"},
		{
			pkg{ImportPath: module + "/data", Deps: []string{module + "/kernels/det", module + "/kernels"}},
			"data depends on github.com/fedfast/fedfast/kernels",
		},
		{
			pkg{ImportPath: module + "/data", Deps: []string{module + "/internal/sets/leaf"}},
			"data depends on github.com/fedfast/fedfast/internal/sets/leaf",
		},
		{pkg{ImportPath: module + "/fl", Deps: []string{module + "/fl/study"}}, "fl depends on"},
		{pkg{ImportPath: module + "/fl/study/config", Deps: []string{module + "/fl/study"}}, "config depends on"},
		{pkg{ImportPath: module + "/fl/hyper", Deps: []string{module + "/fl"}}, "hyper depends on"},
		{pkg{ImportPath: module + "/tuners/host", Deps: []string{module + "/nn"}}, "host depends on"},
		{pkg{ImportPath: module + "/bench", Deps: []string{module + "/cmd/fedfast/internal/ui/table"}}, "bench depends on"},
		{pkg{ImportPath: module + "/fl/study", Imports: []string{module + "/tuners/host"}}, "by their interface only"},
		{pkg{ImportPath: module + "/internal/play", Deps: []string{module + "/tuners/host"}}, "it must do with any tuner"},
		{
			pkg{ImportPath: module + "/kernels", Imports: []string{"golang.org/x/sys/cpu"}},
			"kernels imports golang.org/x/sys/cpu",
		},
		{pkg{ImportPath: module + "/newfolder"}, "no line"},
		{pkg{ImportPath: module + "/cmd/fedfast", Imports: []string{"fmt"}, Deps: []string{module + "/fl/study", "fmt"}}, ""},
	}
	for _, tt := range tests {
		got := strings.Join(breaches(tt.p), "; ")
		if (tt.want == "") != (got == "") || !strings.Contains(got, tt.want) {
			t.Errorf("%s gives %q, want %q", tt.p.ImportPath, got, tt.want)
		}
	}
}
