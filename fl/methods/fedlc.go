package methods

import (
	"fmt"
	"math"
	"slices"

	"github.com/fedfast/fedfast/fl"
	"github.com/fedfast/fedfast/fl/hyper"
)

// fedLC is FedLC (Zhang et al. 2022): FedAvg whose clients train on calibrated logits,
//
//	cross entropy of softmax(z_c - t n_c^(-1/4)),  t = client.temperature
//
// with n_c the number of the client's training samples of the class c, so that between two
// classes there is the margin t (n_y^(-1/4) - n_c^(-1/4)) of the paper. A class without
// samples has an infinite one: it is left out of the softmax. Evaluations do not calibrate.
func fedLC() fl.Method {
	return fl.Method{
		Name:        "fedlc",
		Doc:         "FedLC: local losses on logits that are calibrated by the client's numbers of samples of the classes",
		Paper:       "Zhang et al. 2022, arXiv:2209.00189",
		Differs:     "the loss is the cross entropy of the calibrated logits, whose sum has the label's own class, too, as in implementations such as PFLlib's",
		Uses:        slices.Concat(localSGD, temperature),
		SetDefaults: func(c *fl.ClientParams, _ *fl.ServerParams) { c.Temperature = 1 },
		Prepare:     calibrates,
		Local:       calibratedSGD,
		NewServer:   averaging,
	}
}

// temperature is what methods use whose losses have one.
var temperature = hyper.Needing("client.temperature", "(0, inf)", "")

// calibrates returns an error for a loss whose logits cannot be calibrated.
func calibrates(cfg *fl.Config) (any, error) {
	loss := cfg.Model.Loss()
	if err := oneLabel(cfg); err != nil {
		return nil, err
	}
	if loss.Smoothing > 0 {
		return nil, fmt.Errorf("loss.smoothing = %v: method %q leaves out classes of which a client has no samples, and "+
			"they would have a share of each label; leave it out", loss.Smoothing, cfg.Method.Name)
	}
	return nil, nil
}

// oneLabel returns an error for a loss that does not have one class for each label.
func oneLabel(cfg *fl.Config) error {
	if loss := cfg.Model.Loss(); loss.Targets() {
		return fmt.Errorf("method %q needs samples of one class each, and the loss %q has none; use method \"fedavg\"", cfg.Method.Name, loss.Kind)
	}
	return nil
}

func calibratedSGD(l *fl.Local) error {
	counts, err := l.ClassCounts()
	if err != nil {
		return err
	}
	l.LogitBias = classBias(counts, func(n float64) float64 { return -l.Params.Temperature / math.Sqrt(math.Sqrt(n)) })
	return l.SGD(fl.LocalRun{})
}

// classBias is a function of each of the counts, and leaves out classes whose count is 0.
func classBias(counts []int, of func(n float64) float64) []float32 {
	bias := make([]float32, len(counts))
	for c, n := range counts {
		bias[c] = float32(math.Inf(-1))
		if n > 0 {
			bias[c] = float32(of(float64(n)))
		}
	}
	return bias
}
