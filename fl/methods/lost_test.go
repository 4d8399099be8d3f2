package methods

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/fedfast/fedfast/fl"
	"github.com/fedfast/fedfast/fl/internal/trainer"
	"github.com/fedfast/fedfast/internal/test/fltest"
)

// TestLostClientsOfEveryMethod has clients whose rates break their training: whatever a
// round measures, and the weights, are as for clients that take all of their steps,
// as they do where FATHOM's cosine is measured besides.
func TestLostClientsOfEveryMethod(t *testing.T) {
	fed := fltest.OpenGlyphs(t, 12, 30)
	probes := []string{"val_error_before", "val_loss_after", "delta_norm", "seconds_simulated", "sign_agreement"}
	fewer, tested := 0, 0
	forEachMethod(t, func(t *testing.T, m fl.Method) {
		tested++
		model := modelOf(t, m, fed)
		train := func(seed uint64, also ...string) (string, int64) {
			draw := rand.New(rand.NewPCG(seed, 7))
			plan := variedPlan(m, 5)
			for i := range plan.Clients {
				c := &plan.Clients[i]
				c.LR = math.Pow(10, draw.Float64()*16-4)
				if draw.IntN(4) == 0 {
					c.LR = 0.05
				}
			}
			plan.Probes = slices.Concat(probes, also)
			var steps atomic.Int64
			e := newEngine(t, fl.Config{
				Model: model, Data: fed, Method: m, Cohort: 5, Seed: seed, Workers: 1,
				NewTrainer: func() trainer.Trainer { return fltest.CountedSteps{Workspace: model.NewWorkspace(), Steps: &steps} },
			})
			tr := e.NewTrial(0)
			var out strings.Builder
			for range 3 {
				r, err := tr.Round(t.Context(), plan)
				if err != nil {
					fmt.Fprintln(&out, err)
					break
				}
				fmt.Fprintln(&out, r.TrainLoss, r.Dropped)
				for _, p := range probes {
					x, ok := r.Probe(p)
					fmt.Fprintln(&out, p, x, ok)
				}
				for _, s := range r.Slots {
					fmt.Fprintln(&out, s.DeltaNorm, s.Steps)
				}
			}
			fmt.Fprintln(&out, model.SHA256(tr.Weights()))
			return out.String(), steps.Load()
		}
		for _, seed := range []uint64{3, 7} { // 7 told FedRep's norms apart when lost heads were enough
			got, steps := train(seed)
			all, most := train(seed, "min_cos_grad_displacement")
			if got != all {
				t.Errorf("seed %d: with clients given up:\n%s\nwith all of their steps:\n%s", seed, got, all)
			}
			if steps < most {
				fewer++
			}
		}
	})
	if tested == len(fl.Methods()) && fewer < 5 { // not of those alone that -run names
		t.Errorf("in %d trainings only is somebody given up", fewer)
	}
}
