package main

import (
	"bytes"
	"database/sql"
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
		"transformer": "rounds=1\n" +
			`model.layers=[{type="conv", filters=512, kernel=7, stride=7}, {type="sequence", class_token=true}, {type="positions"}, ` +
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
		cmd := exec.Command(program, "run", file, "--workers", workers, "--set", "eval.clients=4", "--set",
			"client.momentum=0.9", "--study", filepath.Join(dir, name))
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

// TestListKeepsNoTrials lists studies of thousands of trials in the memory of a few.
func TestListKeepsNoTrials(t *testing.T) {
	if testing.Short() {
		t.Skip("it reads 70,000 trials")
	}
	dir := t.TempDir()
	first := filepath.Join(dir, "few", "0")
	if out, err := exec.Command("fedfast", "tune", "--tuner", "random", "--set", "tuner.reference=false", "--set",
		"model=logistic", "--set", "data.clients=8", "--set", "data.samples=30",
		"--set", "cohort=3", "--set", "budget.rounds=6", "--set", "budget.trial_rounds=3", "--study",
		first).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	db, err := sql.Open("sqlite", filepath.Join(first, "study.db"))
	if err != nil {
		t.Fatal(err)
	}
	for _, change := range []string{ // a list reads no checksums
		`WITH RECURSIVE n(i) AS (SELECT 2 UNION ALL SELECT i+1 FROM n WHERE i < 4999)
		 INSERT INTO journal SELECT j.seq + 1000 + i, j.at, j.kind, i, 0, j.data, j.sum FROM n, (SELECT * FROM journal WHERE kind = 'trial' AND trial = 0) j`,
		`WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i+1 FROM n WHERE i < 2500)
		 UPDATE journal SET data = json_set(data, '$.tune.trials', json((SELECT json_group_array(json(e.value)) FROM n, journal j, json_each(j.data, '$.tune.trials') e
		 WHERE j.kind = 'result'))) WHERE kind = 'result'`,
		"PRAGMA wal_checkpoint(TRUNCATE)",
	} {
		if _, err := db.Exec(change); err != nil {
			t.Fatal(err)
		}
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	for i := range 14 {
		if err := os.CopyFS(filepath.Join(dir, "many", strconv.Itoa(i)), os.DirFS(first)); err != nil {
			t.Fatal(err)
		}
	}
	most := func(of string) float64 {
		cmd := exec.Command("fedfast", "study", "list", filepath.Join(dir, of))
		out, err := cmd.CombinedOutput()
		usage, ok := cmd.ProcessState.SysUsage().(*syscall.Rusage)
		if err != nil || !ok || !bytes.Contains(out, []byte("5,000")) {
			t.Fatalf("%v\n%s", err, out)
		}
		return float64(usage.Maxrss) / 1024
	}
	few, many := most("few"), most("many")
	t.Logf("one study %.0f MB, 14 of them %.0f MB", few, many)
	if many > 1.5*few {
		t.Errorf("a list of one study takes %.0f MB, of 14 %.0f MB", few, many)
	}
}
