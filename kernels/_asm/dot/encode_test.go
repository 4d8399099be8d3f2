package dot

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestEncode compares with Go's assembler on VFMADD231PS, which differs from the instructions of AVX512_BF16 in prefix and opcode only.
func TestEncode(t *testing.T) {
	var text, want strings.Builder
	text.WriteString("TEXT ·f(SB), $0-0\n")
	for d := range uint8(32) {
		for i := range uint8(32) {
			a, b := (d+7*i)%32, (31-d+5*i)%32
			fmt.Fprintf(&text, "VFMADD231PS Z%d, Z%d, Z%d\n", b, a, d)
			fmt.Fprintf(&want, "%x", encode(width512, prefix66, 0xb8, d, a, b))
			if d >= 16 { // else EVEX is not needed
				fmt.Fprintf(&text, "VFMADD231PS Y%d, Y%d, Y%d\n", b, a, d)
				fmt.Fprintf(&want, "%x", encode(width256, prefix66, 0xb8, d, a, b))
			}
		}
	}
	name := filepath.Join(t.TempDir(), "f.s")
	if err := os.WriteFile(name, []byte(text.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("go", "tool", "asm", "-S", "-p", "main", "-o", os.DevNull, name)
	cmd.Env = append(os.Environ(), "GOARCH=amd64")
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	// The listing ends in lines of 16 bytes in hex.
	var got strings.Builder
	for _, line := range regexp.MustCompile(`(?m)^\t0x[0-9a-f]{4,} ((?:[0-9a-f]{2} )+)`).FindAllStringSubmatch(string(out),
		-1) {
		got.WriteString(strings.ReplaceAll(line[1], " ", ""))
	}
	if !strings.HasPrefix(got.String(), want.String()) {
		t.Fatalf("the assembler gives %.60s..., encode %.60s...", got.String(), want.String())
	}
}
