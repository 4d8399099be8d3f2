package host

import (
	"context"
	"crypto/rand"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"sync"
	"time"

	"github.com/hashicorp/go-plugin/runner"
)

// runs is how go-plugin runs a tuner's process: in a process group of its own that
// is killed as a whole, with a stdin that ends when this process does, killed by
// the system together with this process where the system can do that, and with
// bounded output.
type runs struct {
	cmd    *exec.Cmd
	log    *slog.Logger
	mark   string    // a variable of its environment that no other process has but what it starts
	stdin  io.Closer // held open: its end tells the tuner that the host is gone
	stdout *greeting
	stderr *gate
	mu     sync.Mutex
	pid    int
	doomed bool             // it was killed before it was started
	ended  chan struct{}    // closed when the process and what it had started have ended
	state  *os.ProcessState // how it ended; nil when that is unknown
}

var _ runner.Runner = (*runs)(nil)

// markEnv is the variable by which what a tuner started is found when the tuner has
// ended.
const markEnv = "FEDFAST_TUNER_PROCESS"

// outputPatience is how long the output is read after the end of the process, which
// something that is out of reach may hold open.
const outputPatience = time.Second

// newRuns prepares a command that was not started.
func newRuns(cmd *exec.Cmd, log *slog.Logger, last *tail, prints *lines, deathSignal bool) (*runs, error) {
	r := &runs{cmd: cmd, log: log, mark: markEnv + "=" + rand.Text(), ended: make(chan struct{})}
	cmd.Env = append(cmd.Env, r.mark)
	stdin, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	stderr, err := cmd.StderrPipe()
	if err != nil {
		return nil, err
	}
	r.stdin, r.stdout, r.stderr = stdin, newGreeting(untilClosed{stdout}, prints, r.ended), &gate{ReadCloser: untilClosed{stderr}, last: last, may: prints.may}
	ownGroup(cmd, deathSignal)
	return r, nil
}

// Start starts the process from a thread that lives as long as the process: Linux
// sends the parent-death signal when the thread ends.
func (r *runs) Start(context.Context) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.doomed {
		return context.Canceled
	}
	started := make(chan error, 1)
	go func() {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		err := r.cmd.Start()
		started <- err
		if err == nil {
			r.follow()
		}
	}()
	if err := <-started; err != nil {
		return err
	}
	r.pid = r.cmd.Process.Pid
	r.log.Debug("plugin started", "path", r.cmd.Path, "pid", r.pid)
	return nil
}

// follow waits for the end of the process, whoever else holds its output, and ends
// what it left: first its group, then what left that.
func (r *runs) follow() {
	r.state, _ = r.cmd.Process.Wait() // there is nothing to be done about a process that nobody can wait for
	killGroup(r.cmd.Process)
	killMarked(r.mark)
	close(r.ended)
	time.AfterFunc(outputPatience, r.abandon)
}

// Wait waits for the end of the process. The plugin library calls it when it has
// read all output.
func (r *runs) Wait(context.Context) error {
	<-r.ended
	_ = r.stdin.Close()
	r.abandon()
	if r.state != nil && !r.state.Success() {
		return &exec.ExitError{ProcessState: r.state}
	}
	return nil
}

// Kill ends the process and its children at once.
func (r *runs) Kill(context.Context) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.pid == 0 {
		r.doomed = true
		return nil
	}
	select {
	case <-r.ended: // its number may be another's by now
	default:
		killGroup(r.cmd.Process)
	}
	return nil
}

// abandon closes this side of the output.
func (r *runs) abandon() {
	_ = r.stdout.Close()
	_ = r.stderr.Close()
}

// Stdout returns what go-plugin may read: the line of the handshake.
func (r *runs) Stdout() io.ReadCloser { return r.stdout }

// Stderr returns the output for the log, as much of it as the log takes.
func (r *runs) Stderr() io.ReadCloser { return r.stderr }

// Name returns the program.
func (r *runs) Name() string { return r.cmd.Path }

// ID returns the pid.
func (r *runs) ID() string { return strconv.Itoa(r.pid) }

// Diagnose has nothing to add: explain tells more.
func (r *runs) Diagnose(context.Context) string { return "" }

// PluginToHost refuses addresses that are not on this machine.
func (r *runs) PluginToHost(network, address string) (hostNetwork, hostAddress string, err error) {
	if network == "tcp" {
		where, _, err := net.SplitHostPort(address)
		if ip := net.ParseIP(where); err != nil || ip == nil || !ip.IsLoopback() {
			return "", "", fmt.Errorf("serves at %s, which is not a loopback address", address)
		}
	}
	return network, address, nil
}

// HostToPlugin changes nothing: both are on one machine.
func (r *runs) HostToPlugin(network, address string) (pluginNetwork, pluginAddress string, err error) {
	return network, address, nil
}

// socketParent is where the directory of a tuner's socket is made: the usual place
// for temporary files unless its name is too long for the address of a socket,
// which has about 100 bytes.
func socketParent() string {
	if dir := os.TempDir(); len(dir) <= 50 || runtime.GOOS == "windows" {
		return dir
	}
	return "/tmp"
}
