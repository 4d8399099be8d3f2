package methods

import (
	"slices"

	"github.com/fedfast/fedfast/fl"
	"github.com/fedfast/fedfast/fl/hyper"
	"github.com/fedfast/fedfast/kernels"
)

// fedNova is FedNova, normalized averaging (Wang et al. 2020, eq. 9, with
// tau_eff = sum_i p_i |a_i|): a client that takes many local steps moves the mean
// no further than one that takes few,
//
//	w <- w - (sum_i p_i |a_i|) sum_i p_i (w - w_i) / |a_i|
//
// where |a_i| adds up how often each local gradient counts in w - w_i: once a step
// without momentum, more with it, and the less the more weight decay shrinks it
// afterwards, see stepWeight. Steps of rate b with weight decay d then give
//
//	(w - w_i) / |a_i| = b (a mean of the local gradients + d w),
//
// so that the decay of w does not depend on how many steps a client takes either.
// The paper has |a_i| for a proximal term, which shrinks in the same way; the
// authors' code leaves weight decay out.
func fedNova() fl.Method {
	return fl.Method{
		Name:  "fednova",
		Doc:   "FedNova: the mean of the clients' changes a local step, so that many steps do not outweigh few",
		Paper: "Wang et al. 2020, arXiv:2007.07481",
		Differs: "|a_i| is the sum over a client's local gradients of how often each counts in its change of the weights: the number of steps without momentum; " +
			"with momentum m and weight decay d at the rate b it is the displacement by gradients of 1, v <- m v + 1 - b d sum, sum <- sum + v. " +
			"Counting weight decay is ours. The server takes tau_eff = sum_i p_i |a_i|",
		Uses: slices.Concat(hyper.UsingSteps(), personalLR, forgets("it counts how often each of the round's gradients is in the change of the weights"),
			hyper.Needing("client.optimizer", "sgd", "it counts how often each gradient is in the change of the weights"),
			hyper.Using("client.momentum", "client.nesterov", "client.clip_norm", "client.weight_decay")),
		Local:     novaLocal,
		Vectors:   1,
		NewServer: func(int) fl.Server { return novaServer{} },
	}
}

func novaLocal(l *fl.Local) error {
	if err := l.SGD(fl.LocalRun{}); err != nil {
		return err
	}
	l.Number = stepWeight(l.Steps, l.Params)
	l.Upload = l.Vector(0)
	l.Change(l.Upload)
	kernels.Scale(l.Upload, float32(1/l.Number))
	return nil
}

// stepWeight is the sum over the gradients of steps with heavy-ball momentum m,
// rate b and weight decay d of how often each counts in the displacement, in units
// of b: the displacement by gradients of 1, v <- m v + 1 - b d sum, sum <- sum + v;
// in Nesterov's form sum <- sum + 1 - b d sum + m v. A clipped gradient counts like
// any other one.
func stepWeight(steps int, p fl.ClientParams) float64 {
	var v, sum float64
	for range steps {
		d := 1 - float64(float64(p.LR*p.WeightDecay)*sum)
		v = float64(p.Momentum*v) + d
		if p.Nesterov {
			sum += d + float64(p.Momentum*v)
		} else {
			sum += v
		}
	}
	return sum
}

// novaServer scales the mean change of a step by the mean number of steps.
type novaServer struct{ plainServer }

func (novaServer) Step(w []float32, u *fl.Update, _ fl.ServerParams) {
	kernels.Axpy(w, -float32(u.Number), u.Mean)
}
