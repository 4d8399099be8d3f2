//go:build unix

package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// TestWorkerHandsOver sends SIGTERM to a worker in the middle of a study: its trial goes
// over to another one at once, nobody waits for it, and all is as in one process.
func TestWorkerHandsOver(t *testing.T) {
	if testing.Short() {
		t.Skip("it takes seconds")
	}
	t.Parallel()
	dir := t.TempDir()
	settings := []string{
		"--workers", "1", "--preset", "fashion-fedex", "--set", "data.clients=16", "--set", "cohort=4", "--set",
		`model="logistic"`, "--set", "client.epochs=30",
		"--set", "budget.rounds=60", "--set", "budget.trial_rounds=12", "--client-tuner", "fedex",
		"--set", "tuner.options={eta=3,eliminations=2}",
	}
	tune := func(study string, more ...string) *process {
		return start(t, false, append(append([]string{"tune", "--study", filepath.Join(dir, study)}, settings...),
			more...)...)
	}
	worker := func() *process {
		p := start(t, false, "worker", "--workers", "1", "--join", filepath.Join(dir, "two", "cluster", "join"))
		p.until(says("joined as "))
		return p
	}
	ended := func(name string, p *process, code int) {
		t.Helper()
		<-p.ended
		if got := p.cmd.ProcessState.ExitCode(); got != code {
			t.Fatalf("%s ends with exit code %d: %s", name, got, p.stderr.String())
		}
	}
	ended("the study in one process", tune("one"), 0)
	coordinator := tune("two", "--cluster", "127.0.0.1:0")
	leaves := worker()
	rounds := func() int {
		text, _ := os.ReadFile(filepath.Join(dir, "two", "metrics.jsonl")) // it may not have begun
		return bytes.Count(text, []byte("\n"))
	}
	coordinator.until(func(*process) bool { return rounds() > 3 }) // by the only worker
	stays := worker()
	if err := leaves.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	ended("the worker that was asked to leave", leaves, 0)
	if !says("left; this worker trained ")(leaves) || !coordinator.until(says("-1 left; 1 worker")) {
		t.Errorf("the worker says %q, the coordinator %q", leaves.stderr.String(), coordinator.stderr.String())
	}
	ended("the other worker", stays, 0)
	ended("the coordinator", coordinator, 0)
	if told := coordinator.stderr.String(); strings.Contains(told, "lost") {
		t.Errorf("the coordinator has waited for a worker: %q", told)
	}
	for _, name := range []string{"metrics.jsonl", "model.safetensors"} {
		want, err := os.ReadFile(filepath.Join(dir, "one", name))
		if err != nil {
			t.Fatal(err)
		}
		if got, err := os.ReadFile(filepath.Join(dir, "two", name)); err != nil || !bytes.Equal(got, want) {
			t.Errorf("%s is not that of one process (%v)", name, err)
		}
	}
}

// says says of a process whether it has written some text.
func says(text string) func(*process) bool {
	return func(p *process) bool { return strings.Contains(p.stderr.String(), text) }
}
