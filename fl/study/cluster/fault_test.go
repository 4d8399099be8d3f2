package cluster

import (
	"bytes"
	"context"
	"encoding/json"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/fedfast/fedfast/fl/study"
	"github.com/fedfast/fedfast/fl/study/cluster/internal/wire"
	"github.com/fedfast/fedfast/fl/study/config"
	"github.com/fedfast/fedfast/internal/store"
	"github.com/fedfast/fedfast/internal/sys/wholefile"
)

// The variables by which a test runs itself as a process that can be killed, and the
// one that describes how many are; without it few are.
const (
	roleVariable  = "FEDFAST_TEST_CLUSTER"
	dirVariable   = "FEDFAST_TEST_CLUSTER_DIR"
	killsVariable = "FEDFAST_CLUSTER_KILLS"
	// sharesVariable has such processes share rounds of larger cohorts.
	sharesVariable = "FEDFAST_TEST_CLUSTER_SHARES"
)

// longer makes rounds of the study take some 10 ms each.
func longer(t *testing.T) study.Setup {
	sets := []string{"cohort=3", "client.epochs=20"}
	if os.Getenv(sharesVariable) != "" {
		sets = []string{"cohort=40", "client.epochs=2", batchNorm, "norm.statistics=batch"}
	}
	s := tinyStudy(t, append(sets, "sampling=with", "tuner.name=asha", "client_tuner.name=", "tuner.parallel=4")...)
	delete(s.Config.Space, "client.epochs")
	s.Config.Budget.Rounds, s.SnapshotEvery = 80, 50*time.Millisecond
	return s
}

