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
	p, second, first, bytes := localOf(c), hessian(m), forward(m), 4*int64(training.Sent())
	return func(client int) fleet.Job {
		n, val := float64(fed.Clients[client].Train.Len()), float64(fed.Clients[client].Val.Len())
		return fleet.Job{Client: client, FLOPs: examples(method, p, c.Server, n, val, second, first) * float64(flops), Down: bytes, Up: bytes}
	}, training.DeviceMemory(m), nil
}
