package house

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestREADMESaysWhatABuildDownloads adds up the archives of the modules in the program.
func TestREADMESaysWhatABuildDownloads(t *testing.T) {
	out, err := exec.CommandContext(t.Context(), "go", "list", "-deps", "-f",
		"{{with .Module}}{{if .Version}}{{.Path}}@{{.Version}}{{end}}{{end}}", module+"/cmd/fedfast").Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	modules := strings.Fields(string(out))
	slices.Sort(modules)
	args := append([]string{"mod", "download", "-json"}, slices.Compact(modules)...)
	if out, err = exec.CommandContext(t.Context(), "go", args...).Output(); err != nil {
		t.Skipf("go mod download: %v: are the archives of the modules not at hand?", err)
	}
	var sum int64
	for d := json.NewDecoder(strings.NewReader(string(out))); ; {
		var got struct{ Zip string }
		if err := d.Decode(&got); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatal(err)
		}
		info, err := os.Stat(got.Zip)
		if err != nil {
			t.Skipf("the archives of the modules are not at hand: %v", err)
		}
		sum += info.Size()
	}
	text, err := os.ReadFile(filepath.Join(root, "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	// Rounded to tens.
	want := fmt.Sprintf("downloads %d MB of modules", (sum+5e6)/1e7*10)
	if !strings.Contains(strings.Join(strings.Fields(string(text)), " "), want) {
		t.Errorf("README does not say that the first build %s: it downloads %d bytes", want, sum)
	}
}
