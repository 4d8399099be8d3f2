package estimate

import (
	"fmt"

	"github.com/fedfast/fedfast/data"
	"github.com/fedfast/fedfast/fl"
	"github.com/fedfast/fedfast/fl/fleet"
	"github.com/fedfast/fedfast/fl/study/config"
	"github.com/fedfast/fedfast/nn"
)

// Jobs returns what a client's local training of the whole network takes on its device, by
// the client's number in the federation, with the hyperparameters of a configuration; and
// the bytes of memory that it takes there.
func Jobs(c *config.Config, fed *data.Federation, m *nn.Model) (job func(client int) fleet.Job, memory int64, err error) {
	method, err := fl.MethodByName(c.Method)
	if err != nil {
		return nil, 0, fmt.Errorf("estimate: %w", err)
	}
	_, flops := m.FLOPs()
	training := fl.Config{Model: m, Method: method, Statistics: c.Norm.Statistics, Batch: c.LargestBatch(), Adam: c.MayAdapt(), Momentum: c.MayHaveMomentum()}
	bytes := 4 * int64(training.Sent())
	return func(client int) fleet.Job {
		n, val := float64(fed.Clients[client].Train.Len()), float64(fed.Clients[client].Val.Len())
		return fleet.Job{Client: client, FLOPs: examples(method, c.Client.Client, c.Server, m, n, val) * float64(flops), Down: bytes, Up: bytes}
	}, training.DeviceMemory(m), nil
}

// examples returns how many training examples the local training of a client with n of
// them, and val validation examples, takes under a method, in units of one gradient of the
// whole network.
func examples(method fl.Method, p fl.ClientParams, s fl.ServerParams, m *nn.Model, n, val float64) float64 {
	w := fl.Workload{Params: p, Server: s, Train: n, Val: val, Forward: forward(m)}
	return w.Of(&method)
}

// forward returns the operations of a forward pass over those of a gradient, 0 of a model
// without any.
func forward(m *nn.Model) float64 {
	flops, train := m.FLOPs()
	return float64(flops) / float64(max(1, train))
}
