// Package asmcheck reads the assembly of package kernels and tells where it breaks
// the rules that neither the assembler nor go vet knows: a function uses only what
// the level in its name guarantees, leaves no dirty vector registers to Go code,
// and is bound to that level. It works on text, so it runs on every machine.
package asmcheck

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// Function is one function of an amd64 assembly file.
type Function struct {
	Name     string
	Requires []string // instruction sets that the generator derived from the instructions
	Body     []string // instructions, in order, without labels
}

var (
	textLine   = regexp.MustCompile(`^TEXT ·(\w+)\(SB\)`)
	levelName  = regexp.MustCompile(`(AVX2|AVX512|BF16|AMX)(x\d+)?$`)
	wideVector = regexp.MustCompile(`\b[YZ]\d+\b`)
	evexOnly   = regexp.MustCompile(`\b(Z\d+|K[0-7]|[XY](1[6-9]|2\d|3[01]))\b`)
	framePtr   = regexp.MustCompile(`\bBP\b`)
)

// Functions returns the functions of an assembly file as avo prints it.
func Functions(source string) []Function {
	var all []Function
	var requires []string
	for line := range strings.Lines(source) {
		line = strings.TrimSpace(line)
		switch {
		case strings.HasPrefix(line, "// Requires: "):
			requires = strings.Split(strings.TrimPrefix(line, "// Requires: "), ", ")
		case strings.HasPrefix(line, "TEXT "):
			name := "?"
			if m := textLine.FindStringSubmatch(line); m != nil {
				name = m[1]
			}
			all = append(all, Function{Name: name, Requires: requires})
			requires = nil
		case line == "" || strings.HasSuffix(line, ":") || strings.HasPrefix(line, "//") || strings.HasPrefix(line, "#"),
			strings.HasPrefix(line, "DATA ") || strings.HasPrefix(line, "GLOBL "):
		case len(all) > 0:
			f := &all[len(all)-1]
			f.Body = append(f.Body, line)
		}
	}
	return all
}

// guaranteed lists what a level promises: what package kernels asks the processor
// for, and what every amd64 processor has ("MMX+" is avo's name for the prefetches
// of SSE).
var guaranteed = map[string][]string{
	"AVX2": {"CMOV", "MMX+", "SSE", "SSE2", "AVX", "AVX2", "FMA3", "POPCNT"},
	"AVX512": {
		"CMOV", "MMX+", "SSE", "SSE2", "AVX", "AVX2", "FMA3", "POPCNT", "BMI2", "AVX512F", "AVX512DQ", "AVX512BW",
		"AVX512VL",
	},
	"BF16": {
		"CMOV", "MMX+", "SSE", "SSE2", "AVX", "AVX2", "FMA3", "POPCNT", "BMI2", "AVX512F", "AVX512DQ", "AVX512BW",
		"AVX512VL", "AVX512_BF16",
	},
	"AMX": {"CMOV", "SSE", "SSE2", "AVX", "AVX2", "AVX512F", "AMX_BF16"},
}

// LevelOf returns the level, AVX2, AVX512, BF16 (AVX512 with AVX512_BF16) or AMX, that a
// function's name ends in (a tile height may follow), or "".
func LevelOf(name string) string {
	if m := levelName.FindStringSubmatch(name); m != nil {
		return m[1]
	}
	return ""
}

// Problems returns what is wrong with f, one line each.
func (f Function) Problems() []string {
	var problems []string
	add := func(format string, args ...any) {
		problems = append(problems, f.Name+": "+fmt.Sprintf(format, args...))
	}
	level := LevelOf(f.Name)
	if level == "" {
		add("the name does not end in a level")
		return problems
	}
	for _, set := range f.Requires {
		if !slices.Contains(guaranteed[level], set) {
			add("needs %s, which level %s does not guarantee", set, level)
		}
	}
	dirty := false
	for i, line := range f.Body {
		if level == "AVX2" && evexOnly.MatchString(line) {
			add("%q uses a register of AVX-512", line)
		}
		if framePtr.MatchString(line) {
			add("%q touches the frame pointer", line)
		}
		switch {
		case wideVector.MatchString(line):
			dirty = true
		case line == "VZEROUPPER":
			dirty = false
		case line == "RET" && dirty:
			add("returns (instruction %d) without VZEROUPPER", i)
		}
	}
	if len(f.Body) == 0 || f.Body[len(f.Body)-1] != "RET" {
		add("does not end in RET")
	}
	return problems
}
