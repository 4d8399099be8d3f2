package asmcheck

import (
	"fmt"
	"go/constant"
	"go/token"
	"go/types"
	"regexp"
	"strconv"
	"strings"
)

// Macro is one instruction of arm64 that is defined as a word, with register
// numbers and the like as parameters.
type Macro struct {
	Name   string
	Params []string
	expr   string
}

var (
	wordLine   = regexp.MustCompile(`^#define (\w+)\(([\w, ]+)\)\s+WORD \$(\(.*\))\s*(?://.*)?$`)
	identifier = regexp.MustCompile(`\b[A-Za-z]\w*\b`)
	reserved   = regexp.MustCompile(`\b(R18|R27|R28|R29|R30|R18_PLATFORM|g)\b`)
)

// Macros returns the macros of a header that are words. Every other #define is an
// error: it would escape the check.
func Macros(header string) ([]Macro, error) {
	var all []Macro
	for line := range strings.Lines(header) {
		if !strings.HasPrefix(line, "#") {
			continue
		}
		m := wordLine.FindStringSubmatch(strings.TrimSuffix(line, "\n"))
		if m == nil {
			return nil, fmt.Errorf("%q is not #define NAME(PARAMETERS) WORD $(EXPRESSION)", line)
		}
		all = append(all, Macro{Name: m[1], Params: strings.Split(m[2], ", "), expr: m[3]})
	}
	return all, nil
}

// Word returns the instruction for the given arguments. The assembler reads
// expressions as Go does.
func (m Macro) Word(args ...int) (uint32, error) {
	if len(args) != len(m.Params) {
		return 0, fmt.Errorf("%s has %d parameters, not %d", m.Name, len(m.Params), len(args))
	}
	unknown := ""
	expr := identifier.ReplaceAllStringFunc(m.expr, func(name string) string {
		for i, p := range m.Params {
			if p == name {
				return strconv.Itoa(args[i])
			}
		}
		unknown = name
		return name
	})
	if unknown != "" {
		return 0, fmt.Errorf("%s uses %s, which is no parameter", m.Name, unknown)
	}
	v, err := types.Eval(token.NewFileSet(), nil, token.NoPos, expr)
	if err != nil {
		return 0, fmt.Errorf("%s: %w", m.Name, err)
	}
	word, exact := constant.Uint64Val(v.Value)
	if !exact || word >= 1<<32 {
		return 0, fmt.Errorf("%s: %v is no word", m.Name, v.Value)
	}
	return uint32(word), nil
}

// ReservedRegisters returns the lines of arm64 assembly that name a register which
// belongs to the platform, the assembler or the runtime.
func ReservedRegisters(source string) []string {
	var lines []string
	for line := range strings.Lines(source) {
		code, _, _ := strings.Cut(line, "//")
		if reserved.MatchString(code) {
			lines = append(lines, strings.TrimSpace(line))
		}
	}
	return lines
}
