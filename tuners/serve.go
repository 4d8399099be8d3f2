package tuners

import (
	"context"
	"fmt"
	"os"
	"time"

	tunerv1 "github.com/fedfast/fedfast/tuners/proto"
	"github.com/hashicorp/go-hclog"
	"github.com/hashicorp/go-plugin"
	"google.golang.org/grpc"
)

// ProtocolVersion is the version of fedfast.tuner.v1 in the plugin handshake.
const ProtocolVersion = 1

// Handshake is what a tuner's process and its host must share. The cookie is no secret: it only tells a person who starts a tuner by
// hand that it is one.
var Handshake = plugin.HandshakeConfig{
	ProtocolVersion:  ProtocolVersion,
	MagicCookieKey:   "FEDFAST_TUNER_COOKIE",
	MagicCookieValue: "fedfast.tuner.v1",
}

// PluginName is the name under which a process dispenses its tuners; the protocol's messages name the tuner.
const PluginName = "tuner"

// maxMessage bounds a message: a state and what comes with it.
const maxMessage = 2*MaxState + 1<<20

// parentCheck is how often a tuner looks whether its host still lives.
const parentCheck = 500 * time.Millisecond

// Serve makes the program a tuner, or several: it answers the host that started it until the host ends it or dies, and does not return
// before. It is the last call of an author's main:
//
//	func main() { tuners.Serve(myTuner{}) }
//
// The binary is named fedfast-tuner-NAME, with the NAME of its Description. What it writes to stderr goes to the host's log.
func Serve(served ...Tuner) {
	byName := map[string]Tuner{}
	for _, t := range served {
		d, err := t.Describe(context.Background())
		if err != nil || d.Name == "" || byName[d.Name] != nil {
			fmt.Fprintf(os.Stderr, "tuner: every tuner needs a name of its own in Describe, not %q (%v)\n", d.Name, err)
			os.Exit(1)
		}
		byName[d.Name] = t
	}
	go endWithParent(os.Getppid())
	plugin.Serve(&plugin.ServeConfig{
		HandshakeConfig:  Handshake,
		VersionedPlugins: map[int]plugin.PluginSet{ProtocolVersion: {PluginName: &Plugin{Tuners: byName}}},
		GRPCServer: func(opts []grpc.ServerOption) *grpc.Server {
			return grpc.NewServer(append(opts, grpc.MaxRecvMsgSize(maxMessage), grpc.MaxSendMsgSize(maxMessage))...)
		},
		Logger: hclog.New(&hclog.LoggerOptions{Level: hclog.Warn, Output: os.Stderr, JSONFormat: true}),
	})
}

// endWithParent ends the process when its parent is gone, so that a killed host leaves nothing running.
func endWithParent(parent int) {
	for os.Getppid() == parent {
		time.Sleep(parentCheck)
	}
	os.Exit(1)
}

// Plugin connects the protocol to go-plugin. Hosts dispense it to get a connection; see package host.
type Plugin struct {
	plugin.NetRPCUnsupportedPlugin
	Tuners map[string]Tuner // served by name; unused on the host's side
}

var _ plugin.GRPCPlugin = (*Plugin)(nil)

// GRPCServer registers the service.
func (p *Plugin) GRPCServer(_ *plugin.GRPCBroker, s *grpc.Server) error {
	tunerv1.RegisterTunerServer(s, newServer(p.Tuners))
	return nil
}

// GRPCClient returns the connection, a *grpc.ClientConn, for NewRemote.
func (p *Plugin) GRPCClient(_ context.Context, _ *plugin.GRPCBroker, conn *grpc.ClientConn) (any, error) {
	return conn, nil
}
