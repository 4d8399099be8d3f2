package main

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"strings"
	"testing"
)

// TestOnlyPlaySchedules holds that internal/play alone asks a tuner what to do next:
// all other calls of Suggest are sessions that pass one on, or a record that is
// repeated to a session.
func TestOnlyPlaySchedules(t *testing.T) {
	root := filepath.Join("..", "..")
	passes := 0
	err := filepath.WalkDir(root, func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() && strings.HasPrefix(e.Name(), ".") && path != root {
			return err
		}
		if e.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") ||
			strings.HasSuffix(path, ".pb.go") {
			return nil
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, 0)
		if err != nil {
			return err
		}
		at, _ := filepath.Rel(root, filepath.Dir(path))
		for _, d := range file.Decls {
			f, ok := d.(*ast.FuncDecl)
			if !ok {
				continue
			}
			ast.Inspect(f, func(n ast.Node) bool {
				call, ok := n.(*ast.CallExpr)
				if !ok {
					return true
				}
				if s, ok := call.Fun.(*ast.SelectorExpr); !ok || s.Sel.Name != "Suggest" {
					return true
				}
				switch at := filepath.ToSlash(at); {
				case at == "internal/play" || f.Name.Name == "Suggest":
					passes++
				case at == "fl/study/internal/replay": // it repeats recorded calls
				default:
					t.Errorf("%s: %s calls Suggest; only internal/play schedules", path, f.Name.Name)
				}
				return true
			})
		}
		return nil
	})
	if err != nil || passes < 3 {
		t.Errorf("%d calls of Suggest were seen, %v", passes, err)
	}
}
