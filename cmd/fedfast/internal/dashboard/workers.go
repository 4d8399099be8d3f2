package dashboard

import (
	"context"

	"github.com/fedfast/fedfast/fl/study/view"
)

// worker is one of a study with a cluster.
type worker struct {
	Name    string `json:"name"`
	Machine string `json:"machine"`
	State   string `json:"state"` // here, left or lost
	Trial   *int   `json:"trial"` // that it was given last
	CPU     string `json:"cpu"`
	Level   string `json:"level"`
	Workers int    `json:"workers"` // client tasks at once
}

// workersOf are those that a study has had.
func workersOf(ctx context.Context, v *view.Study, o *view.Overview) ([]worker, error) {
	known, _, err := v.Workers(ctx, o, nil)
	var all []worker
	for i := range known {
		w := &known[i]
		x := worker{Name: w.Worker, Machine: w.Host, State: w.Standing(), CPU: w.CPU, Level: w.Level, Workers: w.Workers}
		if w.Last >= 0 {
			x.Trial = &w.Last
		}
		all = append(all, x)
	}
	return all, err
}
