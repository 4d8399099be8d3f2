package cluster

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"

	"github.com/fedfast/fedfast/fl/study"
	"github.com/fedfast/fedfast/fl/study/cluster/internal/wire"
)

// serve is a process that is a NATS server with users, as a site has it, until ctx
// ends. It writes its address into a file of a directory.
func serve(ctx context.Context, dir string) error {
	o := &server.Options{
		Host: "127.0.0.1", Port: server.RANDOM_PORT, NoSigs: true, NoLog: true, JetStream: true,
		StoreDir: dir, Username: "site", Password: "secret",
	}
	if file := filepath.Join(dir, serverFile); exists(file) {
		var err error
		if o, err = server.ProcessConfigFile(file); err != nil {
			return err
		}
	}
	s, err := server.NewServer(o)
	if err != nil {
		return err
	}
	s.Start()
	if !s.ReadyForConnections(20 * time.Second) {
		return errors.New("the server does not start")
	}
	if err := os.WriteFile(filepath.Join(dir, "address"), []byte(s.Addr().String()), 0o600); err != nil {
		return err
	}
	<-ctx.Done()
	return nil
}

// serverFile is the configuration of a server in its directory; without one it has a
// user with a password.
const serverFile = "server.conf"

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// servers start those that a site may have, in a directory; each returns its address.
var servers = map[string]func(t *testing.T, dir string) string{
	"of the module": func(t *testing.T, dir string) string {
		begin(t, "server", dir)
		for end := time.Now().Add(30 * time.Second); time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
			if text, err := os.ReadFile(filepath.Join(dir, "address")); err == nil && len(text) > 0 {
				return string(text)
			}
		}
		t.Fatal("the server does not start")
		return ""
	},
	"of the system": func(t *testing.T, dir string) string {
		path, err := exec.LookPath("nats-server")
		if err != nil {
			t.Skip("there is none")
		}
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		address := l.Addr().String()
		_ = l.Close() // for the server
		args := []string{"-a", "127.0.0.1", "-p", address[strings.LastIndexByte(address, ':')+1:]}
		if file := filepath.Join(dir, serverFile); exists(file) {
			args = append(args, "-c", file)
		} else {
			args = append(args, "-js", "-sd", dir, "--user", "site", "--pass", "secret")
		}
		cmd := exec.CommandContext(t.Context(), path, args...)
		var out bytes.Buffer
		cmd.Stderr = &out
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _, _ = cmd.Process.Kill(), cmd.Wait() })
		for end := time.Now().Add(30 * time.Second); time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
			if conn, err := net.Dial("tcp", address); err == nil {
				_ = conn.Close()
				return address
			}
		}
		t.Fatalf("the server does not start: %s", out.String())
		return ""
	},
}

// TestExternal runs two studies at one server of others at a time. Who has the run of
// the server sees nothing in the clear, and what he says changes nothing.
func TestExternal(t *testing.T) {
	for name, start := range servers {
		t.Run(name, func(t *testing.T) {
			address := start(t, t.TempDir())
			url := "nats://site:secret@" + address
			spy := newSpy(t, url)
			var work sync.WaitGroup
			for i, sets := range [][]string{nil, {"seed=5"}} {
				r := newRun(t, func() study.Setup { return tinyStudy(t, sets...) })
				r.address = url
				r.after = func(int) { r.await(2) }
				workers := []chan error{r.worker(t.Context(), nil), r.worker(t.Context(), nil)}
				work.Go(func() {
					got, err := r.tune(t.Context())
					if err != nil {
						t.Errorf("study %d: %v", i, err)
						return
					}
					for _, w := range workers {
						if err := <-w; err != nil {
							t.Errorf("study %d: %v", i, err)
						}
					}
					if want := alone(t, r.setup()); got != want {
						t.Errorf("study %d with a cluster\n%s\nin one process\n%s", i, got, want)
					}
					if r.told(" joined (") != 2 || r.told("secret") != 0 {
						t.Errorf("notices %q", r.notices)
					}
				})
			}
			work.Wait()
			spy.check(t)
			if _, err := nats.Connect("nats://" + address); err == nil {
				t.Error("the server lets everybody in: the test shows nothing")
			}
			r := newRun(t, func() study.Setup { return tinyStudy(t) })
			r.address = "nats://site:guessed@" + address
			if _, err := r.tune(t.Context()); err == nil || !strings.Contains(err.Error(), "--cluster nats://127.0.0.1:") ||
				!strings.Contains(err.Error(), "uthorization") || strings.Contains(err.Error(), "guessed") {
				t.Errorf("with a wrong password: %v", err)
			}
		})
	}
}

