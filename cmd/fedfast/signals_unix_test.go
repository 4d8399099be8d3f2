//go:build unix

package main

import (
	"bytes"
	"context"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// TestTwoSignalsEndTheProcess: whatever fedfast does, the second SIGTERM or
// interrupt ends it at once.
func TestTwoSignalsEndTheProcess(t *testing.T) {
	t.Parallel()
	asked := make(chan struct{}, 100)
	silent := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		asked <- struct{}{}
		<-r.Context().Done()
	}))
	defer silent.Close()
	hanging := filepath.Join(t.TempDir(), "fedfast-tuner-hangs")
	script := "#!/bin/sh\n: > \"$0.started\"\nexec sleep 1000\n"
	if err := os.WriteFile(hanging, []byte(script), 0o700); err != nil { //nolint:gosec // it is started
		t.Fatal(err)
	}
	long := []string{"run", "--preset", "fashion-fedex", "--set", "client.steps=2000000000", "--study", "study"}
	inStudy := func(name string) func(*process) bool {
		return func(p *process) bool { return has(filepath.Join(p.cmd.Dir, "study", name)) }
	}
	tests := []struct {
		name   string
		args   []string
		unread bool // nobody reads stderr, and it is full
		begun  func(*process) bool
	}{
		{"a long round", long, false, func(p *process) bool { return strings.Contains(p.stderr.String(), "estimate: ") }},
		{
			"a long round of a study", append([]string{"tune"}, long[1:]...), false,
			func(p *process) bool { return strings.Contains(p.stderr.String(), "estimate: ") },
		},
		{"a line that nobody reads", long, true, inStudy("study.db")},
		{"opening data", []string{
			"run", "--preset", "fashion-fedex", "--set", "data.name=glyphs", "--set",
			"data.clients=15000", "--set", "data.samples=100",
		}, false, func(*process) bool {
			time.Sleep(time.Second) // it tells nothing before the data is open, which takes many
			return true
		}},
		{
			"fetching data",
			[]string{"data", "fetch", "mnist", "--mirror", silent.URL, "--stall", "1h"},
			false,
			func(*process) bool { <-asked; return true },
		},
		{
			"a tuner that hangs",
			[]string{"tuner", "check", hanging},
			false,
			func(*process) bool { return has(hanging + ".started") },
		},
	}
	for _, tt := range tests {
		for _, signal := range []syscall.Signal{syscall.SIGTERM, syscall.SIGINT} {
			t.Run(tt.name+" and "+signal.String(), func(t *testing.T) {
				_ = os.Remove(hanging + ".started") // of the case before
				p := start(t, tt.unread, tt.args...)
				if !p.until(tt.begun) {
					t.Fatalf("it has ended (%v) and wrote %q", p.cmd.ProcessState, p.stderr.String())
				}
				_ = p.cmd.Process.Signal(signal)
				if tt.unread {
					time.Sleep(100 * time.Millisecond) // two pending signals are one
				} else {
					p.until(func(p *process) bool {
						return strings.Contains(p.stderr.String(), "fedfast: stopping after this round; ")
					})
				}
				_ = p.cmd.Process.Signal(signal) // it may have ended
				select {
				case <-p.ended:
				case <-time.After(time.Minute):
					t.Fatalf("it works on; stderr is %q", p.stderr.String())
				}
				code, told := p.cmd.ProcessState.ExitCode(), p.stderr.String()
				if first := code == 1 && strings.Contains(told, "\nfedfast: interrupted"); code != 130 && !first {
					t.Errorf("%v, stderr is %q", p.cmd.ProcessState, told)
				}
			})
		}
	}
}

// TestBenchThatEndsEarly wants the rows that were measured: of an interrupt printed and in
// every file, of a kill in the report.
func TestBenchThatEndsEarly(t *testing.T) {
	t.Parallel()
	for _, signal := range []syscall.Signal{syscall.SIGINT, syscall.SIGKILL} {
		p := start(t, false, "bench", "--suite", "nn", "--model", "logistic,pfllib-cnn,leaf-char-lstm,logistic",
			"--batch", "16", "--report", "report.json", "--markdown", "page.md")
		if !p.until(func(p *process) bool { return strings.Contains(p.stderr.String(), "\nnn 3/4: ") }) {
			t.Fatalf("it has ended (%v) and wrote %q", p.cmd.ProcessState, p.stderr.String())
		}
		_ = p.cmd.Process.Signal(signal)
		<-p.ended
		report, err := os.ReadFile(filepath.Join(p.cmd.Dir, "report.json"))
		if rows := bytes.Count(report, []byte(`"name": "`)); err != nil || rows < 2 || rows > 3 { // the third may end
			t.Errorf("%v: error %v, report %s", signal, err, report)
		}
		page, err := os.ReadFile(filepath.Join(p.cmd.Dir, "page.md"))
		if interrupted := signal == syscall.SIGINT; interrupted != (err == nil) ||
			interrupted != bytes.Contains(page, []byte("\n| nn | pfllib-cnn ")) ||
			interrupted != strings.Contains(p.stdout.String(), " pfllib-cnn ") || p.cmd.ProcessState.Success() {
			t.Errorf("%v: %v, page %q, stdout %q", signal, p.cmd.ProcessState, page, p.stdout.String())
		}
	}
}

func has(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// process is fedfast at work.
type process struct {
	t              *testing.T
	cmd            *exec.Cmd
	stdout, stderr text
	ended          chan struct{}
}

// text is what a process wrote.
type text struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (x *text) Write(p []byte) (int, error) {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.b.Write(p)
}

func (x *text) String() string {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.b.String()
}

// start starts fedfast in a folder of its own; its stderr is kept, or a pipe with
// room for what comes before its work, which nobody reads.
func start(t *testing.T, unread bool, args ...string) *process {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	t.Cleanup(cancel)
	p := &process{t: t, cmd: exec.CommandContext(ctx, "fedfast", args...), ended: make(chan struct{})}
	p.cmd.Dir = t.TempDir()
	p.cmd.Stdout, p.cmd.Stderr = &p.stdout, &p.stderr
	if unread {
		r, w, err := os.Pipe()
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _, _ = r.Close(), w.Close() })
		fill(t, w)
		p.cmd.Stderr = w
	}
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		_ = p.cmd.Wait() // ProcessState tells
		close(p.ended)
	}()
	t.Cleanup(func() {
		cancel()
		<-p.ended
	})
	return p
}

// fill writes to a pipe until nothing more fits.
func fill(t *testing.T, w *os.File) {
	t.Helper()
	if err := w.SetWriteDeadline(time.Now().Add(time.Second)); err != nil {
		t.Fatal(err)
	}
	for chunk := make([]byte, 1<<10); ; {
		if _, err := w.Write(chunk); err != nil {
			return // it is full
		}
	}
}

// until waits until something holds, and says whether it does so before the end.
func (p *process) until(holds func(*process) bool) bool {
	for !holds(p) {
		select {
		case <-p.ended:
			return false
		case <-time.After(10 * time.Millisecond):
		}
	}
	return true
}
