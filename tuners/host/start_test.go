package host_test

import (
	"debug/elf"
	"encoding/binary"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/fedfast/fedfast/tuners/host"
)

// at finds a tuner that is the program of a file's content.
func at(t *testing.T, content string) host.Ref {
	t.Helper()
	dir := t.TempDir()
	script(t, dir, "made", content, 0o755)
	ref, err := host.Find("made", host.Paths{Dirs: []string{dir}})
	if err != nil {
		t.Fatal(err)
	}
	return ref
}

// elfHeader is the beginning of a program for a processor.
func elfHeader(m elf.Machine) string {
	head := make([]byte, 64)
	copy(head, elf.ELFMAG)
	head[elf.EI_CLASS], head[elf.EI_DATA], head[elf.EI_VERSION] = byte(elf.ELFCLASS64), byte(elf.ELFDATA2LSB),
		byte(elf.EV_CURRENT)
	for at, x := range map[int]uint16{
		16: uint16(elf.ET_EXEC), 18: uint16(m), 20: uint16(elf.EV_CURRENT), 52: 64, 54: 56,
		58: 64,
	} {
		binary.LittleEndian.PutUint16(head[at:], x)
	}
	return string(head)
}

func TestAStartThatFailsIsExplained(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("scripts and programs of ELF")
	}
	here := runtime.GOOS + "/" + runtime.GOARCH
	for name, c := range map[string]struct {
		content string
		words   []string
	}{
		"other processor": {elfHeader(elf.EM_S390), []string{
			"cannot be started: ",
			"is built for linux/s390x, this machine is " + here,
		}},
		"damaged program":   {elf.ELFMAG + "and nothing more", []string{"is a damaged executable"}},
		"Windows":           {"MZ\x90\x00\x03", []string{"is built for windows, this machine is " + here}},
		"macOS":             {"\xcf\xfa\xed\xfe\x07\x00", []string{"is built for darwin, this machine is " + here}},
		"no interpreter":    {"echo hello\n", []string{"is a script without an interpreter", "#!/usr/bin/env python3"}},
		"empty interpreter": {"#! \necho hello\n", []string{"has no interpreter after #!"}},
		"missing interpreter": {
			"#!/opt/none/python9 -u\nprint()\n",
			[]string{`needs the interpreter "/opt/none/python9" of its first line, which does not exist`},
		},
		"Windows' line endings": {"#!/bin/sh\r\nexit 0\r\n", []string{"has Windows line endings"}},
		"line endings of env":   {"#!/usr/bin/env sh\r\nexit 0\r\n", []string{"has Windows line endings"}},
		"a byte order mark":     {"\xef\xbb\xbf#!/bin/sh\nexit 0\n", []string{"begins with a byte order mark"}},
		"anything":              {"\x00\x01\x02", []string{"is not a program for " + here}},
		"empty":                 {"", []string{"is empty"}},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := host.Launch(t.Context(), at(t, c.content), host.Options{Logger: slog.New(slog.DiscardHandler)})
			oneLine(t, err, append(c.words, `tuner "made"`)...)
		})
	}
}

// TestAnExitStatusIsItsOwn starts a tuner that ends at once, often: whoever notices
// first must not kill it before it has ended.
func TestAnExitStatusIsItsOwn(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("scripts")
	}
	ref := at(t, "#!/bin/sh\nexec >&-\nsleep 0.05\necho python4 is not there >&2\nexit 127\n")
	for range 10 {
		_, err := host.Launch(t.Context(), ref, host.Options{Logger: slog.New(slog.DiscardHandler)})
		oneLine(t, err, "exited immediately (exit status 127); output: python4 is not there")
	}
}

func TestLastWordsWithoutANewline(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("scripts")
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	log := &journal{}
	p, err := host.Launch(t.Context(), at(t, "#!/bin/sh\n"+self+" serve made\nprintf 'these are the last words'\n"),
		host.Options{Logger: slog.New(slog.NewTextHandler(log, nil))})
	if err != nil {
		t.Fatal(err)
	}
	p.Close()
	eventually(t, "its last words", func() bool { return log.has(`msg="these are the last words" tuner=made`) })
}

// TestCloseDoesNotWaitForAStart closes a tuner while its process, which was lost, is
// being started again and does not come.
func TestCloseDoesNotWaitForAStart(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("scripts")
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	once, again := filepath.Join(dir, "once"), filepath.Join(dir, "again")
	p, err := host.Launch(t.Context(), at(t, "#!/bin/sh\n[ -e "+once+" ] && touch "+again+" && exec sleep 600\ntouch "+
		once+"\nexec "+self+" serve made\n"),
		host.Options{StartTimeout: time.Minute, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	s, err := p.Open(t.Context(), request)
	if err != nil {
		t.Fatal(err)
	}
	kill(t, p.PID())
	failed := make(chan error, 1)
	go func() {
		_, err := s.Suggest(t.Context(), 1)
		failed <- err
	}()
	eventually(t, "another start", func() bool { _, err := os.Stat(again); return !errors.Is(err, os.ErrNotExist) })
	begin := time.Now()
	p.Close()
	if err := <-failed; err == nil || !strings.Contains(err.Error(), "is closed") {
		t.Errorf("the call meanwhile: %v", err)
	}
	if took := time.Since(begin); took > 30*time.Second {
		t.Errorf("closing took %v", took)
	}
}
