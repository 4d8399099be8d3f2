package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"slices"
	"strings"
	"testing"
)

const module = "github.com/fedfast/fedfast"

// mayImport holds, for each folder at the top of the module, which others its
// packages may depend on, directly or not: kernels <- tensor <- nn <- fl <- cmd.
// fl/study is held apart from fl because fl must not know it, data/sys and
// kernels/det from data and kernels because every folder may use them: they
// import nothing of ours.
var mayImport = map[string][]string{
	"kernels/det": {},
	"data/sys":    {},
	"kernels":     {"kernels/det"},
	"tensor":      {"kernels/det", "kernels"},
	"nn":          {"kernels/det", "tensor", "kernels"},
	"data":        {"kernels/det", "data/sys"},
	"tuners":      {"kernels/det", "data/sys"},
	"plugins":     {"kernels/det", "data/sys", "tuners"},
	"fl":          {"kernels/det", "data/sys", "nn", "tensor", "kernels", "data", "tuners"},
	"fl/study":    {"kernels/det", "data/sys", "fl", "nn", "tensor", "kernels", "data", "tuners"},
	"bench":       {"kernels/det", "data/sys", "fl/study", "fl", "nn", "tensor", "kernels", "data", "tuners", "plugins"},
	"cmd":         {"kernels/det", "data/sys", "bench", "fl/study", "fl", "nn", "tensor", "kernels", "data", "tuners", "plugins"},
}

// mayImportModules holds the other modules that a folder may name itself, for
// the folders that promise to need little.
var mayImportModules = map[string][]string{
	"kernels/det": {},
	"kernels":     {"github.com/klauspost/cpuid/v2"},
	"tensor":      {},
	"nn":          {},
}

// interfacesOnly are the packages of tuners that the engine must not see: it
// knows tuners by their interface.
var interfacesOnly = []string{"tuners/host", "tuners/proto"}

// pkg is what go list tells of a package.
type pkg struct {
	ImportPath    string
	Imports, Deps []string
	Standard      bool
}

// folder is the key of mayImport for a package of this module.
func folder(path string) string {
	path = strings.TrimPrefix(strings.TrimPrefix(path, module), "/")
	for _, apart := range []string{"fl/study", "data/sys", "kernels/det"} {
		if path == apart || strings.HasPrefix(path, apart+"/") {
			return apart
		}
	}
	top, _, _ := strings.Cut(path, "/")
	return top
}

// breaches returns what is wrong with a package's imports.
func breaches(p pkg) []string {
	var wrong []string
	from := folder(p.ImportPath)
	allowed, known := mayImport[from]
	if !known {
		return []string{fmt.Sprintf("%s: the folder has no line in mayImport", p.ImportPath)}
	}
	for _, dep := range p.Deps {
		if dep != module && !strings.HasPrefix(dep, module+"/") {
			continue
		}
		if to := folder(dep); to != from && !slices.Contains(allowed, to) {
			wrong = append(wrong, fmt.Sprintf("%s depends on %s", p.ImportPath, dep))
		}
	}
	for _, path := range p.Imports {
		if rest, ours := strings.CutPrefix(path, module+"/"); ours {
			if (from == "fl" || from == "fl/study") && slices.Contains(interfacesOnly, rest) {
				wrong = append(wrong, fmt.Sprintf("%s imports %s: the engine knows tuners by their interface only", p.ImportPath, path))
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

func TestImportsPointDown(t *testing.T) {
	out, err := exec.CommandContext(t.Context(), "go", "list", "-deps", "-json=ImportPath,Imports,Deps,Standard", module+"/...").Output()
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
		{pkg{ImportPath: module + "/data", Deps: []string{module + "/kernels/det", module + "/kernels"}}, "data depends on github.com/fedfast/fedfast/kernels"},
		{pkg{ImportPath: module + "/fl", Deps: []string{module + "/fl/study"}}, "fl depends on"},
		{pkg{ImportPath: module + "/tuners/host", Deps: []string{module + "/nn"}}, "host depends on"},
		{pkg{ImportPath: module + "/bench", Deps: []string{module + "/cmd/fedfast/internal/table"}}, "bench depends on"},
		{pkg{ImportPath: module + "/fl/study", Imports: []string{module + "/tuners/host"}}, "by their interface only"},
		{pkg{ImportPath: module + "/kernels", Imports: []string{"golang.org/x/sys/cpu"}}, "kernels imports golang.org/x/sys/cpu"},
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