// TestFaultProcess is no test: it is the processes of others.
func TestFaultProcess(t *testing.T) {
	r := newRun(t, func() study.Setup { return longer(t) })
	r.dir = os.Getenv(dirVariable)
	if os.Getenv(sharesVariable) != "" {
		r.options.Rounds = RoundsAlways
	}
	switch os.Getenv(roleVariable) {
	case "":
		t.Skip("it is a process of another test")
	case "server":
		if err := serve(t.Context(), r.dir); err != nil {
			t.Fatal(err)
		}
	case "worker":
		ended := func() bool { // the study may have when a killed worker is replaced
			_, err := os.Stat(r.dir + ".outcome")
			return err == nil
		}
		if err := ends(t, r.worker(t.Context(), func(o *levers) { o.Ended = ended })); err != nil {
			t.Fatal(err)
		}
	case "coordinator":
		got, err := r.tune(t.Context())
		if err == nil {
			err = os.WriteFile(r.dir+".outcome", []byte(got), 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

// process is a worker or a coordinator that can be killed.
type process struct {
	*exec.Cmd
	ended chan struct{}
	err   error // how it ended
}

// begin starts a process in a role, by a command that may begin with others.
func begin(t *testing.T, role, dir string, by ...string) *process {
	t.Helper()
	command := slices.Concat(by, []string{os.Args[0], "-test.run=^TestFaultProcess$"})
	p := &process{Cmd: exec.CommandContext(t.Context(), command[0], command[1:]...), ended: make(chan struct{})}
	p.Env = append(os.Environ(), roleVariable+"="+role, dirVariable+"="+dir, "TMPDIR="+filepath.Dir(dir)) // who is killed cleans nothing up
	var out bytes.Buffer
	p.Stdout, p.Stderr = &out, &out
	if err := p.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		p.err = p.Wait()
		close(p.ended)
	}()
	t.Cleanup(func() {
		p.kill()
		if t.Failed() {
			t.Logf("%s %d: %s", role, p.Process.Pid, &out)
		}
	})
	return p
}

func (p *process) kill() {
	_ = p.Process.Kill() // it may have ended
	<-p.ended
}

func (p *process) running() bool {
	select {
	case <-p.ended:
		return false
	default:
		return true
	}
}

// TestFaultKills kills workers, and now and then the coordinator, until the number of
// kills is reached, over as many studies as that takes: each ends as in one process.
func TestFaultKills(t *testing.T) {
	if testing.Short() {
		t.Skip("it takes seconds")
	}
	kills(t, 3)
}

// TestFaultSharedKills does so where workers share rounds: the first three kills are of
// workers, the fourth of the coordinator.
func TestFaultSharedKills(t *testing.T) {
	if testing.Short() {
		t.Skip("it takes seconds")
	}
	t.Setenv(sharesVariable, "1")
	kills(t, 4)
}

func kills(t *testing.T, kills int) {
	t.Helper()
	if text := os.Getenv(killsVariable); text != "" {
		var err error
		if kills, err = strconv.Atoi(text); err != nil {
			t.Fatal(err)
		}
	}
	want := alone(t, longer(t))
	fate, studies := rand.New(rand.NewPCG(1, 2)), 0
	for done := 0; done < kills; studies++ {
		killed, got := killing(t, fate, kills-done)
		if got != want {
			t.Fatalf("after %d kills of study %d\n%s\nin one process\n%s", killed, studies+1, got, want)
		}
		if killed == 0 {
			t.Fatal("a study ended before anything was killed")
		}
		done += killed
	}
	t.Logf("%d kills, %d studies", kills, studies)
}

// killing runs a study and kills at most a given number of its processes. It returns how
// many it killed, and the outcome.
func killing(t *testing.T, fate *rand.Rand, most int) (killed int, outcome string) {
	dir := filepath.Join(t.TempDir(), "study")
	coordinator := begin(t, "coordinator", dir)
	workers := []*process{begin(t, "worker", dir), begin(t, "worker", dir)}
	for killed < most {
		enough := rows(t, dir) + 2 + fate.IntN(9)
		for coordinator.running() && rows(t, dir) < enough {
			time.Sleep(5 * time.Millisecond)
		}
		time.Sleep(time.Duration(fate.Int64N(int64(30 * time.Millisecond)))) // anywhere in a round
		if !coordinator.running() {
			break
		}
		if killed%4 == 3 {
			coordinator.kill()
			coordinator = begin(t, "coordinator", dir)
		} else {
			i := fate.IntN(len(workers))
			workers[i].kill()
			workers[i] = begin(t, "worker", dir)
		}
		killed++
	}
	for i, p := range append(workers, coordinator) {
		select {
		case <-p.ended:
		case <-time.After(60 * time.Second):
			t.Fatalf("process %d does not end", i)
		}
		if p.err != nil {
			t.Errorf("process %d: %v", i, p.err)
		}
	}
	got, err := os.ReadFile(dir + ".outcome")
	if err != nil {
		t.Fatal(err)
	}
	return killed, string(got)
}

// rows counts the recorded rounds of a study.
func rows(t *testing.T, dir string) int {
	v, err := store.Look(t.Context(), dir)
	if err != nil {
		return 0 // it has not begun
	}
	defer func() { _ = v.Close() }()
	n := 0
	if err := v.Each(t.Context(), func(store.Row) error { n++; return nil }, store.KindRound); err != nil {
		return 0
	}
	return n
}

// TestFaultLyingWorker has a worker tell other numbers than it has measured: what
// another one trains again shows it, but it is recorded: the study ends with the name of the
// liar.
func TestFaultLyingWorker(t *testing.T) {
	r := newRun(t, func() study.Setup { return tinyStudy(t) })
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	lies, end := context.WithCancel(ctx)
	defer end()
	liar := r.worker(lies, func(o *levers) {
		o.slow = 20 * time.Millisecond
		o.change = func(record []byte) []byte { return bytes.Replace(record, []byte(`"steps":`), []byte(`"steps":1`), 1) }
	})
	var honest chan error
	r.after = func(round int) {
		if round == 3 {
			honest = r.worker(ctx, nil)
			r.loses(func(*workerHandle) bool { return true })
			end() // or it would train its trial again, as long as nobody else has joined
		}
	}
	_, err := r.tune(t.Context())
	if err == nil || !strings.HasPrefix(err.Error(), "trial ") || !strings.Contains(err.Error(),
		"-1 is faulty, or it lies; start the study again without it") || strings.Contains(err.Error(), "version") {
		t.Errorf("the study ends with %v", err)
	}
	stop()
	for _, w := range []chan error{liar, honest} {
		_ = ends(t, w) // it was refused, or could not find the coordinator any more
	}
}

// TestFaultDuplicates has the coordinator receive, and answer, everything twice.
func TestFaultDuplicates(t *testing.T) {
	r := newRun(t, func() study.Setup { return tinyStudy(t) })
	r.after = func(int) { r.await(2) }
	r.opened = func(c *Coordinator) {
		if err := c.broker.Listen(c.onHello, c.onRequest, c.onHeartbeat); err != nil { // again
			t.Error(err)
		}
	}
	r.sameAsAlone(t, r.worker(t.Context(), nil), r.worker(t.Context(), nil))
	if r.told(" joined (") != 2 {
		t.Errorf("notices %q", r.notices)
	}
}

// TestFaultSlowWorker stops a worker in a round while another one is idle: that trains
// the round too, and the study goes on with it. What the first one says at last is
// compared: equal, it is dropped; else the liar is dismissed.
func TestFaultSlowWorker(t *testing.T) {
	for name, lies := range map[string]bool{"honest": false, "lying": true} {
		t.Run(name, func(t *testing.T) {
			r := newRun(t, func() study.Setup {
				s := tinyStudy(t, "tuner.name=random", "client_tuner.name=")
				s.Config.Tuner.Options, s.Config.Budget = nil, config.Budget{Rounds: 40, TrialRounds: 40}
				if s.SnapshotEvery = 20 * time.Millisecond; lies {
					s.SnapshotEvery = time.Hour // the coordinator can train the round again
				}
				return s
			})
			r.options.Late = 200 * time.Millisecond
			goOn, stalled := make(chan struct{}), false
			slow := r.worker(t.Context(), func(o *levers) {
				o.slow = 5 * time.Millisecond
				o.stall = func(rounds int) {
					if rounds == 12 {
						stalled = true
						<-goOn
					}
				}
				o.change = func(record []byte) []byte {
					if lies && stalled {
						return bytes.Replace(record, []byte(`"steps":`), []byte(`"steps":1`), 1)
					}
					return record
				}
			})
			var fast chan error
			r.after = func(round int) {
				if round == 4 { // the slow one has the only trial
					fast = r.worker(t.Context(), nil)
					r.await(2)
				}
				if round == 20 { // the fast one has it now
					close(goOn)
				}
				for disputed := false; lies && round == 21 && !disputed; time.Sleep(time.Millisecond) {
					l := r.coordinator.ledger
					l.mu.Lock()
					disputed = len(l.disputes) > 0
					l.mu.Unlock()
					disputed = disputed || r.told("dismissed ") > 0 // it is settled
				}
			}
			got, err := r.tune(t.Context())
			if lies {
				r.isAsAlone(t, got, err, fast)
				if told := ends(t, slow); told == nil || r.told("dismissed ") != 1 {
					t.Errorf("the liar ends with %v, notices %q", told, r.notices)
				}
				return
			}
			r.isAsAlone(t, got, err, slow, fast)
			if r.told("trains it too") < 1 || r.told("finished first and keeps the trial") < 1 ||
				r.told("1 lost")+r.told("2 lost") > 0 {
				t.Errorf("notices %q", r.notices)
			}
		})
	}
}

// TestFaultWaitingWorker has the coordinator give up workers that wait for an order, as
// it does when nothing was heard of them for long though they live: they join again, and
// the study needs them.
func TestFaultWaitingWorker(t *testing.T) {
	r := newRun(t, func() study.Setup { return tinyStudy(t) })
	r.after = func(round int) {
		if round%5 == 1 {
			r.loses(func(s *workerHandle) bool { return s.pending != nil })
		}
	}
	r.sameAsAlone(t, r.worker(t.Context(), nil))
	if r.told(" lost") == 0 {
		t.Error("no worker that waited was lost")
	}
}

// TestFaultRoundThatKills ends the study, and not the trial, where worker after worker
// is lost at one round.
func TestFaultRoundThatKills(t *testing.T) {
	r := newRun(t, func() study.Setup {
		s := tinyStudy(t, "tuner.name=random", "client_tuner.name=")
		s.Config.Tuner.Options, s.Config.Budget = nil, config.Budget{Rounds: 5, TrialRounds: 5}
		return s
	})
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	var workers []chan error
	for range maxLost {
		workers = append(workers, r.worker(ctx, func(o *levers) { o.slow = time.Second }))
	}
	go func() {
		for ctx.Err() == nil {
			r.loses(func(s *workerHandle) bool { return s.busy && s.last.Order == wire.OrderRound })
			time.Sleep(10 * time.Millisecond)
		}
	}()
	_, err := r.tune(t.Context())
	if err == nil || !strings.Contains(err.Error(), "trial 0, round 1: 3 workers were lost while training it: ") {
		t.Errorf("the study ends with %v", err)
	}
	stop()
	for _, w := range workers {
		_ = ends(t, w) // it was asked to
	}
}

// TestFaultPartition cuts a worker off while it trains, for longer than the
// coordinator waits: another one takes over, and what the first one says when it is
// back is dropped, being equal.
func TestFaultPartition(t *testing.T) {
	r := newRun(t, func() study.Setup { return tinyStudy(t) })
	r.options.Silence = 1500 * time.Millisecond // a busy machine may keep a worker from its heartbeats for a while
	cable := &cable{}
	slow := r.worker(t.Context(), func(o *levers) { o.slow, o.Join = 30*time.Millisecond, cable.join(t, r.join()) })
	var fast chan error
	r.after = func(round int) {
		if round == 4 {
			cable.cut(true)
			fast = r.worker(t.Context(), func(o *levers) { o.slow = 30 * time.Millisecond })
			time.AfterFunc(3*time.Second, func() { cable.cut(false) })
		}
		if round == 30 {
			r.await(3)
		}
	}
	got, err := r.tune(t.Context())
	r.isAsAlone(t, got, err, slow, fast) // fast began meanwhile
	if r.told("no heartbeat for") < 1 || r.told(" joined (") < 3 {
		t.Errorf("notices %q", r.notices)
	}
}

// cable is a way to the coordinator that can be cut: nothing passes then, and nobody
// is told.
type cable struct {
	mu    sync.Mutex
	isCut bool
}

func (c *cable) cut(cut bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.isCut = cut
}

func (c *cable) whole() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return !c.isCut
}

// join returns the path of a join file that leads through the cable, once that of the
// coordinator is there.
func (c *cable) join(t *testing.T, path string) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	through := filepath.Join(t.TempDir(), "through")
	go func() {
		j, err := wire.WaitJoin(t.Context(), path, func() bool { return false }, func(string) {})
		if err != nil {
			return
		}
		to := strings.TrimPrefix(j.URLs[0], "nats://")
		j.URLs = []string{"nats://" + l.Addr().String()}
		text, err := json.Marshal(j)
		if err == nil {
			err = wholefile.Write(through, text, 0o600)
		}
		if err != nil {
			t.Error(err)
		}
		for {
			near, err := l.Accept()
			if err != nil {
				return
			}
			far, err := net.Dial("tcp", to)
			if err != nil { // the study has ended: a copy goes with its join file
				_, _ = near.Close(), os.Remove(through)
				continue
			}
			go c.pass(near, far)
			go c.pass(far, near)
		}
	}()
	return through
}

// pass passes on what comes while the cable is whole.
func (c *cable) pass(from, to net.Conn) {
	defer func() { _, _ = from.Close(), to.Close() }()
	part := make([]byte, 1<<16)
	for {
		n, err := from.Read(part)
		for !c.whole() {
			time.Sleep(10 * time.Millisecond)
		}
		if _, failed := to.Write(part[:n]); err != nil || failed != nil {
			return
		}
	}
}
