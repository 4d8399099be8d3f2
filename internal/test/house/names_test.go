package house

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// mostNames is how many names a package may export: types, functions, variables, and groups of
// constants, each of which counts as one, as in what `go doc -short` lists.
var mostNames = map[string]int{"nn": 85, "fl/study": 45}

func TestPackagesExportLittle(t *testing.T) {
	for path, most := range mostNames {
		files, err := filepath.Glob(filepath.Join(root, filepath.FromSlash(path), "*.go"))
		if err != nil {
			t.Fatal(err)
		}
		var names []string
		for _, file := range files {
			if strings.HasSuffix(file, "_test.go") {
				continue
			}
			parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.SkipObjectResolution)
			if err != nil {
				t.Fatal(err)
			}
			for _, d := range parsed.Decls {
				names = append(names, exported(d)...)
			}
		}
		switch n := len(names); {
		case n > most:
			slices.Sort(names)
			t.Errorf("%s exports %d names, of at most %d: which of these does nobody else need? %s", path, n, most,
				strings.Join(names, " "))
		case n == 0:
			t.Errorf("%s exports no name", path)
		}
	}
}

// exported returns the names that a declaration exports, of a group of constants the first.
func exported(d ast.Decl) (names []string) {
	switch d := d.(type) {
	case *ast.FuncDecl:
		if d.Recv == nil && d.Name.IsExported() {
			names = append(names, d.Name.Name)
		}
	case *ast.GenDecl:
		for _, s := range d.Specs {
			switch s := s.(type) {
			case *ast.TypeSpec:
				if s.Name.IsExported() {
					names = append(names, s.Name.Name)
				}
			case *ast.ValueSpec:
				for _, name := range s.Names {
					if name.IsExported() {
						names = append(names, name.Name)
					}
				}
			}
		}
		if d.Tok == token.CONST {
			names = names[:min(len(names), 1)]
		}
	}
	return names
}
