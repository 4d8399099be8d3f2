package methods

import (
	"fmt"
	"slices"

	"github.com/fedfast/fedfast/fl"
	"github.com/fedfast/fedfast/fl/hyper"
	"github.com/fedfast/fedfast/kernels/det"
	"github.com/fedfast/fedfast/nn"
)

// fedNTD is FedNTD (Lee et al. 2022): FedAvg whose clients keep what the broadcast model
// says of the classes that a sample is not of. To the loss of each sample is added
//
//	b t^2 KL(q || p),  p = softmax(z / t),  q = softmax(z_w / t) without the label's class
//
// with the logits z of the client's model and z_w of the broadcast one, b =
// client.distill and t = client.temperature.
func fedNTD() fl.Method {
	return fl.Method{
		Name:        "fedntd",
		Doc:         "FedNTD: FedAvg whose clients distill the broadcast model's view of the classes that a sample is not of",
		Paper:       "Lee et al. 2022, arXiv:2106.03097",
		Uses:        slices.Concat(localSGD, temperature, hyper.Needing("client.distill", "(0, inf)", `with 0 it is method "fedavg"`)),
		SetDefaults: func(c *fl.ClientParams, _ *fl.ServerParams) { c.Distill, c.Temperature = 1, 1 },
		Prepare:     distills,
		Local:       distilledSGD,
		Work:        func(w fl.Workload) float64 { return (1 + w.Forward) * w.SGD() },
		NewServer:   averaging,
	}
}

// distills returns an error for a model without a class and two others for each sample.
func distills(cfg *fl.Config) (any, error) {
	if err := oneLabel(cfg); err != nil {
		return nil, err
	}
	switch m := cfg.Model; {
	case m.LabelsPerExample() > 1:
		return nil, fmt.Errorf("model %s predicts at every step, and method %q distills one prediction of a sample; use method \"fedavg\"", m.Name(), cfg.Method.Name)
	case m.Classes() < 3:
		return nil, fmt.Errorf("method %q distills the other classes than a sample's, and %d have none to compare; use method \"fedavg\"", cfg.Method.Name, m.Classes())
	}
	return nil, nil
}

func distilledSGD(l *fl.Local) error {
	p, classes := l.Params, l.Model().Classes()
	d := &notTrue{weight: p.Distill, temperature: p.Temperature, q: make([]float64, classes), p: make([]float64, classes)}
	before := func(b *nn.Batch) {
		d.teacher = slices.Grow(d.teacher[:0], b.N*classes)[:b.N*classes]
		l.Outputs(d.teacher, l.Broadcast, b)
	}
	return l.SGD(fl.LocalRun{Before: before, Aside: d})
}

// notTrue adds the distillation of what a teacher says of a batch.
type notTrue struct {
	weight, temperature float64
	teacher             []float32 // logits, sample after sample
	q, p                []float64 // of a sample
}

func (d *notTrue) Add(i int, label int32, logits, grad []float32, scale float32) float64 {
	n := len(logits)
	logQ := notTrueSoftmax(d.q, d.teacher[i*n:][:n], int(label), d.temperature)
	logP := notTrueSoftmax(d.p, logits, int(label), d.temperature)
	kl, slope := 0.0, float64(scale)*float64(d.weight*d.temperature)
	for k, q := range d.q {
		if k == int(label) {
			continue
		}
		z, own := float64(d.teacher[i*n+k])/d.temperature, float64(logits[k])/d.temperature
		kl += float64(q * ((z - logQ) - (own - logP)))
		grad[k] += float32(float64(slope * (d.p[k] - q)))
	}
	return float64(float64(d.weight*d.temperature)*d.temperature) * kl
}

// notTrueSoftmax writes the softmax of logits over a temperature without a label's class,
// where it writes 0, and returns the logarithm of its sum.
func notTrueSoftmax(p []float64, logits []float32, label int, temperature float64) float64 {
	p[label] = 0
	top, first := 0.0, true
	for k, z := range logits {
		if x := float64(z) / temperature; k != label && (first || x > top) {
			top, first = x, false
		}
	}
	sum := 0.0
	for k, z := range logits {
		if k != label {
			p[k] = det.Exp(float64(z)/temperature - top)
			sum += p[k]
		}
	}
	for k := range p {
		p[k] /= sum
	}
	return top + det.Log(sum)
}
