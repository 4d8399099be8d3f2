package wholefile

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

func read(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func TestFileIsWholeOrAsBefore(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "a.json")
	for _, text := range []string{"first", "second"} {
		if err := Write(path, []byte(text), 0o644); err != nil || read(t, path) != text {
			t.Fatalf("wrote %q: %v", text, err)
		}
	}
	broken := errors.New("the disk is full")
	err := Stream(path, 0o644, func(w io.Writer) error {
		_, err := io.WriteString(w, "hal")
		return errors.Join(err, broken)
	})
	if !errors.Is(err, broken) || read(t, path) != "second" {
		t.Errorf("half a file: error %v, and it holds %q", err, read(t, path))
	}
	if err := Write(filepath.Join(dir, "none", "a.json"), nil, 0o644); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("no folder: error %v", err)
	}
	if entries, err := os.ReadDir(dir); err != nil || len(entries) != 1 {
		t.Errorf("%v, %v are left", entries, err)
	}
}

func TestLinksAndDevicesStay(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("links need rights there")
	}
	dir := t.TempDir()
	path, link := filepath.Join(dir, "a"), filepath.Join(dir, "link")
	if err := errors.Join(os.WriteFile(path, nil, 0o600), os.Symlink("a", link),
		Write(link, []byte("new"), 0o644)); err != nil {
		t.Fatal(err)
	}
	if to, err := os.Readlink(link); err != nil || to != "a" || read(t, path) != "new" {
		t.Errorf("the link leads to %q, %v, the file holds %q", to, err, read(t, path))
	}
	if err := Write(os.DevNull, []byte("x"), 0o644); err != nil {
		t.Error(err)
	}
	if info, err := os.Stat(os.DevNull); err != nil || info.Mode().IsRegular() {
		t.Errorf("the device became %v, %v", info, err)
	}
}

func TestClearRemovesPartsOnly(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{".a.json123", "a.json", ".a.json", ".a.json12x", ".b1"} {
		if err := os.WriteFile(filepath.Join(dir, name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := Clear(dir, "a.json"); err != nil {
		t.Fatal(err)
	}
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) != 4 || entries[0].Name() != ".a.json" {
		t.Errorf("%v, %v are left", entries, err)
	}
	if err := Clear(dir); err != nil {
		t.Fatal(err)
	}
	if entries, err = os.ReadDir(dir); err != nil || len(entries) != 3 {
		t.Errorf("after all: %v, %v are left", entries, err)
	}
}

func TestFolderMakesAllAbove(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "a", "b")
	for range 2 {
		if err := Folder(path); err != nil {
			t.Fatal(err)
		}
	}
	if info, err := os.Stat(path); err != nil || !info.IsDir() {
		t.Errorf("made %v, %v", info, err)
	}
	file := filepath.Join(dir, "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{file, filepath.Join(file, "below")} {
		if err := Folder(path); err == nil || !strings.Contains(err.Error(), file) {
			t.Errorf("%s: got %v", path, err)
		}
	}
}
