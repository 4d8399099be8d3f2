package host_test

import (
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/fedfast/fedfast/internal/rules"
	"github.com/fedfast/fedfast/tuners/host"
)

// script writes an external tuner that is a shell script.
func script(t *testing.T, dir, name, body string, mode os.FileMode) string {
	t.Helper()
	if runtime.GOOS == "windows" {
		t.Skip("needs a POSIX shell")
	}
	path := filepath.Join(dir, host.Prefix+name)
	if err := os.WriteFile(path, []byte(body), mode); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestFind(t *testing.T) {
	first, second := t.TempDir(), t.TempDir()
	script(t, second, "mine", "#!/bin/sh\n", 0o755)
	script(t, second, "fake", "#!/bin/sh\nexit 1\n", 0o755)
	shadow := script(t, first, "mine", "no program", 0o644)
	p := selfPaths(t, first, second)

	mine, err := host.Find("mine", p)
	if err != nil || mine.Path != filepath.Join(second, host.Prefix+"mine") || len(mine.SHA256) != 64 || mine.Builtin {
		t.Errorf("got %+v, %v", mine, err)
	}
	if r, err := host.Find("fake", p); err != nil || r.Builtin {
		t.Errorf("an external tuner does not replace the built-in: %+v, %v", r, err)
	}
	if r, err := host.Find("mute", p); err != nil || !r.Builtin || r.Args[len(r.Args)-1] != "mute" {
		t.Errorf("got %+v, %v", r, err)
	}

	_, err = host.Find("unheard", p)
	oneLine(t, err, `tuner "unheard": not found; looked for `+host.Prefix+"unheard in "+first+", "+second,
		"built in: fake, liar, mute")
	if !errors.Is(err, host.ErrNotFound) {
		t.Error("it does not wrap ErrNotFound")
	}
	if err := os.Remove(filepath.Join(second, host.Prefix+"mine")); err != nil {
		t.Fatal(err)
	}
	_, err = host.Find("mine", p)
	oneLine(t, err, "skipped: "+shadow+" is not executable")
	_, err = host.Find("../evil", p)
	oneLine(t, err, "lowercase letters")
	script(t, second, "snake.py", "#!/usr/bin/env python3\n", 0o755)
	_, err = host.Find("snake", p)
	oneLine(t, err, "skipped: "+filepath.Join(second, host.Prefix+"snake.py")+" must be named "+host.Prefix+"snake")
	dangling := filepath.Join(second, host.Prefix+"dangling")
	if err := os.Symlink("/nowhere/tuner", dangling); err != nil {
		t.Fatal(err)
	}
	_, err = host.Find("dangling", p)
	oneLine(t, err, "skipped: "+dangling+" is a link to /nowhere/tuner, which does not exist")
}

func TestDefaultPathsInOrder(t *testing.T) {
	a, b, data := t.TempDir(), t.TempDir(), t.TempDir()
	t.Setenv("FEDFAST_TUNER_DIR", a+string(os.PathListSeparator)+b)
	t.Setenv("XDG_DATA_HOME", data)
	p, err := host.DefaultPaths([]string{"sha", "fedex"}, "given")
	if err != nil {
		t.Fatal(err)
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"given", a, b, filepath.Join(data, "fedfast", "tuners"), filepath.Dir(self)}
	if strings.Join(p.Dirs, " ") != strings.Join(want, " ") {
		t.Errorf("got %v, want %v", p.Dirs, want)
	}
	if strings.Join(p.Serve, " ") != self+" tuner serve" || strings.Join(p.Builtin, " ") != "fedex sha" {
		t.Errorf("got %+v", p)
	}
}

func TestBadProgramsAreNamedInOneLine(t *testing.T) {
	dir := t.TempDir()
	for _, c := range []struct {
		name, body string
		want       []string
	}{
		{"quitter", "#!/bin/sh\necho 'no licence' >&2\nexit 3\n", []string{
			"exited immediately (exit status 3)",
			"output: no licence",
		}},
		{"quiet", "#!/bin/sh\nexit 0\n", []string{"exited immediately (exit status 0)"}},
		{
			"chatty", "#!/bin/sh\necho hello world\nexec sleep 30\n",
			[]string{`printed "hello world" instead of the plugin handshake`},
		},
		{
			"old", "#!/bin/sh\necho '1|7|unix|/nowhere|grpc|'\nexec sleep 30\n",
			[]string{"incompatible API version with plugin. Plugin version: 7"},
		},
		{
			"ghost", "#!/bin/sh\necho '1|1|unix|/nowhere|grpc|'\nexec sleep 30\n",
			[]string{"completed the handshake but cannot be reached"},
		},
		{"sleeper", "#!/bin/sh\nexec sleep 30\n", []string{"did not complete the handshake within 700ms"}},
		{"text", "this is no program\n", []string{"is a script without an interpreter"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			script(t, dir, c.name, c.body, 0o755)
			ref, err := host.Find(c.name, host.Paths{Dirs: []string{dir}})
			if err != nil {
				t.Fatal(err)
			}
			begin, o := time.Now(), host.Options{Logger: slog.New(slog.DiscardHandler)}
			if c.name == "sleeper" {
				o.StartTimeout = 700 * time.Millisecond
			}
			_, err = host.Launch(t.Context(), ref, o)
			oneLine(t, err, append(c.want, `tuner "`+c.name+`": `)...)
			if d := time.Since(begin); d > 8*time.Second {
				t.Errorf("it took %v to say so", d)
			}
		})
	}
}

func TestAChangedProgramIsNotStarted(t *testing.T) {
	dir := t.TempDir()
	script(t, dir, "x", "#!/bin/sh\n", 0o755)
	ref, err := host.Find("x", host.Paths{Dirs: []string{dir}})
	if err != nil {
		t.Fatal(err)
	}
	script(t, dir, "x", "#!/bin/sh\n# changed\n", 0o755)
	_, err = host.Launch(t.Context(), ref, host.Options{Logger: slog.New(slog.DiscardHandler)})
	oneLine(t, err, `tuner "x": program changed since it was found`)
}

func TestAWrongNameIsRefused(t *testing.T) {
	ref, err := host.Find("liar", selfPaths(t))
	if err != nil {
		t.Fatal(err)
	}
	_, err = host.Launch(t.Context(), ref, host.Options{Logger: slog.New(slog.DiscardHandler)})
	oneLine(t, err, `tuner "liar"`, `its name is "someone-else", want "liar"`)
	if !errors.Is(err, rules.ErrBadAnswer) {
		t.Error("it does not wrap ErrBadAnswer")
	}
}

func TestList(t *testing.T) {
	first, second := t.TempDir(), t.TempDir()
	script(t, first, "zero", "#!/bin/sh\nexit 0\n", 0o755)
	script(t, second, "zero", "#!/bin/sh\nexit 0\n", 0o755)
	script(t, second, "mute", "#!/bin/sh\nexit 0\n", 0o755)
	p := selfPaths(t, first, second, first)
	p.Builtin = []string{"fake", "mute"}
	var got []string
	for _, e := range host.List(t.Context(), p, host.Options{Logger: slog.New(slog.DiscardHandler)}) {
		if e.Skipped == "" && (e.Description.Version != "9" || len(e.SHA256) != 64) {
			t.Errorf("%+v", e)
		}
		got = append(got, e.Name+": "+e.Skipped)
	}
	want := []string{
		"fake: ",
		`mute: tuner "mute": exited immediately (exit status 0)`,
		"mute: replaced by " + filepath.Join(second, host.Prefix+"mute"),
		`zero: tuner "zero": exited immediately (exit status 0)`,
		"zero: hidden by " + filepath.Join(first, host.Prefix+"zero"),
	}
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}
