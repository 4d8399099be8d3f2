package fl

import (
	"context"
	"math"

	"github.com/fedfast/fedfast/fl/internal/clock"
	"github.com/fedfast/fedfast/kernels/det"
)

// power returns the clients with the highest losses among candidates (Cho et al. 2020).
func (c *chooser) power(ctx context.Context, p clock.Choice, key uint64, ask func([]int32) []int32) ([]int32, error) {
	clients := c.trial.engine.cfg.Data.Clients
	d := c.Candidates
	if d == 0 {
		d = 2 * p.Number
	}
	candidates := ask(weighted(p.Clients, d, key, func(client int32) float64 { return float64(clients[client].Train.Len()) }))
	losses, err := c.trial.losses(ctx, candidates)
	if err != nil {
		return nil, err
	}
	return least(candidates, p.Number, func(client int32) float64 { return -losses[client] }), nil
}

// losses measures the trial's weights on the training samples of clients. One that has no
// finite loss has none.
func (t *Trial) losses(ctx context.Context, clients []int32) (map[int32]float64, error) {
	e := t.engine
	all := make([]float64, len(clients))
	err := e.each(ctx, len(clients), func(i int, w *worker) error {
		r, err := w.evaluate(t.weights, e.cfg.Data.Clients[clients[i]].Train, nil, nil)
		if err == nil {
			all[i] = scoreOf(r).Loss
		}
		return err
	})
	of := make(map[int32]float64, len(all))
	for i, client := range clients {
		if of[client] = all[i]; !det.Finite(all[i]) {
			of[client] = -math.MaxFloat64
		}
	}
	return of, err
}

// candidateWork returns what a candidate's evaluation takes: the weights that it receives,
// operations, and the loss that it sends.
func (e *Engine) candidateWork(_, client, _ int) clock.Load {
	each, _ := e.cfg.Model.FLOPs()
	down, _ := e.bytes(e.cfg.Sent(), &e.cfg.Updates)
	return clock.Load{FLOPs: float64(float64(each) * float64(e.cfg.Data.Clients[client].Train.Len())), Down: down, Up: 4}
}
