package host

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/hashicorp/go-hclog"
	"github.com/hashicorp/go-plugin"
	"github.com/hashicorp/go-plugin/runner"
	"google.golang.org/grpc"
	"google.golang.org/grpc/health/grpc_health_v1"

	"github.com/fedfast/fedfast/tuners"
)

// killPatience is how long a process may take to end by itself, and how long its
// output is waited for after it was killed.
const killPatience = 2 * time.Second

// process is one running subprocess of a tuner, or one that is attached to.
type process struct {
	attached bool
	runs     *runs // nil when attached, or when it was never started
	client   *plugin.Client
	conn     *grpc.ClientConn
	remote   *tuners.Remote
	stderr   *tail
	synced   [2]*lines // what it prints through the connection: to stdout and to stderr
}

// maxAnswer bounds one message of a tuner: a state of 16 MiB and as much of
// anything else.
const maxAnswer = 2*tuners.MaxState + 1<<20

// dialOptions are the options of every connection.
var dialOptions = []grpc.DialOption{
	grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(maxAnswer)),
	grpc.WithStaticStreamWindowSize(tuners.Window),
	grpc.WithStaticConnWindowSize(tuners.Window),
	grpc.WithIdleTimeout(0), // a connection that was closed for want of calls could not be made again
}

// errChanged says that a program is another one than was found.
var errChanged = errors.New("program changed since it was found")

// start runs the program, shakes hands and checks its health, until ctx ends. The
// error is one line without the tuner's name.
func start(ctx context.Context, ref Ref, o Options) (*process, error) {
	if ref.Attach != nil {
		return attach(ctx, ref, o)
	}
	if err := sameProgram(ref); err != nil {
		return nil, err
	}
	log := o.Logger.With("tuner", ref.Name)
	p := &process{stderr: &tail{}}
	may := &allowance{log: log, left: printBurst, since: time.Now()}
	newLines := func() *lines { return &lines{log: log, may: may} }
	p.synced = [2]*lines{newLines(), newLines()}
	var sockets string
	unwatch := func() bool { return true }
	config := &plugin.ClientConfig{
		HandshakeConfig:  tuners.Handshake,
		VersionedPlugins: map[int]plugin.PluginSet{tuners.ProtocolVersion: {tuners.PluginName: &tuners.Plugin{}}},
		AllowedProtocols: []plugin.Protocol{plugin.ProtocolGRPC},
		AutoMTLS:         !ref.Builtin || runtime.GOOS == "windows", // making certificates is a third of a start's work
		SkipHostEnv:      true,
		StartTimeout:     o.StartTimeout,
		SyncStdout:       synced{p, p.synced[0]},
		SyncStderr:       io.MultiWriter(p.synced[1], p.stderr),
		Logger:           newLogger(o.Logger, ref.Name),
		UnixSocketConfig: &plugin.UnixSocketConfig{TempDir: socketParent()},
		GRPCDialOptions:  dialOptions,
		RunnerFunc: func(_ hclog.Logger, wanted *exec.Cmd, dir string) (runner.Runner, error) {
			sockets = dir
			cmd := exec.Command(ref.Path, ref.Args...)
			cmd.Env = slices.Concat(environment(os.Environ()), wanted.Env, o.Env, []string{tuners.WatchStdin + "=1"})
			var err error
			if p.runs, err = newRuns(cmd, log, p.stderr, newLines(), !o.NoDeathSignal); err != nil {
				return nil, err
			}
			unwatch = context.AfterFunc(ctx, func() { _ = p.runs.Kill(ctx) })
			return p.runs, nil
		},
	}
	p.client = plugin.NewClient(config)
	_, err := p.client.Start()
	unwatch()
	if err != nil {
		ended := p.kill(true)
		if sockets != "" {
			_ = os.RemoveAll(sockets)
		}
		return nil, p.explain(err, ended, o.StartTimeout)
	}
	if !p.runs.stdout.secure {
		// This program's own tuners, and those that cannot do TLS with the host's
		// certificate, are spoken to through a socket in a directory that only this
		// user can enter. The library would insist on TLS; it reads its configuration
		// again when it connects.
		config.TLSConfig = nil
	}
	// From here the library has no time-out of its own: killing the process ends
	// whatever hangs.
	ctx, cancel := context.WithTimeout(ctx, o.StartTimeout)
	defer cancel()
	stop := context.AfterFunc(ctx, func() { _ = p.runs.Kill(ctx) })
	defer stop()
	if err := p.connect(ctx); err != nil {
		p.kill(true)
		if ctx.Err() != nil {
			return nil, fmt.Errorf("completed the handshake but did not respond within %v", o.StartTimeout)
		}
		return nil, fmt.Errorf("completed the handshake but cannot be reached: %s%s", firstLine(err), p.said())
	}
	// The connection lasts as long as the process. Without its socket nobody else
	// finds the tuner, and nothing is left behind when this process is killed.
	_ = os.RemoveAll(sockets)
	return p, nil
}

// connect opens the connection and checks that the service is healthy.
func (p *process) connect(ctx context.Context) error {
	protocol, err := p.client.Client()
	if err != nil {
		return err
	}
	raw, err := protocol.Dispense(tuners.PluginName)
	if err != nil {
		return err
	}
	conn, ok := raw.(*grpc.ClientConn)
	if !ok {
		return fmt.Errorf("not a gRPC connection but %T", raw)
	}
	p.conn = conn
	return p.ping(ctx)
}

