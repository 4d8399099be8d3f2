package main

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"math"
	"math/bits"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/fedfast/fedfast/fl/study/view"
)

// pythons are the Python interpreters here: those of FEDFAST_PYTHON, a list as PATH
// is one, and the system's.
func pythons() []string {
	var found []string
	for _, name := range append(filepath.SplitList(os.Getenv("FEDFAST_PYTHON")), "python3", "/usr/bin/python3") {
		if path, err := exec.LookPath(name); err == nil {
			found = append(found, path)
		}
	}
	return found
}

// hasModules says whether a Python has modules, without loading them, which takes seconds.
func hasModules(python string, modules ...string) bool {
	const probe = "import sys; from importlib.util import find_spec; sys.exit(not all(find_spec(m) for m in sys.argv[1:]))"
	return exec.Command(python, append([]string{"-c", probe}, modules...)...).Run() == nil
}

// withPython runs a script with every Python that can import what it imports, and
// skips the test where none can. It returns what each printed.
func withPython(t *testing.T, dir, script string, args ...string) (printed []string) {
	t.Helper()
	var needs []string
	for _, m := range regexp.MustCompile(`(?m)^(?:import|from) (\w+)`).FindAllStringSubmatch(script, -1) {
		needs = append(needs, m[1])
	}
	if strings.Contains(script, "read_parquet") {
		needs = append(needs, "pyarrow")
	}
	for _, path := range pythons() {
		if !hasModules(path, needs...) {
			continue
		}
		cmd := exec.CommandContext(t.Context(), path,
			append([]string{"-c", "import os; os.chdir(" + fmt.Sprintf("%q", dir) + ")\n" + script}, args...)...)
		var stderr strings.Builder
		cmd.Stderr = &stderr
		out, err := cmd.Output()
		if err != nil {
			t.Errorf("%s: %v:\n%s%s", path, err, out, stderr.String())
		}
		printed = append(printed, string(out))
	}
	if printed == nil {
		t.Skipf("no Python here has all of %s, which this imports", strings.Join(needs, ", "))
	}
	return printed
}

// exported is a small study of two tuners in a new folder, as first, with all of its
// exports.
func exported(t *testing.T) (dir string, o *view.Overview) {
	t.Helper()
	dir = t.TempDir()
	for _, args := range [][]string{
		append([]string{
			"tune", "--preset", "fashion-fedex", "--study", "first", "--set", "budget.rounds=60", "--set",
			"budget.trial_rounds=9",
			"--set", "model=logistic", "--set", "finalists.clients=20", "--set", "data.clients=30",
			"--set", "method=reptile", "--set", "data.name=glyphs", "--set", "data.normalize=none",
		}, twoTuners...),
		{"study", "export", "first", "--format", "parquet"},
		{"study", "export", "first"},
		{"study", "export", "first", "--format", "tensorboard"},
	} {
		cmd := exec.CommandContext(t.Context(), "fedfast", args...)
		cmd.Dir = dir
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%v: %v:\n%s", args, err, out)
		}
	}
	v, err := view.Look(t.Context(), filepath.Join(dir, "first"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = v.Close() }()
	if o, err = v.Overview(t.Context()); err != nil {
		t.Fatal(err)
	}
	o.Trials = o.Suggested() // tables have no other
	return dir, o
}

// TestExportsInPython runs the blocks of the page about exports as they stand, and
// compares what they print with the study.
func TestExportsInPython(t *testing.T) {
	t.Parallel()
	blocks := slices.DeleteFunc(fence.FindAllStringSubmatch(readText(t, "fl/study/exports.md"), -1),
		func(b []string) bool { return b[1] != "python" })
	if len(blocks) != 5 {
		t.Fatalf("the page has %d blocks of Python", len(blocks))
	}
	dir, o := exported(t)
	lowest := *o.Trials[0].Score()
	best := -1
	for i := range o.Trials {
		trial := &o.Trials[i]
		lowest = min(lowest, *trial.Score())
		if trial.State == view.Completed && (best < 0 || *trial.Score() < *o.Trials[best].Score()) {
			best = i
		}
	}
	wants := map[string]string{
		"pandas":      fmt.Sprintf("trials %d rounds %d lowest rung %v\n", len(o.Trials), o.Rounds, lowest),
		"sqlite3":     fmt.Sprintf("trials %d rounds %d lowest rung %v\n", len(o.Trials), o.Rounds, lowest),
		"safetensors": "parameters 48670\n",
		"optuna":      fmt.Sprintf("trials %d best %d %v\n", len(o.Trials), best, *o.Trials[best].Score()),
		"tensorboard": fmt.Sprintf("rounds %d first rung %d ", o.Trials[0].Rounds, o.Trials[0].Rungs[0].Round),
	}
	t.Run("events", func(t *testing.T) { readByProtoc(t, dir, o) })
	for i, block := range blocks {
		module := regexp.MustCompile(`(?:import|from) (\w+)`).FindStringSubmatch(block[3])[1]
		t.Run(fmt.Sprintf("%d-%s", i+1, module), func(t *testing.T) {
			for _, printed := range withPython(t, dir, block[3]) {
				if want := wants[module]; want == "" || !strings.HasPrefix(printed, want) {
					t.Errorf("printed is %q, want %q first", printed, want)
				}
			}
		})
	}
}

