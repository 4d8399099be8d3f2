package asmcheck

import (
	"encoding/binary"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/arch/arm64/arm64asm"
)

// decoded says what each macro of the header must decode to, in the manual's
// notation, with parameters in braces.
var decoded = map[string]string{
	"FADD4S":   "FADD V{d}.4S, V{n}.4S, V{m}.4S",
	"FSUB4S":   "FSUB V{d}.4S, V{n}.4S, V{m}.4S",
	"FMUL4S":   "FMUL V{d}.4S, V{n}.4S, V{m}.4S",
	"FDIV4S":   "FDIV V{d}.4S, V{n}.4S, V{m}.4S",
	"FMAX4S":   "FMAX V{d}.4S, V{n}.4S, V{m}.4S",
	"FMIN4S":   "FMIN V{d}.4S, V{n}.4S, V{m}.4S",
	"FMLA4S":   "FMLA V{d}.4S, V{n}.4S, V{m}.4S",
	"FMLS4S":   "FMLS V{d}.4S, V{n}.4S, V{m}.4S",
	"FMLA4SL":  "FMLA V{d}.4S, V{n}.4S, V{m}.S[{l}]",
	"FABS4S":   "FABS V{d}.4S, V{n}.4S",
	"FNEG4S":   "FNEG V{d}.4S, V{n}.4S",
	"FRINTN4S": "FRINTN V{d}.4S, V{n}.4S",
	"FCVTZS4S": "FCVTZS V{d}.4S, V{n}.4S",
	"FMAXV4S":  "FMAXV S{d}, V{n}.4S",
	"FADD2D":   "FADD V{d}.2D, V{n}.2D, V{m}.2D",
	"FMLA2D":   "FMLA V{d}.2D, V{n}.2D, V{m}.2D",
	"FCVTL2D":  "FCVTL V{d}.2D, V{n}.2S",
	"FCVTLH2D": "FCVTL2 V{d}.2D, V{n}.4S",
	"FCMGT4S":  "FCMGT V{d}.4S, V{n}.4S, V{m}.4S",
	"FACGT4S":  "FACGT V{d}.4S, V{n}.4S, V{m}.4S",
	"FCMEQ4S":  "FCMEQ V{d}.4S, V{n}.4S, V{m}.4S",
	"FCMGTZ4S": "FCMGT V{d}.4S, V{n}.4S, #0",
	"FCMLTZ4S": "FCMLT V{d}.4S, V{n}.4S, #0",
	"CMEQ4S":   "CMEQ V{d}.4S, V{n}.4S, V{m}.4S",
	"CMTST4S":  "CMTST V{d}.4S, V{n}.4S, V{m}.4S",
	"CMHS4S":   "CMHS V{d}.4S, V{n}.4S, V{m}.4S",
	"AND16B":   "AND V{d}.16B, V{n}.16B, V{m}.16B",
	"BIC16B":   "BIC V{d}.16B, V{n}.16B, V{m}.16B",
	"ORR16B":   "ORR V{d}.16B, V{n}.16B, V{m}.16B",
	"ORN16B":   "ORN V{d}.16B, V{n}.16B, V{m}.16B",
	"EOR16B":   "EOR V{d}.16B, V{n}.16B, V{m}.16B",
	"BIT16B":   "BIT V{d}.16B, V{n}.16B, V{m}.16B",
	"ADD4S":    "ADD V{d}.4S, V{n}.4S, V{m}.4S",
	"SUB4S":    "SUB V{d}.4S, V{n}.4S, V{m}.4S",
	"SHL4S":    "SHL V{d}.4S, V{n}.4S, #{s}",
	"SSHR4S":   "SSHR V{d}.4S, V{n}.4S, #{s}",
	"USHR4S":   "USHR V{d}.4S, V{n}.4S, #{s}",
	"SRI4S":    "SRI V{d}.4S, V{n}.4S, #{s}",
	"UMULL2D":  "UMULL V{d}.2D, V{n}.2S, V{m}.2S",
	"UMULLH2D": "UMULL2 V{d}.2D, V{n}.4S, V{m}.4S",
	"DUPW4S":   "DUP V{d}.4S, W{n}",
	"DUPL4S":   "DUP V{d}.4S, V{n}.S[{l}]",
}

