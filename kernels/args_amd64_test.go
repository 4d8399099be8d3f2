//go:build !purego

package kernels

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"reflect"
	"strconv"
	"strings"
	"testing"
)

// TestAssemblyKnowsOffsets compares the constants below "Offsets in T." of the
// generators, which cannot import this package, with the offsets that the compiler
// gives the fields of T. A constant that names no field is scratch: it must lie in
// a blank field.
func TestAssemblyKnowsOffsets(t *testing.T) {
	args := map[string]reflect.Type{
		"nnArgs": reflect.TypeFor[nnArgs](), "nnTaps": reflect.TypeFor[nnTaps](), "tnArgs": reflect.TypeFor[tnArgs](), "ntArgs": reflect.TypeFor[ntArgs](), "tsArgs": reflect.TypeFor[tsArgs](), "blockArgs": reflect.TypeFor[blockArgs](),
		"poolArgs": reflect.TypeFor[poolArgs](), "lrnArgs": reflect.TypeFor[lrnArgs](),
		"maximaArgs": reflect.TypeFor[maximaArgs](), "appendArgs": reflect.TypeFor[appendArgs](),
		"sparseWeightsArgs": reflect.TypeFor[sparseWeightsArgs](), "sparseInputArgs": reflect.TypeFor[sparseInputArgs](),
	}
	seen := map[string]bool{}
	files, err := filepath.Glob("_asm/*/*.go")
	if err != nil || len(files) == 0 {
		t.Fatalf("no generators in _asm: %v", err)
	}
	for _, name := range files {
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.ParseComments)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range file.Decls {
			block, ok := d.(*ast.GenDecl)
			if !ok || block.Tok != token.CONST {
				continue
			}
			of, ok := strings.CutPrefix(strings.TrimSpace(block.Doc.Text()), "Offsets in ")
			if !ok {
				continue
			}
			of = strings.TrimSuffix(of, ".")
			if args[of] == nil {
				t.Errorf("%s: offsets in %q, which this test does not know", name, of)
				continue
			}
			for _, wrong := range wrongOffsets(args[of], constants(t, block)) {
				t.Errorf("%s: %s", name, wrong)
			}
			seen[of] = true
		}
	}
	for of := range args {
		if seen[of] {
			continue
		}
		t.Errorf("no generator has a comment \"Offsets in %s.\"", of)
	}
}

// TestWrongOffsetsAreSeen makes sure that the test above can fail.
func TestWrongOffsetsAreSeen(t *testing.T) {
	type some struct {
		a    *float32
		b, c int32
		_    [2]int
	}
	of := reflect.TypeOf(some{a: nil, b: 0, c: 0})
	for _, tt := range []struct {
		has  map[string]uintptr
		want int
	}{
		{map[string]uintptr{"xA": 0, "xB": 8, "xC": 12, "xRest": 16, "xLeft": 24}, 0},
		{map[string]uintptr{"xA": 0, "xB": 8, "xC": 16}, 1},
		{map[string]uintptr{"xA": 0, "xB": 8}, 1},
		{map[string]uintptr{"xA": 0, "xB": 8, "xC": 12, "xRest": 12, "xLeft": 32}, 2},
	} {
		if wrong := wrongOffsets(of, tt.has); len(wrong) != tt.want {
			t.Errorf("%v: found %q, want %d faults", tt.has, wrong, tt.want)
		}
	}
}

// constants returns the numbers of a block of constants.
func constants(t *testing.T, block *ast.GenDecl) map[string]uintptr {
	has := map[string]uintptr{}
	for _, s := range block.Specs {
		spec := s.(*ast.ValueSpec)
		for i, name := range spec.Names {
			number, ok := spec.Values[i].(*ast.BasicLit)
			if !ok {
				t.Fatalf("%s is not a plain number", name.Name)
			}
			n, err := strconv.ParseUint(number.Value, 10, 16)
			if err != nil {
				t.Fatal(err)
			}
			has[name.Name] = uintptr(n)
		}
	}
	return has
}

// wrongOffsets compares constants, whose names are a prefix in lower case and the
// name of a field, with the fields of args.
func wrongOffsets(args reflect.Type, has map[string]uintptr) (wrong []string) {
	offset := map[string]uintptr{}
	var scratch []reflect.StructField
	for f := range args.Fields() {
		if f.Name == "_" {
			scratch = append(scratch, f)
			continue
		}
		offset[strings.ToLower(f.Name)] = f.Offset
	}
	inScratch := func(at uintptr) bool {
		for _, f := range scratch {
			if at >= f.Offset && at+8 <= f.Offset+f.Type.Size() {
				return true
			}
		}
		return false
	}
	seen := map[string]bool{}
	for name, at := range has {
		field := strings.ToLower(strings.TrimLeft(name, "abcdefghijklmnopqrstuvwxyz"))
		want, known := offset[field]
		seen[field] = true
		switch {
		case known && at != want:
			wrong = append(wrong, name+" is "+strconv.Itoa(int(at))+", the field's offset in "+args.Name()+" is "+strconv.Itoa(int(want)))
		case !known && !inScratch(at):
			wrong = append(wrong, name+" names no field of "+args.Name()+", and lies in no scratch of it")
		}
	}
	for field := range offset {
		if !seen[field] {
			wrong = append(wrong, "no constant for "+args.Name()+"."+field)
		}
	}
	return wrong
}
