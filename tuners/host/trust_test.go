//go:build unix

package host_test

import (
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"testing"

	"github.com/fedfast/fedfast/tuners/host"
)

func TestWhatOthersCouldChangeIsRefused(t *testing.T) {
	for _, c := range []struct {
		name  string
		spoil func(outer, inner string) error // what is done to outer/inner/fedfast-tuner-mine and tuner.py beside it
		want  string
	}{
		{"nothing", func(string, string) error { return nil }, ""},
		{
			"a folder above", func(outer, _ string) error { return os.Chmod(outer, 0o777) },
			"outer is world-writable, so anyone could put programs there",
		},
		{"a group's folder", func(_, inner string) error {
			return errors.Join(os.Chown(inner, -1, 12345),
				os.Chmod(inner, 0o775))
		}, "inner is group-writable, so group 12345"},
		{
			"another's folder", func(outer, _ string) error { return os.Chown(outer, 12345, -1) },
			"outer belongs to user 12345",
		},
		{"another's program", func(_, inner string) error {
			return os.Chown(filepath.Join(inner, "fedfast-tuner-mine"), 12345,
				-1)
		}, "fedfast-tuner-mine belongs to user 12345"},
		{
			"a source beside it", func(_, inner string) error { return os.Chmod(filepath.Join(inner, "tuner.py"), 0o666) },
			"tuner.py is world-writable",
		},
		{"a folder behind a link", func(_, inner string) error {
			far := filepath.Join(filepath.Dir(inner), "far")
			mine := filepath.Join(inner, "fedfast-tuner-mine")
			return errors.Join(os.Mkdir(far, 0o755), os.Rename(mine, filepath.Join(far, "mine")),
				os.Symlink("../far/mine", mine), os.Chmod(far, 0o777))
		}, "far is world-writable"},
	} {
		t.Run(c.name, func(t *testing.T) {
			outer := filepath.Join(t.TempDir(), "outer")
			inner := filepath.Join(outer, "inner")
			if err := os.MkdirAll(inner, 0o755); err != nil {
				t.Fatal(err)
			}
			script(t, inner, "mine", "#!/bin/sh\n", 0o755)
			if err := os.WriteFile(filepath.Join(inner, "tuner.py"), nil, 0o600); err != nil {
				t.Fatal(err)
			}
			if err := c.spoil(outer, inner); err != nil {
				t.Skip("only root can: ", err)
			}
			_, err := host.Find("mine", host.Paths{Dirs: []string{inner}})
			if c.want == "" {
				if err != nil {
					t.Error(err)
				}
				return
			}
			oneLine(t, err, c.want)
		})
	}
}

func TestTheChecksumCoversWhatAScriptLoads(t *testing.T) {
	dir := t.TempDir()
	script(t, dir, "mine", "#!/bin/sh\n", 0o755)
	paths := host.Paths{Dirs: []string{dir}}
	alone, err := host.Find("mine", paths)
	if err != nil {
		t.Fatal(err)
	}
	write := func(name, text string) {
		t.Helper()
		full := filepath.Join(dir, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(full), 0o755), os.WriteFile(full, []byte(text), 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	sums := map[string]string{alone.SHA256: "nothing"}
	for _, c := range []struct {
		name   string
		counts bool
	}{
		{"tuner.py", true},
		{"pkg/wire.py", true},
		{"README.md", false},
		{"__pycache__/tuner.py", false},
		{".git/hook.sh", false},
		{"runs/study.db", false},
		{"runs/odd.py", false},
	} {
		write(c.name, c.name)
		ref, err := host.Find("mine", paths)
		if err != nil {
			t.Fatal(err)
		}
		if _, known := sums[ref.SHA256]; known == c.counts {
			t.Errorf("%s: the checksum is new: %t, want %t", c.name, !known, c.counts)
		}
		sums[ref.SHA256] = c.name
	}
	ref, err := host.Find("mine", paths)
	if err != nil {
		t.Fatal(err)
	}
	write("pkg/wire.py", "changed")
	_, err = host.Launch(t.Context(), ref, host.Options{Logger: slog.New(slog.DiscardHandler)})
	oneLine(t, err, "program changed since it was found")
}
