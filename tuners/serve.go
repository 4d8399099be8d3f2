package tuners

import (
	"context"
	"fmt"
	"io"
	"maps"
	"os"
	"os/signal"
	"slices"
	"strings"
	"sync"
	"time"

	tunerv1 "github.com/fedfast/fedfast/tuners/internal/proto"
	"github.com/hashicorp/go-hclog"
	"github.com/hashicorp/go-plugin"
	"google.golang.org/grpc"
)

// ProtocolVersion is the version of fedfast.tuner.v1 in the plugin handshake.
const ProtocolVersion = 1

// Handshake is what a tuner's process and its host must share. The cookie is no
// secret: it only tells a person who starts a tuner by hand that it is one.
var Handshake = plugin.HandshakeConfig{
	ProtocolVersion:  ProtocolVersion,
	MagicCookieKey:   "FEDFAST_TUNER_COOKIE",
	MagicCookieValue: "fedfast.tuner.v1",
}

// PluginName is the name under which a process dispenses its tuners; the protocol's
// messages name the tuner.
const PluginName = "tuner"

// maxMessage bounds a message: a state and what comes with it.
const maxMessage = 2*MaxState + 1<<20

// WatchStdin is the environment variable with which a host says that it holds the
// tuner's stdin open as long as it lives: its end is the end of the tuner, on every
// system and even when the host is killed.
const WatchStdin = "FEDFAST_TUNER_WATCH_STDIN"

// DebugEnv is the environment variable that makes a tuner serve without a host, for
// a debugger: it prints where it serves, for --tuner-reattach, and runs until it is
// interrupted.
const DebugEnv = "FEDFAST_TUNER_DEBUG"

// Window is the flow control window of connections in both directions. With a fixed
// one gRPC sends no frames to find out how fast a connection is, which it would do
// at every small message.
const Window = 1 << 20

// streamWorkers answer calls without a new goroutine, and so a new stack, for each.
const streamWorkers = 4

// parentCheck is how often a tuner looks whether its host still lives.
const parentCheck = 500 * time.Millisecond

// Serve makes the program a tuner, or several: it answers the host that started it
// until the host ends it or dies, and does not return before. It is the last call
// of an author's main:
//
//	func main() { tuners.Serve(myTuner{}) }
//
// The binary is named fedfast-tuner-NAME, with the NAME of its Description. What it
// writes to stderr goes to the host's log.
func Serve(served ...Tuner) {
	byName := map[string]Tuner{}
	for _, t := range served {
		d, err := t.Describe(context.Background())
		if err != nil || d.Name == "" || byName[d.Name] != nil {
			fmt.Fprintf(os.Stderr, "tuner: Describe must return a unique name, not %q (%v)\n", d.Name, err)
			os.Exit(1)
		}
		byName[d.Name] = t
	}
	stderr := directStderr(os.Stderr)
	config := &plugin.ServeConfig{
		HandshakeConfig:  Handshake,
		VersionedPlugins: map[int]plugin.PluginSet{ProtocolVersion: {PluginName: &Plugin{Tuners: byName}}},
		GRPCServer: func(opts []grpc.ServerOption) *grpc.Server {
			return grpc.NewServer(append(opts, grpc.MaxRecvMsgSize(maxMessage), grpc.MaxSendMsgSize(maxMessage),
				grpc.StaticStreamWindowSize(Window), grpc.StaticConnWindowSize(Window), grpc.NumStreamWorkers(streamWorkers), grpc.UnaryInterceptor(stderr))...)
		},
		Logger: hclog.New(&hclog.LoggerOptions{Level: hclog.Warn, Output: os.Stderr, JSONFormat: true}),
	}
	if os.Getenv(DebugEnv) != "" {
		debug(config, slices.Sorted(maps.Keys(byName)))
		return
	}
	go endWithParent(os.Getppid())
	if os.Getenv(WatchStdin) != "" {
		go endWithStdin(os.Stdin)
	}
	plugin.Serve(config)
}

// directStderr gives os.Stderr back at the first call. The plugin library sends
// what is written there through the connection, where the last words of a process
// that dies are lost; the host reads the real one, too.
func directStderr(real *os.File) grpc.UnaryServerInterceptor {
	var first sync.Once
	return func(ctx context.Context, req any, _ *grpc.UnaryServerInfo, handler grpc.UnaryHandler) (any, error) {
		first.Do(func() { os.Stderr = real })
		return handler(ctx, req)
	}
}

// debug serves without a host until the process is interrupted.
func debug(config *plugin.ServeConfig, names []string) {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	at := make(chan *plugin.ReattachConfig, 1)
	config.Test = &plugin.ServeTestConfig{Context: ctx, ReattachConfigCh: at}
	go func() {
		r := <-at
		for i, name := range names {
			names[i] = fmt.Sprintf("%s=%s:%s@%d", name, r.Addr.Network(), r.Addr, r.Pid)
		}
		fmt.Printf("serving without a host; run fedfast with --tuner-reattach %s\n", strings.Join(names, ","))
	}()
	plugin.Serve(config)
}

// endWithStdin ends the process when its stdin ends, which the host holds open as
// long as it lives.
func endWithStdin(stdin io.Reader) {
	_, _ = io.Copy(io.Discard, stdin) // an end of any kind is the end
	os.Exit(1)
}

// endWithParent ends the process when its parent is gone, so that a killed host
// leaves nothing running.
func endWithParent(parent int) {
	for os.Getppid() == parent {
		time.Sleep(parentCheck)
	}
	os.Exit(1)
}

// Plugin connects the protocol to go-plugin. Hosts dispense it to get a connection;
// see package host.
type Plugin struct {
	plugin.NetRPCUnsupportedPlugin
	Tuners map[string]Tuner // served by name; unused on the host's side
}

var _ plugin.GRPCPlugin = (*Plugin)(nil)

// GRPCServer registers the service.
func (p *Plugin) GRPCServer(_ *plugin.GRPCBroker, s *grpc.Server) error {
	tunerv1.RegisterTunerServer(s, &server{tuners: p.Tuners, sessions: map[string]*served{}})
	return nil
}

// GRPCClient returns the connection, a *grpc.ClientConn, for NewRemote.
func (p *Plugin) GRPCClient(_ context.Context, _ *plugin.GRPCBroker, conn *grpc.ClientConn) (any, error) {
	return conn, nil
}
