package asmcheck

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestFunctions(t *testing.T) {
	files, err := filepath.Glob("../../../kernels/*_amd64.s")
	if err != nil || len(files) == 0 {
		t.Fatalf("no assembly files: %v", err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		functions := Functions(string(text))
		if len(functions) == 0 {
			t.Errorf("%s: no functions found", file)
		}
		for _, f := range functions {
			for _, p := range f.Problems() {
				t.Errorf("%s: %s", file, p)
			}
		}
	}
}

// TestProblems holds that each rule can fail.
func TestProblems(t *testing.T) {
	const head = "// Requires: AVX, FMA3\nTEXT ·"
	for source, want := range map[string]string{
		head + "sumAVX2(SB), NOSPLIT, $0-8\nloop:\n\tVADDPS Y1, Y2, Y3\n\tVZEROUPPER\n\tRET\n": "",
		head + "sumAVX512x3(SB), NOSPLIT, $0-8\n\tVADDPS Z1, Z2, Z31\n\tVZEROUPPER\n\tRET\n":   "",
		head +
			"sumAVX(SB), NOSPLIT, $0-8\n\tRET\n": "name does not end in a level",
		"// Requires: AVX512F\nTEXT ·sumAVX2(SB), NOSPLIT, $0-8\n\tRET\n":                "does not guarantee",
		"// Requires: AVX512_BF16\nTEXT ·sumAVX512(SB), NOSPLIT, $0-8\n\tRET\n":          "does not guarantee",
		"// Requires: AVX512VBMI\nTEXT ·sumAVX512(SB), NOSPLIT, $0-8\n\tRET\n":           "does not guarantee",
		head + "sumAVX2(SB), NOSPLIT, $0-8\n\tVADDPS Y1, Y2, Y16\n\tVZEROUPPER\n\tRET\n": "register of AVX-512",
		head + "sumAVX2(SB), NOSPLIT, $0-8\n\tMOVQ AX, BP\n\tRET\n":                      "frame pointer",
		head + "sumAVX2(SB), NOSPLIT, $0-8\n\tVADDPS Y1, Y2, Y3\n\tRET\n":                "without VZEROUPPER",
		head + "sumAVX2(SB), NOSPLIT, $0-8\n\tVZEROUPPER\n\tVADDPS Y1, Y2, Y3\n\tRET\n":  "without VZEROUPPER",
		head + "sumAVX2(SB), NOSPLIT, $0-8\n\tJMP loop\n":                                "does not end in RET",
	} {
		got := strings.Join(Functions(source)[0].Problems(), "\n")
		if (want == "") != (got == "") || !strings.Contains(got, want) {
			t.Errorf("problems of\n%s\nare %q, want %q", source, got, want)
		}
	}
}

// TestBinding holds that no table of the AVX2 level names a function of AVX-512.
func TestBinding(t *testing.T) {
	files, err := filepath.Glob("../../../kernels/*_amd64.go")
	if err != nil {
		t.Fatal(err)
	}
	seen := 0
	for _, file := range files {
		if strings.Contains(file, "stubs") {
			continue
		}
		tree, err := parser.ParseFile(token.NewFileSet(), file, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(tree, func(n ast.Node) bool {
			for _, part := range boundToAVX2(n) {
				seen++
				ast.Inspect(part, func(n ast.Node) bool {
					if id, ok := n.(*ast.Ident); ok && LevelOf(id.Name) != "" && LevelOf(id.Name) != "AVX2" {
						t.Errorf("%s: level AVX2 is bound to %s", file, id.Name)
					}
					return true
				})
			}
			return true
		})
	}
	if seen < 17 {
		t.Errorf("found %d tables of level AVX2", seen)
	}
}

// boundToAVX2 returns the parts of n that belong to level AVX2: what bindAVX2 does, or
// the value of a variable so named.
func boundToAVX2(n ast.Node) []ast.Node {
	var parts []ast.Node
	switch n := n.(type) {
	case *ast.FuncDecl:
		if n.Name.Name == "bindAVX2" {
			for _, statement := range n.Body.List {
				parts = append(parts, statement)
			}
		}
	case *ast.ValueSpec:
		for i, name := range n.Names {
			if LevelOf(name.Name) == "AVX2" && i < len(n.Values) {
				parts = append(parts, n.Values[i])
			}
		}
	}
	return parts
}