// TestExternalCoordinatorEnds ends the coordinator in the middle of a study, while the
// server goes on: workers find the one that resumes it, and end with the study. One that
// is asked to leave meanwhile does so.
func TestExternalCoordinatorEnds(t *testing.T) {
	r := newRun(t, func() study.Setup { return tinyStudy(t) })
	r.address = "nats://site:secret@" + servers["of the module"](t, t.TempDir())
	all, err := nats.Connect(r.address)
	if err != nil {
		t.Fatal(err)
	}
	defer all.Close()
	if _, err := all.Subscribe(">", func(*nats.Msg) {}); err != nil { // so that nothing is said to nobody
		t.Fatal(err)
	}
	workers := []chan error{r.worker(t.Context(), nil), r.worker(t.Context(), nil)}
	asked, ask := context.WithCancel(t.Context())
	leaves := r.worker(asked, nil)
	ctx, stop := context.WithCancel(t.Context())
	r.after = func(round int) {
		r.await(3)
		if round == 12 {
			stop()
		}
	}
	if _, err := r.tune(ctx); !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	ask()
	_ = ends(t, leaves) // left, or interrupted
	r.after = func(int) { r.await(5) }
	r.sameAsAlone(t, workers...)
	if r.told("the study has ended") != 2 {
		t.Errorf("notices %q", r.notices)
	}
}

// What a spy says.
const spoken, answered = `{"worker":"x","seq":1,"state":"idle"}`, `{"seq":1,"order":"stop"}`

// spy hears all that passes a server, and says some of it again to everybody.
type spy struct {
	conn *nats.Conn

	mu       sync.Mutex
	messages int
	clear    []string // what was said in the clear
	blobs    int
}

func newSpy(t *testing.T, url string) *spy {
	conn, err := nats.Connect(url)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(conn.Close)
	s := &spy{conn: conn}
	_, err = conn.Subscribe(">", s.hear)
	if err == nil {
		_, err = conn.Subscribe("$O.*.C.*", func(m *nats.Msg) {
			s.mu.Lock()
			defer s.mu.Unlock()
			s.blobs++
			if bytes.Contains(m.Data, []byte("ffsnap")) || bytes.Contains(m.Data, []byte("logistic")) {
				s.clear = append(s.clear, "a snapshot on "+m.Subject)
			}
		})
	}
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func (s *spy) hear(m *nats.Msg) {
	if !strings.HasPrefix(m.Subject, wire.Home+"-") {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.messages++
	for _, word := range []string{`"lease":`, `"worker":`, `"cohort":`, "cohort = ", "client.lr"} { // the server's own answers have none of these
		if bytes.Contains(m.Data, []byte(word)) && string(m.Data) != spoken && string(m.Data) != answered {
			s.clear = append(s.clear, fmt.Sprintf("%s on %s", m.Data, m.Subject))
		}
	}
	if s.messages%7 == 0 && !strings.Contains(m.Subject, ".inbox.") { // again, and as it would be in the clear
		_ = s.conn.PublishRequest(m.Subject, m.Reply, m.Data)
		_ = s.conn.PublishRequest(m.Subject, m.Reply, []byte(spoken))
		_ = s.conn.Publish(m.Reply, []byte(answered))
	}
}

func (s *spy) check(t *testing.T) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i, line := range s.clear {
		if i < 3 {
			t.Errorf("in the clear: %s", line)
		}
	}
	if s.messages < 20 || s.blobs == 0 {
		t.Errorf("the spy heard %d messages and %d parts of blobs", s.messages, s.blobs)
	}
}
