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
// fl/study is held apart from fl because fl must not know it, and data/sys from
// data because every folder but those of numbers may use it.
var mayImport = map[string][]string{
	"data/sys": {},
	"kernels":  {},
	"tensor":   {"kernels"},
	"nn":       {"tensor", "kernels"},
	"data":     {"data/sys"},
	"tuners":   {"data/sys"},
	"plugins":  {"data/sys", "tuners"},
	"fl":       {"data/sys", "nn", "tensor", "kernels", "data", "tuners"},
	"fl/study": {"data/sys", "fl", "nn", "tensor", "kernels", "data", "tuners"},
	"bench":    {"data/sys", "fl/study", "fl", "nn", "tensor", "kernels", "data", "tuners", "plugins"},
	"cmd":      {"data/sys", "bench", "fl/study", "fl", "nn", "tensor", "kernels", "data", "tuners", "plugins"},
}

// mayImportModules holds the other modules that a folder may name itself, for
// the folders that promise to need little.
var mayImportModules = map[string][]string{
	"kernels": {"github.com/klauspost/cpuid/v2"},
	"tensor":  {},
	"nn":      {},
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
	for _, apart := range []string{"fl/study", "data/sys"} {
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