// ping asks for the service's health.
func (p *process) ping(ctx context.Context) error {
	reply, err := grpc_health_v1.NewHealthClient(p.conn).Check(ctx, &grpc_health_v1.HealthCheckRequest{Service: plugin.GRPCServiceName})
	if err != nil {
		return err
	}
	if reply.GetStatus() != grpc_health_v1.HealthCheckResponse_SERVING {
		return fmt.Errorf("health status is %s", reply.GetStatus())
	}
	return nil
}

// kill ends the process and what it started: at once when hard, else after it had
// time to end by itself. It says whether the process is known to have ended. An
// attached process lives on.
func (p *process) kill(hard bool) bool {
	switch {
	case p.attached:
		_ = p.conn.Close() // nothing can be done about it
		return true
	case p.runs == nil: // it failed before there was anything to run
		return true
	}
	if hard {
		_ = p.runs.Kill(context.Background())
	}
	done := make(chan struct{})
	go func() {
		p.client.Kill()
		close(done)
	}()
	for range 2 {
		select {
		case <-done:
			p.synced[0].flush()
			p.synced[1].flush()
			return true
		case <-time.After(killPatience):
			_ = p.runs.Kill(context.Background())
		}
	}
	p.runs.abandon()
	return false
}

// said quotes the tuner's last words, if it had any.
func (p *process) said() string {
	if words := p.stderr.lastWords(); words != "" {
		return "; output: " + words
	}
	return ""
}

// explain turns the library's error about a start into one line.
func (p *process) explain(err error, ended bool, timeout time.Duration) error {
	line, rubbish := strings.CutPrefix(firstLine(err), "Unrecognized remote plugin message:")
	line = tuners.Plain(line, 100)
	silent := rubbish && line == "" || strings.HasPrefix(firstLine(err), "plugin exited")
	switch path, ok := errors.AsType[*fs.PathError](err); {
	case p.runs == nil && ok: // the plugin library made no directory for the socket
		return fmt.Errorf("cannot be started: temporary directory %s is not usable (%w); set TMPDIR to a writable directory",
			socketParent(), path.Err)
	case p.runs == nil:
		return fmt.Errorf("cannot be started: %w", err)
	case p.runs.pid == 0:
		return cannotRun(p.runs.cmd.Path, err)
	case silent && ended && p.runs.state != nil && unfit(p.runs.cmd.Path) != "": // the system started env, which did not find it
		return cannotRun(p.runs.cmd.Path, err)
	case silent && ended && p.runs.state != nil:
		return fmt.Errorf("exited immediately (%s)%s", p.runs.state, p.said())
	case silent:
		return fmt.Errorf("closed stdout before the plugin handshake%s", p.said())
	case rubbish:
		return fmt.Errorf("printed \"%s\" instead of the plugin handshake: does its main end in tuners.Serve?%s", line, p.said())
	case strings.HasPrefix(firstLine(err), "timeout"):
		return fmt.Errorf("did not complete the handshake within %v%s; raise tuner.start_seconds", timeout, p.said())
	}
	return fmt.Errorf("cannot be started: %s%s", firstLine(err), p.said())
}

// sameProgram checks the program against the checksum with which it was found.
func sameProgram(ref Ref) error {
	sum := programSum
	if ref.Builtin {
		sum = builtin.checksum
	}
	switch sum, err := sum(ref.Path); {
	case err != nil:
		return fmt.Errorf("cannot be started: %w", err)
	case sum != ref.SHA256:
		return errChanged
	}
	return nil
}

// firstLine returns the first line of an error's text, as much as a line of an
// error takes.
func firstLine(err error) string {
	line, _, _ := strings.Cut(err.Error(), "\n")
	return tuners.Plain(line, maxWords)
}

// newLogger returns go-plugin's logger: everything goes to log.
func newLogger(log *slog.Logger, tuner string) hclog.Logger {
	l := hclog.NewInterceptLogger(&hclog.LoggerOptions{Name: "host", Level: hclog.Trace, Output: io.Discard})
	l.RegisterSink(sink{log.With("tuner", tuner)})
	return l
}

// sink hands go-plugin's log lines to slog.
type sink struct{ log *slog.Logger }

// Accept takes one line. What the plugin library says of itself is for debugging;
// what the tuner wrote to stderr keeps its level, plain lines counting as
// information.
func (s sink) Accept(name string, level hclog.Level, msg string, args ...any) {
	to := slog.LevelDebug
	if name != "host" && !strings.HasPrefix(name, "host.stdio") {
		to = slog.LevelInfo
		if level >= hclog.Error {
			to = slog.LevelError
		} else if level >= hclog.Warn {
			to = slog.LevelWarn
		}
	}
	s.log.Log(context.Background(), to, msg, args...)
}

// maxWords is how many characters of what a tuner said an error quotes.
const maxWords = 300

// tailSize bounds what is kept of a tuner's output.
const tailSize = 8 << 10

// tail keeps the end of a tuner's stderr, for the error that says why it died.
type tail struct {
	mu   sync.Mutex
	text []byte
}

// Write keeps the newest tailSize bytes.
func (t *tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.text = append(t.text, p...)
	if extra := len(t.text) - tailSize; extra > 0 {
		t.text = t.text[extra:]
	}
	return len(p), nil
}

// lastWords returns the line that tells most: that of a panic, else the last one
// that is no library's JSON.
func (t *tail) lastWords() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	last := ""
	for line := range strings.Lines(string(t.text)) {
		line = strings.TrimSpace(line)
		if strings.HasPrefix(line, "panic: ") || strings.HasPrefix(line, "fatal error: ") {
			return tuners.Plain(line, maxWords)
		}
		if line != "" && !json.Valid([]byte(line)) {
			last = line
		}
	}
	return tuners.Plain(last, maxWords)
}
