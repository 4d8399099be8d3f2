package methods

import (
	"fmt"
	"math"
	"slices"

	"github.com/fedfast/fedfast/fl"
	"github.com/fedfast/fedfast/fl/hyper"
	"github.com/fedfast/fedfast/kernels"
	"github.com/fedfast/fedfast/kernels/det"
	"github.com/fedfast/fedfast/nn"
)

// moon is MOON (Li et al. 2021, algorithm 1): FedAvg whose clients pull the features of their
// samples towards those of the broadcast model, and away from those of the model that they
// trained last. To the loss of each sample is added
//
//	-m log(e^(cos(h, h_w)/t) / (e^(cos(h, h_w)/t) + e^(cos(h, h_v)/t)))
//
// with the features h of the client's model, what its last layer takes, h_w of the broadcast
// one and h_v of the client's from its last round, both as evaluations have them, m =
// client.mu and t = client.temperature. In its first round v is w, which has no gradient.
// Features that are all 0 have the cosine 0 and no gradient.
func moon() fl.Method {
	return fl.Method{
		Name:  "moon",
		Doc:   "MOON: FedAvg whose clients pull features towards the broadcast model's, away from their last model's",
		Paper: "Li et al. 2021, arXiv:2103.16257",
		Differs: "features are what the network's last layer takes, as in PFLlib, without a projection head of the method's own; a client's last model is the broadcast one in its " +
			"first round, in the authors' code the initial one",
		Uses: slices.Concat(localSGD, temperature, hyper.Needing("client.mu", "(0, inf)", `with 0 it is method "fedavg"`)),
		SetDefaults: func(c *fl.ClientParams, _ *fl.ServerParams) {
			c.Mu, c.Temperature = 1, 0.5
		},
		Prepare:   contrasts,
		StateLen:  modelLen,
		Local:     moonLocal,
		Work:      func(w fl.Workload) float64 { return (1 + 2*w.Forward) * w.SGD() },
		NewServer: averaging,
	}
}

// contrasts returns an error for a model without features of each sample.
func contrasts(cfg *fl.Config) (any, error) {
	if cfg.Model.Features() == 0 {
		return nil, fmt.Errorf("model %s has no features of a sample for method %q, which are what a dense layer at its "+
			"end takes from trained layers before; use method \"fedavg\"", cfg.Model.Name(), cfg.Method.Name)
	}
	return nil, oneLabel(cfg)
}

func moonLocal(l *fl.Local) error {
	if l.Fresh {
		copy(l.State, l.Broadcast)
	}
	c := &contrast{mu: l.Params.Mu, temperature: l.Params.Temperature, n: l.Model().Features()}
	err := l.SGD(fl.LocalRun{Features: c, Before: func(b *nn.Batch) {
		c.broadcast = slices.Grow(c.broadcast[:0], b.N*c.n)[:b.N*c.n]
		c.last = slices.Grow(c.last[:0], b.N*c.n)[:b.N*c.n]
		l.Features(c.broadcast, l.Broadcast, b)
		l.Features(c.last, l.State, b)
	}})
	copy(l.State, l.Weights)
	return err
}

// contrast adds the contrast of a batch's features with those of two models.
type contrast struct {
	mu, temperature float64
	n               int
	broadcast, last []float32 // features, sample after sample
}

func (c *contrast) Add(i int, _ int32, h, grad []float32, scale float32) float64 {
	near, far, own := c.broadcast[i*c.n:][:c.n], c.last[i*c.n:][:c.n], kernels.Norm(h)
	a, towards := cosine(h, near, own)
	b, away := cosine(h, far, own)
	x := (b - a) / c.temperature
	if own > 0 {
		slope := float64(scale) * c.mu / c.temperature / (1 + det.Exp(-x)) // in b - a
		kernels.Axpy(grad, float32(slope*away), far)
		kernels.Axpy(grad, float32(-slope*towards), near)
		kernels.Axpy(grad, float32(-slope*(b-a)/(own*own)), h)
	}
	return c.mu * softplus(x)
}

// cosine returns the cosine of two vectors, the first of a given norm, and what its product
// with the second has to be multiplied by for it; 0 for a vector of zeros.
func cosine(x, y []float32, norm float64) (cos, by float64) {
	if n := norm * kernels.Norm(y); n > 0 {
		by = 1 / n
	}
	return kernels.Dot(x, y) * by, by
}

// softplus is log(1 + e^x).
func softplus(x float64) float64 { return max(x, 0) + det.Log(1+det.Exp(-math.Abs(x))) }