func readHeader(t *testing.T) []Macro {
	t.Helper()
	text, err := os.ReadFile("../../../kernels/neon_arm64.h")
	if err != nil {
		t.Fatal(err)
	}
	macros, err := Macros(string(text))
	if err != nil {
		t.Fatal(err)
	}
	return macros
}

// TestMacrosDecode decodes every macro for every value of each parameter, while the
// others keep theirs.
func TestMacrosDecode(t *testing.T) {
	seen := map[string]bool{}
	for _, m := range readHeader(t) {
		seen[m.Name] = true
		want, ok := decoded[m.Name]
		if !ok {
			t.Errorf("no entry for %s in this test", m.Name)
			continue
		}
		for vary, param := range m.Params {
			limit := map[string]int{"l": 4}[param]
			if limit == 0 {
				limit = 32
			}
			for v := range limit {
				args := make([]int, len(m.Params))
				for i := range args {
					args[i] = 1 + i // also a lane, or a shift
				}
				if args[vary] = v; param == "s" && v == 0 {
					continue // a shift to the right by 0 does not exist
				}
				word, err := m.Word(args...)
				if err != nil {
					t.Fatal(err)
				}
				if got, want := decode(word), fill(want, m.Params, args); got != want {
					t.Errorf("%s%v is %q, want %q", m.Name, args, got, want)
				}
			}
		}
	}
	for name := range decoded {
		if !seen[name] {
			t.Errorf("%s is not in the header", name)
		}
	}
}

func decode(word uint32) string {
	inst, err := arm64asm.Decode(binary.LittleEndian.AppendUint32(nil, word))
	if err != nil {
		return err.Error()
	}
	return inst.String()
}

func fill(format string, params []string, args []int) string {
	for i, p := range params {
		format = strings.ReplaceAll(format, "{"+p+"}", strconv.Itoa(args[i]))
	}
	// The manual's preferred names.
	if f := strings.Split(format, ", "); strings.HasPrefix(format, "ORR ") && f[1] == f[2] {
		return "MOV " + strings.TrimPrefix(f[0], "ORR ") + ", " + f[1]
	}
	return strings.ReplaceAll(format, " W31", " WZR")
}

// TestMacrosUsed holds that the header has no macro that nothing uses.
func TestMacrosUsed(t *testing.T) {
	source := arm64Source(t)
	for _, m := range readHeader(t) {
		if !strings.Contains(source, m.Name+"(") {
			t.Errorf("%s is not used", m.Name)
		}
	}
}

// arm64Source returns the arm64 assembly with its headers, except the one that the
// macros are in.
func arm64Source(t *testing.T) string {
	t.Helper()
	var all strings.Builder
	for _, pattern := range []string{"../../../kernels/*_arm64.s", "../../../kernels/*_arm64.h"} {
		files, err := filepath.Glob(pattern)
		if err != nil || len(files) == 0 {
			t.Fatalf("no files %s: %v", pattern, err)
		}
		for _, file := range files {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if filepath.Base(file) != "neon_arm64.h" {
				all.Write(text)
			}
		}
	}
	return all.String()
}

func TestNoReservedRegisters(t *testing.T) {
	for _, line := range ReservedRegisters(arm64Source(t)) {
		t.Errorf("%q uses a register that is not the function's", line)
	}
	for line, want := range map[string]int{
		"MOVD R1, R18": 1, "ADD R27, R1 // sum": 1, "MOVD (g), R1": 1, "SUBS $1, R30": 1,
		"MOVD R1, R2 // not R18": 0, "ADD R26, R1": 0, "FMOVQ F28, (R1)": 0,
	} {
		if got := len(ReservedRegisters(line)); got != want {
			t.Errorf("%q: %d lines, want %d", line, got, want)
		}
	}
}

func TestMacrosRefuses(t *testing.T) {
	if _, err := Macros("#define ADD2(n, d) ADD $2, n, d\n"); err == nil {
		t.Error("a macro that is no word was accepted")
	}
	macros, err := Macros("#define BAD(n) WORD $(1<<32 | (n))\n#define ODD(n) WORD $((m)<<5)\n")
	if err != nil || len(macros) != 2 {
		t.Fatalf("got %v, %v", macros, err)
	}
	for _, m := range macros {
		if w, err := m.Word(1); err == nil {
			t.Errorf("%s gives the word %#x", m.Name, w)
		}
	}
	if _, err := macros[0].Word(1, 2); err == nil {
		t.Error("too many arguments were accepted")
	}
}
