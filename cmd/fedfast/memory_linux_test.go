package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"syscall"
	"testing"
)

// TestMemoryIsAsEstimated compares what an estimate says of memory with the most that the
// program has, for a network of images and for a transformer of 12.7 million parameters.
func TestMemoryIsAsEstimated(t *testing.T) {
	if testing.Short() {
		t.Skip("it takes 2 GB")
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	program := filepath.Join(dir, "fedfast")
	if err := os.Symlink(self, program); err != nil { // by whose name it is fedfast
		t.Fatal(err)
	}
	said := regexp.MustCompile(`(?m)^estimate: .*, ([0-9.]+) GB of memory$`)
	const block = `{type="residual", body=[{type="layernorm"}, {type="attention", heads=8}]}, ` +
		`{type="residual", body=[{type="layernorm"}, {type="dense", units=2048}, {type="gelu"}, {type="dense", units=512}]}, `
	for name, model := range map[string]string{
		"cnn": "rounds=2\nmodel=\"leaf-femnist-cnn\"",
		"transformer": "rounds=1\n" + `model.layers=[{type="conv", filters=512, kernel=7, stride=7}, {type="sequence", class_token=true}, {type="positions"}, ` +
			block + block + block + block + `{type="steps", take="first"}, {type="dense"}]`,
	} {
		workers, cohort := "12", "12"
		if name == "transformer" {
			workers, cohort = "3", "4"
		}
		file := filepath.Join(dir, name+".toml")
		text := model + "\ncohort=" + cohort + "\ndata.name=\"glyphs\"\ndata.clients=12\ndata.samples=40\nclient.epochs=0.5\n"
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		cmd := exec.Command(program, "run", file, "--workers", workers, "--set", "eval.clients=4", "--set", "client.momentum=0.9", "--study", filepath.Join(dir, name))
		var stderr bytes.Buffer
		cmd.Stderr = &stderr
		if err := cmd.Run(); err != nil {
			t.Fatalf("%s: %v\n%s", name, err, &stderr)
		}
		usage, ok := cmd.ProcessState.SysUsage().(*syscall.Rusage)
		match := said.FindStringSubmatch(stderr.String())
		if !ok || match == nil {
			t.Fatalf("%s: no memory in\n%s", name, &stderr)
		}
		estimate, err := strconv.ParseFloat(match[1], 64)
		if err != nil {
			t.Fatal(err)
		}
		most := float64(usage.Maxrss) * 1024 / 1e9
		t.Logf("%s: estimate %.2f GB, measured %.2f GB", name, estimate, most)
		if estimate < most/1.25 || estimate > most*1.25 {
			t.Errorf("%s: the estimate says %.2f GB of memory, it had %.2f GB", name, estimate, most)
		}
	}
}
