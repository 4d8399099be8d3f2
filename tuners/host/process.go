package host

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os/exec"
	"strings"
	"time"

	"github.com/fedfast/fedfast/tuners"
	"github.com/hashicorp/go-plugin"
	"google.golang.org/grpc"
	"google.golang.org/grpc/health/grpc_health_v1"
)

// killPatience is how long a process may take to end by itself, and how long its output is waited for after it was killed.
const killPatience = 2 * time.Second

// process is one running subprocess of a tuner.
type process struct {
	cmd    *exec.Cmd
	client *plugin.Client
	conn   *grpc.ClientConn
	remote *tuners.Remote
	stderr *tail
}

// start runs the program, shakes hands and checks its health. The error is one line without the tuner's name.
func start(ctx context.Context, ref Ref, o Options) (*process, error) {
	sum, err := hex.DecodeString(ref.SHA256)
	if err != nil {
		return nil, fmt.Errorf("the checksum %q is no hexadecimal number", ref.SHA256)
	}
	p := &process{cmd: exec.Command(ref.Path, ref.Args...), stderr: &tail{}}
	p.cmd.Env = o.Env
	out := &lines{log: o.Logger.With("tuner", ref.Name)}
	p.client = plugin.NewClient(&plugin.ClientConfig{
		HandshakeConfig:  tuners.Handshake,
		VersionedPlugins: map[int]plugin.PluginSet{tuners.ProtocolVersion: {tuners.PluginName: &tuners.Plugin{}}},
		Cmd:              p.cmd,
		SecureConfig:     &plugin.SecureConfig{Checksum: sum, Hash: sha256.New()},
		AllowedProtocols: []plugin.Protocol{plugin.ProtocolGRPC},
		AutoMTLS:         true,
		StartTimeout:     o.StartTimeout,
		Stderr:           p.stderr,
		SyncStdout:       out,
		SyncStderr:       out,
		Logger:           newLogger(o.Logger, ref.Name),
	})
	if _, err := p.client.Start(); err != nil {
		ended := p.kill(true)
		return nil, p.explain(err, ended, o.StartTimeout)
	}
	// From here the library has no time-out of its own: killing the process ends whatever hangs.
	ctx, cancel := context.WithTimeout(ctx, o.StartTimeout)
	defer cancel()
	stop := context.AfterFunc(ctx, func() { _ = p.cmd.Process.Kill() })
	defer stop()
	if err := p.connect(ctx); err != nil {
		p.kill(true)
		if ctx.Err() != nil {
			return nil, fmt.Errorf("said hello but did not answer within %v", o.StartTimeout)
		}
		return nil, fmt.Errorf("said hello but cannot be reached: %s%s", firstLine(err), p.said())
	}
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
		return fmt.Errorf("no gRPC connection but %T", raw)
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
		return fmt.Errorf("its health is %s", reply.GetStatus())
	}
	return nil
}

// kill ends the process: at once when hard, else after it had time to end by itself. It says whether the process is known to have
// ended, which a child of its own that keeps its output open can prevent.
func (p *process) kill(hard bool) bool {
	if hard && p.cmd.Process != nil {
		_ = p.cmd.Process.Kill()
	}
	done := make(chan struct{})
	go func() {
		p.client.Kill()
		close(done)
	}()
	for range 2 {
		select {
		case <-done:
			return true
		case <-time.After(killPatience):
			if p.cmd.Process != nil {
				_ = p.cmd.Process.Kill()
			}
		}
	}
	return false
}

// said quotes the tuner's last words, if it had any.
func (p *process) said() string {
	if words := p.stderr.lastWords(); words != "" {
		return "; it said: " + words
	}
	return ""
}

// explain turns the library's error about a start into one line.
func (p *process) explain(err error, ended bool, timeout time.Duration) error {
	line, rubbish := strings.CutPrefix(firstLine(err), "Unrecognized remote plugin message:")
	line = strings.TrimSpace(line)
	switch {
	case errors.Is(err, plugin.ErrChecksumsDoNotMatch):
		return errors.New("the program changed since it was found")
	case p.cmd.Process == nil:
		return fmt.Errorf("cannot be started: %w", err)
	case rubbish && line != "":
		return fmt.Errorf("printed %q instead of the plugin handshake: does its main end in tuners.Serve?%s", line, p.said())
	case strings.HasPrefix(firstLine(err), "timeout"):
		return fmt.Errorf("did not say hello within %v%s", timeout, p.said())
	case rubbish && ended && p.cmd.ProcessState != nil:
		return fmt.Errorf("ended at once (%s)%s", p.cmd.ProcessState, p.said())
	case rubbish:
		return fmt.Errorf("closed its output before the plugin handshake%s", p.said())
	}
	return fmt.Errorf("cannot be started: %s%s", firstLine(err), p.said())
}

// firstLine returns the first line of an error's text.
func firstLine(err error) string {
	line, _, _ := strings.Cut(err.Error(), "\n")
	return strings.TrimSpace(line)
}
