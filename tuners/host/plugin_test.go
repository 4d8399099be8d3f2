package host_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"reflect"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/fedfast/fedfast/tuners"
	"github.com/fedfast/fedfast/tuners/host"
)

var space = tuners.Space{{Name: "client.n", Kind: tuners.Int, Lo: 0, Hi: 1000}}

var request = tuners.OpenRequest{
	Study: "test", Space: space, Trial: tuners.StudySession, Seed: 4, Budget: tuners.Budget{Rounds: 10, TrialRounds: 5},
}

// converse makes the same calls every time and returns everything that came back.
func converse(t *testing.T, tuner tuners.Tuner) string {
	t.Helper()
	ctx := t.Context()
	s, err := tuner.Open(ctx, request)
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	for i := range 4 {
		decisions, err := s.Suggest(ctx, 1)
		if err != nil {
			t.Fatal(err)
		}
		plan, err := s.PlanRound(ctx, tuners.PlanRequest{Trial: i, Round: i, Slots: 2, Purpose: tuners.Test})
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(&b, "%v %v", decisions, plan.Client(1))
		if err := s.Report(ctx, tuners.TrialReport{Trial: i, Round: 1, Score: 0.5}); err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(&b, " %s\n", s.State())
	}
	if err := s.Close(ctx); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func TestCrashedCallsAreReplayed(t *testing.T) {
	want := converse(t, host.Local(fake{name: "fake"}))
	for _, c := range []struct {
		name, traps string
		timeout     time.Duration
		restarts    int
	}{
		{"no crash", "", 0, 0},
		{"panic in the first call", "1=crash", 0, 1},
		{"panic in a report", "4=crash", 0, 1},
		{"exit and panic", "3=exit,4=crash,7=exit", 0, 3},
		{"hang", "5=hang", 3 * time.Second, 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := launch(t, host.Options{CallTimeout: c.timeout}, c.traps)
			if got := converse(t, p); got != want {
				t.Errorf("got\n%swant\n%s", got, want)
			}
			if p.Restarts() != c.restarts {
				t.Errorf("%d restarts, want %d", p.Restarts(), c.restarts)
			}
			if err := p.Ping(t.Context()); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestSessionsMoveTogether(t *testing.T) {
	p := launch(t, host.Options{}, "3=crash")
	ctx := t.Context()
	other, err := p.Open(ctx, request)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := other.Suggest(ctx, 1); err != nil {
		t.Fatal(err)
	}
	converse(t, p) // loses the process under the other session
	if err := other.Report(ctx, tuners.TrialReport{Round: 1}); err != nil {
		t.Fatal(err)
	}
	if got := string(other.State()); got != "2" || p.Restarts() != 1 {
		t.Errorf("the other session's state is %s after %d restarts, want 2 after 1", got, p.Restarts())
	}
}

func TestAHopelessTunerIsNamed(t *testing.T) {
	p := launch(t, host.Options{Restarts: 2}, "1=always")
	s, err := p.Open(t.Context(), request)
	if err != nil {
		t.Fatal(err)
	}
	_, err = s.Suggest(t.Context(), 1)
	oneLine(t, err, `tuner "fake"`, "lost", "Suggest", "panic: the fake crashes", "3 times")
	if !errors.Is(err, host.ErrLost) {
		t.Errorf("%v does not wrap ErrLost", err)
	}
	if _, again := s.Suggest(t.Context(), 1); again == nil || again.Error() != err.Error() {
		t.Errorf("a call on the lost session: %v", again)
	}
}

func TestTheTunersOwnErrorIsNotRetried(t *testing.T) {
	p := launch(t, host.Options{}, "1=error")
	s, err := p.Open(t.Context(), request)
	if err != nil {
		t.Fatal(err)
	}
	_, err = s.Suggest(t.Context(), 1)
	oneLine(t, err, `tuner "fake": the fake is unwilling`)
	if p.Restarts() != 0 {
		t.Errorf("%d restarts", p.Restarts())
	}
}

func TestValidateAndObserveCrossTheWire(t *testing.T) {
	p := launch(t, host.Options{}, "")
	ctx := t.Context()
	req := tuners.ValidateRequest{
		Space: space, Options: tuners.Params{"x": tuners.Num(0.1), "y": tuners.Str("z")},
		Objective: tuners.Objective{Direction: tuners.Maximize},
	}
	problems, err := p.Validate(ctx, req)
	if err != nil || len(problems) != 1 || problems[0] != (tuners.Problem{
		Key:     "k",
		Message: "1 dims, x=0.1 y=z, maximize",
	}) {
		t.Errorf("got %v, %v", problems, err)
	}
	req.Budget.Rounds = 13
	_, err = p.Validate(ctx, req)
	oneLine(t, err, `tuner "fake": validation is out of order`)

	req.Budget.Rounds = 14
	want, _ := fake{}.Work(ctx, req)
	if work, err := tuners.WorkOf(ctx, p, req); err != nil || !reflect.DeepEqual(work, want) {
		t.Errorf("the work is %+v, %v; want %+v", work, err, want)
	}

	s, err := p.Open(ctx, request)
	if err != nil {
		t.Fatal(err)
	}
	if got := s.(tuners.Prober).Probes(); len(got) != 1 || got[0] != "q" {
		t.Errorf("the session uses the probes %v, want [q]", got)
	}
	if err := s.ObserveRound(ctx, tuners.Observation{
		Slots:      []tuners.Slot{{Probes: map[string]float64{"q": 0.25}}, {Dropped: true}},
		Aggregates: map[string]float64{"a": 1},
	}); err != nil {
		t.Error(err)
	}
}

func TestWhatATunerPrintsIsLogged(t *testing.T) {
	log := &journal{}
	p := launch(t, host.Options{Logger: slog.New(slog.NewTextHandler(log, nil))}, "2=crash")
	s, err := p.Open(t.Context(), request)
	if err != nil {
		t.Fatal(err)
	}
	for round := range 2 {
		if _, err := s.PlanRound(t.Context(), tuners.PlanRequest{Round: round, Slots: 1}); err != nil {
			t.Fatal(err)
		}
	}
	for _, want := range []string{
		`level=INFO msg="planning round 0" tuner=fake`,
		`level=ERROR msg="panic: the fake crashes" tuner=fake`, "level=WARN",
	} {
		eventually(t, want, func() bool { return log.has(want) })
	}
}

func TestContextEndsTheProcess(t *testing.T) {
	ref, err := host.Find("fake", selfPaths(t))
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	p, err := host.Launch(ctx, ref, host.Options{Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	s, err := p.Open(ctx, request)
	if err != nil {
		t.Fatal(err)
	}
	cancel()
	eventually(t, "the end of the process", func() bool { return p.Ping(t.Context()) != nil })
	if _, err := s.Suggest(ctx, 1); !errors.Is(err, context.Canceled) {
		t.Errorf("a session whose context ended: %v, want that it was cancelled", err)
	}
	if _, err := s.Suggest(t.Context(), 1); err == nil || !strings.Contains(err.Error(), "is closed") {
		t.Errorf("a closed plugin: %v", err)
	}
}

// launchAndWait is a host that launches the fake with the pid of its process in the
// log, then waits to be killed.
func launchAndWait(unsignalled bool) {
	self, err := os.Executable()
	if err != nil {
		panic(err)
	}
	ref, err := host.Find("fake", host.Paths{Builtin: []string{"fake"}, Serve: []string{self, "serve"}})
	if err != nil {
		panic(err)
	}
	log := slog.New(slog.NewTextHandler(os.Stdout, &slog.HandlerOptions{Level: slog.LevelDebug}))
	if _, err := host.Launch(context.Background(), ref,
		host.Options{Logger: log, NoDeathSignal: unsignalled}); err != nil {
		panic(err)
	}
	log.Info("launched")
	time.Sleep(time.Minute)
}

func TestATunerDiesWithItsHost(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("processes have no living parent to watch on Windows")
	}
	orphan(t, "launch")
}

// orphan runs a host that launches a tuner, kills the host, and waits for the end
// of the tuner.
func orphan(t *testing.T, how string) {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(self, how)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	pid, launched := 0, false
	for lines := bufio.NewScanner(out); !launched && lines.Scan(); {
		launched = strings.Contains(lines.Text(), "msg=launched")
		if strings.Contains(lines.Text(), "plugin started") {
			_, after, _ := strings.Cut(lines.Text(), "pid=")
			if pid, err = strconv.Atoi(strings.Fields(after)[0]); err != nil {
				t.Fatal(err)
			}
		}
	}
	if pid == 0 || !launched {
		t.Fatal("the host did not say which process it started")
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait() // killed: the error says so
	eventually(t, "the end of the orphan", func() bool { return gone(pid) })
}

// gone says whether a process has ended.
func gone(pid int) bool {
	p, err := os.FindProcess(pid)
	return err != nil || p.Signal(syscall.Signal(0)) != nil || zombie(pid)
}

// zombie says whether a process has ended but was not yet collected, as where no
// init does it.
func zombie(pid int) bool {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	return err == nil && strings.Contains(string(stat), ") Z ")
}
