package methods

import (
	"math"
	"slices"

	"github.com/fedfast/fedfast/fl"
	"github.com/fedfast/fedfast/fl/hyper"
	"github.com/fedfast/fedfast/nn"
)

// fedALA is FedALA (Zhang et al. 2023, algorithm 1): FedAvg, but a client starts from its own
// head v mixed with the broadcast one, weight by weight, on the broadcast body:
//
//	t = v + (w - v) * W,  W <- clip01(W - s grad_t * (w - v)),  s = client.ala_rate
//
// where * is elementwise and the W of a client starts at 1, then goes on from round to round.
// A round learns W on client.ala_share of the training samples. In the second round of a client
// passes over them go on until the deviation of the last ten losses, each that of a pass's
// last batch, is below 0.1; afterwards there is one pass. What is trained from t is v of the next round. The paper's
// number p of mixed layers is
// head_layers.
func fedALA() fl.Method {
	return fl.Method{
		Name:        "fedala",
		Doc:         "FedALA: FedAvg that starts from each client's own head, mixed into the broadcast one by weights that are learned",
		Paper:       "Zhang et al. 2023, arXiv:2212.01197",
		Differs:     "the samples that learn the weights of a round are drawn one by one, in the authors' code a run of neighbors; the first weights take at most 100 passes",
		Uses:        slices.Concat(localSGD, hyper.Needing("client.ala_rate", "(0, inf)", ""), hyper.Needing("client.ala_share", "(0, 1]", "")),
		SetDefaults: func(c *fl.ClientParams, _ *fl.ServerParams) { c.ALARate, c.ALAShare = 1, 0.8 },
		Reads:       []string{"head_layers"},
		StateLen:    func(cfg *fl.Config) int { return 2*headLen(cfg) + 1 }, // v, W, whether W was learned
		Local:       fedALALocal,
		Personal:    true,
		Personalize: func(l *fl.Local) error {
			if err := mixHead(l); err != nil {
				return err
			}
			return l.SGD(fl.LocalRun{})
		},
		Kept:      mixHead,
		Work:      func(w fl.Workload) float64 { return w.SGD() + w.Epochs(w.Params.ALAShare) },
		NewServer: averaging,
	}
}

func fedALALocal(l *fl.Local) error {
	if err := mixHead(l); err != nil {
		return err
	}
	if err := l.SGD(fl.LocalRun{}); err != nil {
		return err
	}
	copy(l.State, l.Weights[l.Head().Lo:l.Head().Hi])
	return nil
}

// The first weights are learned until the deviation of the last alaLosses losses is below
// alaDeviation, the authors' values, in at most alaPasses.
const (
	alaLosses    = 10
	alaDeviation = 0.1
	alaPasses    = 100
)

// mixHead makes the head of l.Weights, which hold the broadcast ones, the mixture.
func mixHead(l *fl.Local) error {
	head, n := l.Head(), l.Head().Len()
	v, weights, learned := l.State[:n], l.State[n:2*n], &l.State[2*n]
	if l.Fresh {
		for j := range weights {
			weights[j] = 1
		}
		return nil
	}
	t, w := l.Weights[head.Lo:head.Hi], l.Broadcast[head.Lo:head.Hi]
	set := func() {
		for j := range t {
			t[j] = v[j] + float32((w[j]-v[j])*weights[j])
		}
	}
	set()
	p := l.Params
	p.Epochs, p.Steps, p.Wrap, p.DropLast = p.ALAShare, 0, false, false
	rate, step := float32(p.ALARate), 0
	batches, dealt := l.Batches(1, p), make([][]int32, p.LocalSteps(l.Train.Len()))
	var losses []float64
	for pass := range alaPasses {
		last := 0.0
		for i := range dealt {
			b, err := again(l, batches, &dealt[i])
			if err != nil {
				return err
			}
			grad, r := l.Gradient(l.Weights, b, p, step)
			last = r.Loss / float64(r.Count)
			for j, g := range grad[head.Lo:head.Hi] {
				slope := float32(g * (w[j] - v[j]))
				weights[j] = min(1, max(0, weights[j]-float32(rate*slope)))
			}
			set()
			step++
		}
		if losses = append(losses, last); *learned != 0 || pass >= alaLosses && deviation(losses[pass+1-alaLosses:]) < alaDeviation {
			break
		}
	}
	*learned = 1
	return nil
}

// again deals a batch, and from then on the same one.
func again(l *fl.Local, batches *fl.Batches, dealt *[]int32) (*nn.Batch, error) {
	if *dealt != nil {
		l.Again(len(*dealt))
		return batches.Read(l.Train, *dealt)
	}
	b, err := batches.Next()
	*dealt = slices.Clone(batches.Positions())
	return b, err
}

// deviation is the standard deviation of numbers, divided by their count.
func deviation(x []float64) float64 {
	var mean, squares float64
	for _, each := range x {
		mean += each / float64(len(x))
	}
	for _, each := range x {
		squares += float64((each - mean) * (each - mean))
	}
	return math.Sqrt(squares / float64(len(x)))
}
