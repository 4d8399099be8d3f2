package fl

import (
	"github.com/fedfast/fedfast/kernels"
	"github.com/fedfast/fedfast/kernels/det"
	"github.com/fedfast/fedfast/nn"
)

// privateSteps takes the client's local steps by DP-SGD (Abadi et al. 2016, arXiv 1607.00133):
// a step draws each training example with the probability batch/examples, clips each one's
// gradient, adds noise to their sum and divides by the expected number of them. An example
// whose gradient is not finite adds nothing.
func (l *Local) privateSteps(p ClientParams, w []float32, opts nn.TrainOpts, opt *nn.Optimizer) error {
	e, n := l.engine, l.Train.Len()
	privacy := e.cfg.Privacy
	rate := min(1, float64(p.Batch)/float64(n))
	l.worker.gradients = grown(l.worker.gradients, len(w))
	sum, bound := l.worker.gradients, privacy.Clip*shrink
	batches, steps := l.Batches(0, p), p.LocalSteps(n)
	for step := range steps {
		opt.LR = float32(p.RateAt(step, steps))
		draws := kernels.NewStream(kernels.Key(l.key, purposeExamples), uint64(l.Steps))
		clear(sum)
		var result nn.Result
		for i := range int32(n) {
			if draws.Float64() >= rate {
				continue
			}
			b, err := batches.Read(l.Train, []int32{i})
			if err != nil {
				return err
			}
			opts.Step = uint32(l.Examples)
			result.Add(l.trainer().Gradient(w, b, opts))
			batches.count([]int32{i})
			grad := l.trainer().Grad()
			e.cfg.Model.Hold(grad, nil)
			switch norm := kernels.Norm(grad); {
			case !det.Finite(norm):
			case norm > bound:
				kernels.Axpy(sum, float32(bound/norm), grad)
			default:
				kernels.Add(sum, sum, grad)
			}
		}
		e.addAll(sum, noiseOf{kernels.Key(l.key, purposeNoise, uint64(l.Steps)), privacy.Noise * privacy.Clip})
		kernels.Scale(sum, float32(1/float64(rate*float64(n))))
		opt.Step(w, sum)
		l.Count(result)
	}
	return nil
}
