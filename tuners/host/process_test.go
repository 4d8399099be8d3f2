package host_test

import (
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/fedfast/fedfast/tuners"
	"github.com/fedfast/fedfast/tuners/host"
)

func TestATemporaryFolderThatCannotBeUsed(t *testing.T) {
	dir, err := os.MkdirTemp("/tmp", "ff") //nolint:usetesting // a socket's path must be short
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	t.Setenv("TMPDIR", dir)
	want := []string{
		`tuner "good"`, "temporary directory " + dir + " is not usable", "no such file or directory",
		"set TMPDIR",
	}
	p := launchRogue(t, "good", host.Options{Restarts: 1})
	if err := os.RemoveAll(dir); err != nil {
		t.Fatal(err)
	}
	calls := 0
	said, err := search(t.Context(), p, func() {
		if calls++; calls == 4 {
			kill(t, p.PID())
		}
	})
	oneLine(t, err, append(want, "2 times in a row")...)
	if strings.Count(said, "\n") != 2 {
		t.Errorf("before it was killed, and could not start again, it decided\n%s", said)
	}
	_, err = host.Launch(t.Context(), rogueRef(t, "good"), host.Options{Logger: slog.New(slog.DiscardHandler)})
	oneLine(t, err, want...)
}

// TestWhatATunerStartedEndsWithIt is about processes that leave the tuner's group
// and hold its output open.
func TestWhatATunerStartedEndsWithIt(t *testing.T) {
	if _, err := os.Stat("/proc/self/environ"); err != nil {
		t.Skip("nothing tells which processes a tuner has started")
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for _, how := range []string{"closed", "killed"} {
		t.Run(how, func(t *testing.T) {
			dir, said := t.TempDir(), &journal{}
			pids := filepath.Join(dir, "pids")
			script(t, dir, "good", "#!/bin/sh\nfor i in 1 2; do setsid sleep 600 & echo $! >> "+pids+"; done\nexec "+self+
				" rogue good\n", 0o755)
			ref, err := host.Find("good", host.Paths{Dirs: []string{dir}})
			if err != nil {
				t.Fatal(err)
			}
			p, err := host.Launch(t.Context(), ref, host.Options{Logger: slog.New(slog.NewTextHandler(said, nil))})
			if err != nil {
				t.Fatal(err)
			}
			if got, err := search(t.Context(), p, func() {}); err != nil || strings.Count(got, "\n") != 6 {
				t.Errorf("%v after %s", err, got)
			}
			if how == "killed" {
				kill(t, p.PID())
			}
			p.Close()
			text, err := os.ReadFile(pids)
			if err != nil {
				t.Fatal(err)
			}
			if strings.Count(string(text), "\n") != 2 {
				t.Fatalf("it started %q", text)
			}
			for line := range strings.Lines(string(text)) {
				pid, err := strconv.Atoi(strings.TrimSpace(line))
				if err != nil {
					t.Fatal(err)
				}
				eventually(t, "the end of process "+line, func() bool { return gone(pid) })
			}
			if said.has("ERROR") {
				t.Errorf("the log says %s", &said.text)
			}
		})
	}
}

func TestATunerGetsNoSecrets(t *testing.T) {
	t.Setenv("AWS_SECRET_ACCESS_KEY", "secret")
	t.Setenv("FF_MINE", "secret, too")
	t.Setenv("FF_ALSO_MINE", "wanted")
	t.Setenv(host.PassEnv, "FF_OTHER,FF_ALSO_MINE")
	t.Setenv("PYTHONPATH", "/py")
	t.Setenv("LC_ALL", "C")
	t.Setenv("OMP_NUM_THREADS", "1")
	t.Setenv("FEDFAST_CPU", "generic")
	t.Setenv(tuners.DebugEnv, "1")
	dir := t.TempDir()
	file := filepath.Join(dir, "env")
	script(t, dir, "curious", "#!/bin/sh\nenv > "+file+"\n", 0o755)
	ref, err := host.Find("curious", host.Paths{Dirs: []string{dir}})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := host.Launch(t.Context(), ref, host.Options{
		Env:    []string{"FF_MINE=given"},
		Logger: slog.New(slog.DiscardHandler),
	}); err == nil {
		t.Fatal("it was launched")
	}
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(string(text), "\n")
	for _, want := range []string{
		"FF_MINE=given", "FF_ALSO_MINE=wanted", "PYTHONPATH=/py", "LC_ALL=C", "OMP_NUM_THREADS=1", "FEDFAST_CPU=generic",
		"PATH=" + os.Getenv("PATH"),
		"FEDFAST_TUNER_COOKIE=fedfast.tuner.v1", tuners.WatchStdin + "=1",
	} {
		if !slices.Contains(lines, want) {
			t.Errorf("it does not get %s", want)
		}
	}
	for _, never := range []string{"AWS_SECRET_ACCESS_KEY=", tuners.DebugEnv + "=", "FF_OTHER="} {
		if strings.Contains(string(text), never) {
			t.Errorf("it gets %s", never)
		}
	}
}
