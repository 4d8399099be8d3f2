package host_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"
	"unicode"

	"github.com/fedfast/fedfast/internal/rules"
	"github.com/fedfast/fedfast/tuners"
	"github.com/fedfast/fedfast/tuners/host"
	"go.uber.org/goleak"
)

// rogueRef is a tuner of package rogue, served by this binary.
func rogueRef(t testing.TB, mode string) host.Ref {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	ref, err := host.Find(mode, host.Paths{Builtin: []string{mode}, Serve: []string{self, "rogue"}})
	if err != nil {
		t.Fatal(err)
	}
	return ref
}

func launchRogue(t testing.TB, mode string, o host.Options) *host.Plugin {
	t.Helper()
	if o.Backoff == 0 {
		o.Backoff = time.Millisecond
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	p, err := host.Launch(t.Context(), rogueRef(t, mode), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Close)
	return p
}

// search plays a study of five trials; before is called before each call of the
// tuner.
func search(ctx context.Context, t tuners.Tuner, before func()) (string, error) {
	s, err := t.Open(ctx, tuners.OpenRequest{
		Study: "faults", Space: space, Seed: 3, Trial: tuners.StudySession,
		Budget: tuners.Budget{Rounds: 10, TrialRounds: 2},
	})
	if err != nil {
		return "", err
	}
	var said strings.Builder
	for {
		before()
		decisions, err := s.Suggest(ctx, 1)
		if err != nil {
			return said.String(), err
		}
		for _, d := range decisions {
			fmt.Fprintf(&said, "%+v\n", d)
			if d.Kind == tuners.Done {
				return said.String(), s.Close(ctx)
			}
			before()
			if err := s.Report(ctx, tuners.TrialReport{Trial: d.Trial, Round: d.ToRound, Score: d.Params.Float("client.n",
				0)}); err != nil {
				return said.String(), err
			}
		}
	}
}

func kill(t *testing.T, pid int) {
	t.Helper()
	p, err := os.FindProcess(pid)
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Kill(); err != nil {
		t.Fatal(err)
	}
}

func TestKilledAtEveryCallItDecidesTheSame(t *testing.T) {
	want, err := search(t.Context(), launchRogue(t, "good", host.Options{}), func() {})
	if err != nil || strings.Count(want, "\n") != 6 {
		t.Fatal(want, err)
	}
	t.Run("before the call", func(t *testing.T) {
		p, kills := launchRogue(t, "good", host.Options{}), 0
		got, err := search(t.Context(), p, func() {
			if pid := p.PID(); pid != 0 {
				kills++
				kill(t, pid)
			}
		})
		if err != nil || got != want {
			t.Errorf("%v: got\n%swant\n%s", err, got, want)
		}
		if kills != 11 || p.Restarts() != kills {
			t.Errorf("%d kills and %d restarts, want 11", kills, p.Restarts())
		}
	})
	t.Run("during the call", func(t *testing.T) {
		p := launchRogue(t, "good", host.Options{})
		done := make(chan struct{})
		var calls atomic.Int64
		got, err := search(t.Context(), p, func() {
			pid := p.PID()
			if pid == 0 {
				return
			}
			n := calls.Add(1)
			go func() {
				time.Sleep(time.Duration(n) * 20 * time.Microsecond)
				if q, err := os.FindProcess(pid); err == nil {
					_ = q.Kill()
				}
				done <- struct{}{}
			}()
		})
		for range calls.Load() {
			<-done
		}
		if err != nil || got != want {
			t.Errorf("%v: got\n%swant\n%s", err, got, want)
		}
		if p.Restarts() == 0 {
			t.Error("no kill met a call")
		}
	})
}

func TestBadAnswersAreNamed(t *testing.T) {
	for _, c := range []struct {
		mode string
		is   error
		want []string
	}{
		{"nan", rules.ErrBadAnswer, []string{"bad answer to Suggest", "client.n = NaN is outside [0, 1000]"}},
		{"outside", rules.ErrBadAnswer, []string{"client.n = 1e+09 is outside [0, 1000]"}},
		{"stranger", rules.ErrBadAnswer, []string{"resume: trial 77 does not exist"}},
		{"huge", tuners.ErrTooLarge, []string{"response is too large: a state has at most 16777216 bytes"}},
		{"severed", host.ErrLost, []string{"process exited during Suggest", "3 times in a row"}},
		{"hang", host.ErrLost, []string{"no response to Suggest within 1s, 3 times in a row"}},
	} {
		t.Run(c.mode, func(t *testing.T) {
			t.Parallel()
			o := host.Options{Restarts: 2}
			if c.mode == "hang" {
				o.CallTimeout = time.Second
			}
			p := launchRogue(t, c.mode, o)
			said, err := search(t.Context(), p, func() {})
			oneLine(t, err, append(c.want, `tuner "`+c.mode+`": `)...)
			if !errors.Is(err, c.is) {
				t.Errorf("%v does not wrap %v", err, c.is)
			}
			if strings.Count(said, "\n") != 2 {
				t.Errorf("two decisions were good, kept are\n%s", said)
			}
			if errors.Is(c.is, tuners.ErrTooLarge) && p.Restarts() != 0 {
				t.Errorf("%d restarts for an answer that is no better the second time", p.Restarts())
			}
		})
	}
}

// TestWhatATunerSaysFitsALine is about texts of a megabyte that would also clear
// the terminal's screen.
func TestWhatATunerSaysFitsALine(t *testing.T) {
	for _, c := range []struct{ mode, want string }{
		{
			"loud",
			`invalid description: bad answer: its version has 1048580 characters, at most 100 are allowed: "\\x1b[2JA A A`,
		},
		{"loud-error", `\x1b[2JA A A`},
		{"loud-panic", `process exited during Suggest`},
		{"loud-param", `bad answer to Suggest: decision 0, start: trial 2: `},
	} {
		t.Run(c.mode, func(t *testing.T) {
			p, err := host.Launch(t.Context(), rogueRef(t, c.mode), host.Options{
				Restarts: 1, Backoff: time.Millisecond,
				Logger: slog.New(slog.DiscardHandler),
			})
			if err == nil {
				t.Cleanup(p.Close)
				_, err = search(t.Context(), p, func() {})
			}
			oneLine(t, err, c.want)
			if err != nil && (len(err.Error()) > 2000 || strings.ContainsFunc(err.Error(), unicode.IsControl)) {
				t.Errorf("%d bytes: %.300q", len(err.Error()), err)
			}
		})
	}
}

func TestASessionThatIsClosedStaysClosed(t *testing.T) {
	p := launchRogue(t, "good", host.Options{})
	s, err := p.Open(t.Context(), tuners.OpenRequest{
		Study: "faults", Space: space, Trial: tuners.StudySession,
		Budget: tuners.Budget{Rounds: 10, TrialRounds: 2},
	})
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := s.Close(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	_, err = s.Suggest(t.Context(), 1)
	oneLine(t, err, `tuner "good": session is closed`)
}

// A tuner that does not close its session is killed after two seconds, not after the
// time of a call, and one that does not describe itself says so.
func TestTunersThatHangAtTheirEnds(t *testing.T) {
	for mode, want := range map[string]string{
		"clinging": `tuner "clinging": no response to Close within 2s`,
		"sore":     `tuner "sore": close: it was not my turn`,
	} {
		p := launchRogue(t, mode, host.Options{})
		said, err := search(t.Context(), p, func() {})
		oneLine(t, err, want)
		if strings.Count(said, "\n") != 6 || (p.PID() == 0) != (mode == "clinging") {
			t.Errorf("%s: process %d after %s", mode, p.PID(), said)
		}
	}
	_, err := host.Launch(t.Context(), rogueRef(t, "mute"), host.Options{
		CallTimeout: 300 * time.Millisecond,
		Logger:      slog.New(slog.DiscardHandler),
	})
	oneLine(t, err, `tuner "mute": invalid description: no response to Describe within 300ms`)
}

// meter counts what reaches a log.
type meter struct{ n atomic.Int64 }

func (m *meter) Write(p []byte) (int, error) {
	m.n.Add(int64(len(p)))
	return len(p), nil
}

func TestFloodsAreDropped(t *testing.T) {
	for _, mode := range []string{"flood", "torrent"} {
		t.Run(mode, func(t *testing.T) {
			said, log := &journal{}, &meter{}
			p := launchRogue(t, mode, host.Options{Logger: slog.New(slog.NewTextHandler(io.MultiWriter(log, said), nil))})
			if got, err := search(t.Context(), p, func() {}); err != nil || strings.Count(got, "\n") != 6 {
				t.Errorf("%v after %s", err, got)
			}
			eventually(t, "word of what was dropped", func() bool { return said.has("tuner output exceeds the log limit") })
			if n := log.n.Load(); n > 4<<20 { // of 32 MiB, with what the log adds to short lines
				t.Errorf("%d bytes reached the log", n)
			}
			if mode == "torrent" {
				if noise := p.Noise(); noise.Bytes < 1<<20 || !strings.HasPrefix(noise.First, "lorem ipsum") {
					t.Errorf("noise %+v", noise)
				}
			}
			if p.Restarts() != 0 {
				t.Errorf("%d restarts", p.Restarts())
			}
		})
	}
}

func TestChildrenOfATunerEndWithIt(t *testing.T) {
	dir := t.TempDir()
	pidFile := filepath.Join(dir, "pid")
	script(t, dir, "parent", "#!/bin/sh\nsleep 60 &\necho $! > "+pidFile+"\necho '1|1|unix|/nowhere|grpc|'\nwait\n", 0o755)
	ref, err := host.Find("parent", host.Paths{Dirs: []string{dir}})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := host.Launch(t.Context(), ref, host.Options{Logger: slog.New(slog.DiscardHandler)}); err == nil {
		t.Fatal("it was launched")
	}
	text, err := os.ReadFile(pidFile)
	if err != nil {
		t.Fatal(err)
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(text)))
	if err != nil {
		t.Fatal(err)
	}
	eventually(t, "the end of the child", func() bool { return gone(pid) })
}

func TestATunerServesOnThisMachineOnly(t *testing.T) {
	dir := t.TempDir()
	for _, c := range []struct{ name, line, want string }{
		{"far", "1|1|tcp|192.0.2.1:80|grpc|", "serves at 192.0.2.1:80, which is not a loopback address"},
		{"endless", strings.Repeat("A", 1<<20), `instead of the plugin handshake`},
		{"cert", "1|1|unix|/nowhere|grpc|" + strings.Repeat("A", 60), "error parsing server cert"},
		{"rpc", "1|1|unix|/nowhere|netrpc|", `unsupported plugin protocol "netrpc"`},
	} {
		t.Run(c.name, func(t *testing.T) {
			text := filepath.Join(dir, c.name+".txt")
			if err := os.WriteFile(text, []byte(c.line), 0o600); err != nil {
				t.Fatal(err)
			}
			script(t, dir, c.name, "#!/bin/sh\ncat "+text+"\necho\nexec sleep 30\n", 0o755)
			ref, err := host.Find(c.name, host.Paths{Dirs: []string{dir}})
			if err != nil {
				t.Fatal(err)
			}
			_, err = host.Launch(t.Context(), ref, host.Options{Logger: slog.New(slog.DiscardHandler)})
			oneLine(t, err, c.want)
		})
	}
}

func TestWorldWritablePlacesAreRefused(t *testing.T) {
	dir := t.TempDir()
	path := script(t, dir, "mine", "#!/bin/sh\n", 0o755)
	paths := host.Paths{Dirs: []string{dir}}
	check := func(mark, want string) {
		t.Helper()
		_, err := host.Find("mine", paths)
		oneLine(t, err, want)
		entries := host.List(t.Context(), paths, host.Options{Logger: slog.New(slog.DiscardHandler)})
		if len(entries) != 1 || !strings.Contains(entries[0].Skipped, want) {
			t.Errorf("%s: listed %+v", mark, entries)
		}
	}
	if err := os.Chmod(dir, 0o777); err != nil {
		t.Fatal(err)
	}
	check("directory", dir+" is world-writable")
	if err := errors.Join(os.Chmod(dir, 0o755), os.Chmod(path, 0o777)); err != nil {
		t.Fatal(err)
	}
	check("file", path+" is world-writable")
}

func TestFilesThatOnlyLookLikeTunersAreListed(t *testing.T) {
	dir := t.TempDir()
	script(t, dir, "Mine", "#!/bin/sh\n", 0o755)
	script(t, dir, "plain", "#!/bin/sh\n", 0o644)
	entries := host.List(t.Context(), host.Paths{Dirs: []string{dir}}, host.Options{Logger: slog.New(slog.DiscardHandler)})
	if len(entries) != 2 || !strings.Contains(entries[0].Skipped, "wrong name") || !strings.Contains(entries[1].Skipped,
		"is not executable") {
		t.Errorf("%+v", entries)
	}
}

func TestPins(t *testing.T) {
	p := launchRogue(t, "good", host.Options{})
	pin, ref := p.Pin(), p.Ref()
	if p.Secure() != (runtime.GOOS == "windows") {
		t.Error("certificates are made for a built-in tuner, or none where it listens on TCP")
	}
	if pin.Name != "good" || pin.Version != "1.0.0" || len(pin.SHA256) != 64 || !pin.Builtin {
		t.Errorf("%+v", pin)
	}
	if same, err := ref.Pinned("s", pin, "--x"); err != nil || same.SHA256 != pin.SHA256 {
		t.Error(same, err)
	}
	pin.SHA256 = strings.Repeat("a", 64)
	_, err := ref.Pinned("studies/one", pin, "--allow-tuner-change")
	oneLine(t, err, `tuner "good": tuner differs from the recorded one: study studies/one recorded version 1.0.0`,
		"aaaaaaaaaaaa...", ref.SHA256[:12], "--allow-tuner-change")
	if !errors.Is(err, host.ErrPinned) {
		t.Error("it does not wrap ErrPinned")
	}
	pin.SHA256 = ""
	if _, err := ref.Pinned("s", pin, ""); err != nil {
		t.Error(err)
	}
}

func TestAttach(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(self, "rogue", "good")
	cmd.Env = append(os.Environ(), tuners.DebugEnv+"=1")
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	_, text, found := strings.Cut(strings.TrimSpace(line), "--tuner-reattach ")
	if !found {
		t.Fatalf("it printed %q", line)
	}
	attach, err := host.ParseAttach(text)
	if err != nil || len(attach) != 1 || attach[0].String() != text || attach[0].PID != cmd.Process.Pid {
		t.Fatal(attach, err)
	}
	paths := host.Paths{Attach: attach}
	ref, err := host.Find("good", paths)
	if err != nil {
		t.Fatal(err)
	}
	for range 2 { // it lives on
		p, err := host.Launch(t.Context(), ref, host.Options{Logger: slog.New(slog.DiscardHandler)})
		if err != nil {
			t.Fatal(err)
		}
		if got, err := search(t.Context(), p, func() {}); err != nil || strings.Count(got, "\n") != 6 {
			t.Errorf("%v after %s", err, got)
		}
		if p.Pin().SHA256 != "" || p.PID() != 0 {
			t.Errorf("%+v, pid %d", p.Pin(), p.PID())
		}
		p.Close()
	}
	if entries := host.List(t.Context(), paths, host.Options{Logger: slog.New(slog.DiscardHandler)}); len(entries) != 1 ||
		entries[0].Skipped != "" {
		t.Errorf("%+v", entries)
	}
	kill(t, cmd.Process.Pid)
	_ = cmd.Wait()
	_, err = host.Launch(t.Context(), ref, host.Options{Logger: slog.New(slog.DiscardHandler)})
	oneLine(t, err, `tuner "good": cannot attach at`)
	_, err = host.ParseAttach("good=unix:/x")
	oneLine(t, err, `"good=unix:/x": must be NAME=unix:`, tuners.DebugEnv)
}

// Nothing is left of an attempt to attach to a process that does not answer.
func TestAttachToSilence(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = listener.Close() })
	ignore := goleak.IgnoreCurrent()
	ref := host.Ref{Name: "silent", Attach: &host.Attach{
		Name: "silent", Network: "tcp", Address: listener.Addr().String(),
		PID: os.Getpid(),
	}}
	_, err = host.Launch(t.Context(), ref, host.Options{
		StartTimeout: 200 * time.Millisecond,
		Logger:       slog.New(slog.DiscardHandler),
	})
	oneLine(t, err, `tuner "silent": cannot attach at 127.0.0.1:`, "no response within 200ms; is process")
	goleak.VerifyNone(t, ignore)
}

func TestNoSocketIsLeftWhenTheHostIsKilled(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("no sockets with a path here")
	}
	dir, err := os.MkdirTemp("/tmp", "ff") //nolint:usetesting // a socket's path must be short
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	t.Setenv("TMPDIR", dir)
	p := launchRogue(t, "good", host.Options{})
	if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
		t.Errorf("beside the running tuner there is %v, %v", left, err)
	}
	if got, err := search(t.Context(), p, func() {}); err != nil || p.Restarts() > 0 {
		t.Errorf("%v after %s", err, got)
	}
}

func TestATunerNoticesByItselfThatItsHostIsGone(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("no process is killed here without its children")
	}
	orphan(t, "launch-unsignalled")
}
