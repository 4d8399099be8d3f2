package rogue

import (
	"context"
	"time"

	"github.com/hashicorp/go-plugin"
	"google.golang.org/grpc"

	"github.com/fedfast/fedfast/tuners"
	tunerv1 "github.com/fedfast/fedfast/tuners/internal/proto"
)

// serveRaw serves without what tuners.Serve adds: limits and the watch of the host.
// Answers go through spoil.
func serveRaw(t tuner, spoil grpc.UnaryServerInterceptor) {
	plugin.Serve(&plugin.ServeConfig{
		HandshakeConfig: tuners.Handshake,
		VersionedPlugins: map[int]plugin.PluginSet{
			tuners.ProtocolVersion: {tuners.PluginName: &tuners.Plugin{Tuners: map[string]tuners.Tuner{t.mode: t}}},
		},
		GRPCServer: func(opts []grpc.ServerOption) *grpc.Server {
			if spoil != nil {
				opts = append(opts, grpc.UnaryInterceptor(spoil))
			}
			running = grpc.NewServer(append(opts, grpc.MaxSendMsgSize(1<<30))...)
			return running
		},
	})
}

// running is the process's server.
var running *grpc.Server

// hugeState puts a state of 100 MB into the third answer to Suggest.
func hugeState(ctx context.Context, req any, _ *grpc.UnaryServerInfo, handler grpc.UnaryHandler) (any, error) {
	reply, err := handler(ctx, req)
	if r, ok := reply.(*tunerv1.SuggestReply); ok && len(r.GetDecisions()) > 0 && r.GetDecisions()[0].GetTrial() == 2 {
		r.State = make([]byte, 100_000_000)
	}
	return reply, err
}

// severs closes every connection at the third answer to Suggest, but the process
// lives on.
func severs(ctx context.Context, req any, _ *grpc.UnaryServerInfo, handler grpc.UnaryHandler) (any, error) {
	reply, err := handler(ctx, req)
	if r, ok := reply.(*tunerv1.SuggestReply); ok && len(r.GetDecisions()) > 0 && r.GetDecisions()[0].GetTrial() == 2 {
		go running.Stop()
		time.Sleep(time.Hour)
	}
	return reply, err
}
