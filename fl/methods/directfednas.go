package methods

import "github.com/fedfast/fedfast/fl"

// directFedNAS is Direct-FedNAS (Garg et al. 2020): FedNAS with the local search of
// DSNAS (Hu et al. 2020, arXiv:2002.09128). In each step one operation of each mixture
// is drawn by the softmax of alpha, and only the network of those that were drawn runs.
// One backward pass on a batch of training examples gives the gradient of its weights w
// and, by the score function of the draw, that of alpha, see nn.TrainOpts.Drawn:
//
//	w <- w - client.lr grad_w L_train(w, z)
//	alpha <- Adam(g_z grad log p_alpha(z)), with client.alpha_lr and its other keys
//
// The server averages both by training examples. Validation examples are not touched.
// The search space is the model's, not the paper's of shuffle blocks; operations are
// neither dropped early, as DSNAS does for long searches, nor weighed by a device's
// limits. Weights that were not drawn have a gradient of 0: momentum and decay go on.
// Scores are the scores of the mixture; the model that the search found is the derived one.
func directFedNAS() fl.Method {
	m := fedNAS()
	m.Name = "directfednas"
	m.Doc = "Direct-FedNAS: FedNAS that runs one drawn operation of each mixture in a step, and trains the weights of operations by its worth, on training samples"
	m.Paper = "Garg et al. 2020, arXiv:2010.06223"
	m.Differs = "the search space is the model's, not the paper's shuffle blocks; operations are neither dropped early nor weighed by a device's limits"
	m.Local = func(l *fl.Local) error {
		s := newSearch(l)
		return l.SGD(fl.LocalRun{Hold: s.alpha, Held: s.grad, Drawn: true, Each: func(int) { s.adapt() }})
	}
	return m
}