// eventProto are the messages of a file of events, by the names and numbers that
// TensorFlow gives them.
const eventProto = `syntax = "proto3";
message Events { repeated Event event = 1; }
message Event { double wall_time = 1; int64 step = 2; oneof what { string file_version = 3; Summary summary = 5; } }
message Summary { repeated Value value = 1; message Value { string tag = 1; oneof value { float simple_value = 2; } } }
`

// readByProtoc has protoc decode the events of every trial, and compares them with its
// rounds.
func readByProtoc(t *testing.T, dir string, o *view.Overview) {
	protoc, err := exec.LookPath("protoc")
	if err != nil {
		t.Skip("no protoc here, which decodes the events")
	}
	schema := filepath.Join(t.TempDir(), "event.proto")
	if err := os.WriteFile(schema, []byte(eventProto), 0o600); err != nil {
		t.Fatal(err)
	}
	v, err := view.Look(t.Context(), filepath.Join(dir, "first"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = v.Close() }()
	for i := range o.Trials {
		trial := &o.Trials[i]
		rounds, err := v.Curve(t.Context(), trial, 0, o.Config.Score.Discount)
		if err != nil {
			t.Fatal(err)
		}
		files, err := filepath.Glob(filepath.Join(dir, "first", "export", "tensorboard",
			fmt.Sprintf("trial-%03d", trial.Number), "events.out.tfevents.*"))
		if err != nil || len(files) != 1 {
			t.Fatalf("trial %d has the files %q (%v)", trial.Number, files, err)
		}
		var all []byte
		for _, e := range unframed(t, files[0]) {
			all = protowire.AppendBytes(protowire.AppendTag(all, 1, protowire.BytesType), e)
		}
		cmd := exec.CommandContext(t.Context(), protoc, "--proto_path="+filepath.Dir(schema), "--decode=Events", schema)
		cmd.Stdin = bytes.NewReader(all)
		text, err := cmd.Output()
		if err != nil {
			t.Fatal(err)
		}
		var want strings.Builder
		fmt.Fprintf(&want, "event { wall_time: %v file_version: \"brain.Event:2\" } ", float64(trial.Opened.UnixMilli())/1000)
		for _, r := range rounds {
			fmt.Fprintf(&want, "event { wall_time: %v step: %d summary { ", float64(r.At.UnixMilli())/1000, r.Round)
			scalar := func(tag string, x float64) {
				if !math.IsNaN(x) {
					fmt.Fprintf(&want, "value { tag: %q simple_value: %v } ", tag, float32(x))
				}
			}
			scalar("score", r.Mean)
			for _, rung := range trial.Rungs {
				if rung.Round == r.Round {
					scalar("rung", rung.Score)
				}
			}
			scalar("train_loss", r.TrainLoss)
			scalar("test_error", r.TestError)
			want.WriteString("} } ")
		}
		if got := numbers(strings.Join(strings.Fields(string(text)), " ") + " "); got != numbers(want.String()) {
			t.Errorf("trial %d is read as\n%s\nwant\n%s", trial.Number, got, numbers(want.String()))
		}
	}
}

// numbers writes the numbers of a text all in one way, each in the precision that it
// has.
func numbers(text string) string {
	form := regexp.MustCompile(`(wall_time|simple_value): ([-+0-9.e]+)`)
	return form.ReplaceAllStringFunc(text, func(word string) string {
		m, bits := form.FindStringSubmatch(word), 64
		if m[1] == "simple_value" {
			bits = 32
		}
		x, err := strconv.ParseFloat(m[2], bits)
		if err != nil {
			return word
		}
		return m[1] + ": " + strconv.FormatFloat(x, 'g', -1, bits)
	})
}

// unframed are the records of a file of TensorFlow's, whose checksums must hold.
func unframed(t *testing.T, path string) (records [][]byte) {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	sum := func(b []byte) uint32 {
		x := crc32.Checksum(b, crc32.MakeTable(crc32.Castagnoli))
		return bits.RotateLeft32(x, 17) + 0xa282ead8
	}
	for len(text) > 0 {
		n := binary.LittleEndian.Uint64(text)
		data := text[12 : 12+n]
		if binary.LittleEndian.Uint32(text[8:]) != sum(text[:8]) || binary.LittleEndian.Uint32(text[12+n:]) != sum(data) {
			t.Fatalf("%s: a checksum does not hold", path)
		}
		records, text = append(records, data), text[16+n:]
	}
	return records
}
