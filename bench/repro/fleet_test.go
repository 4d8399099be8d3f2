package repro

import (
	"bytes"
	"encoding/json"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/fedfast/fedfast/fl/study/cluster"
	"github.com/fedfast/fedfast/fl/study/workdir"
	"github.com/fedfast/fedfast/plugins"
)

// untimed writes metrics without the times in them.
func untimed(t *testing.T, m *Metrics) []byte {
	t.Helper()
	m.End.Seconds, m.Head.Environment = 0, Environment{}
	for i := range m.Trials {
		m.Trials[i].Seconds = nil
	}
	text, err := json.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// TestFleet runs a small table with the workers of a hub, which train several of its
// studies at a time: the metrics are the same as in one study after the other in this
// process.
func TestFleet(t *testing.T) {
	here(t)
	o, dir := Options{Seeds: 2}, t.TempDir()
	jobs, _, err := Plan(t.Context(), smallCells(), o, dir)
	if err != nil {
		t.Fatal(err)
	}
	var mu sync.Mutex
	most, open := 0, 0
	var lines []string
	tell := func(line string) {
		mu.Lock()
		defer mu.Unlock()
		lines = append(lines, line)
		switch {
		case strings.HasPrefix(line, "started: "):
			open++
		case strings.HasPrefix(line, "finished: "):
			open--
		}
		most = max(most, open)
	}
	hub, err := cluster.OpenHub(t.Context(), dir, "127.0.0.1:0", cluster.Options{Version: "test", Notice: tell})
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 3) // a worker each
	for range cap(ended) {
		go func() {
			ended <- cluster.Work(t.Context(), cluster.WorkerOptions{
				Join:    filepath.Join(dir, cluster.Folder, cluster.JoinFile),
				Version: "test", Workers: 1,
			})
		}()
	}
	got := map[*Job][]byte{}
	f := &Fleet{
		Hub: hub, Tell: tell,
		Work: func() workdir.Options {
			return workdir.Options{Launcher: workdir.InProcess(plugins.Builtin()), Workers: 1}
		},
		Done: func(j *Job, m *Metrics) error {
			got[j] = untimed(t, m)
			return nil
		},
	}
	err = f.Run(t.Context(), jobs)
	hub.Close(err == nil)
	if err != nil {
		t.Fatal(err)
	}
	for range cap(ended) {
		if err := <-ended; err != nil {
			t.Error(err)
		}
	}
	others, _, err := Plan(t.Context(), smallCells(), o, t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for i, m := range runAll(t, others) {
		if want := untimed(t, m); !bytes.Equal(got[jobs[i]], want) {
			t.Errorf("%s, seed %d: with a hub\n%s\nalone\n%s", jobs[i].Training.Key, jobs[i].Seed, got[jobs[i]], want)
		}
	}
	if most < 2 {
		t.Errorf("no two studies ran at a time: %q", lines)
	}
}
