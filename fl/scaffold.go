package fl

import (
	"slices"

	"github.com/fedfast/fedfast/kernels"
)

func init() { register(scaffold{}) }

// scaffold is SCAFFOLD with option II (Karimireddy et al. 2020, algorithm 1). The
// gradient of a local step is corrected by c - c_i, with the broadcast c;
//
//	c_i+ = c_i - c + (w - w_i)/(K_i lr_i),  K_i the steps taken
//	w <- w - lr_g mean(w - w_i),  c <- c + (1/N) sum(c_i+ - c_i)
//
// with uniform weights, or with the shares p_i in both places when
// server.weighted. c and all c_i start at 0.
type scaffold struct{}

func (scaffold) Name() string { return "scaffold" }

func (scaffold) Doc() string {
	return "SCAFFOLD: control variates correct the drift of local steps"
}

func (scaffold) Paper() string {
	return "Karimireddy et al. 2020, SCAFFOLD: Stochastic Controlled Averaging for Federated Learning, arXiv:1910.06378"
}

func (scaffold) Uses() []Use {
	return slices.Concat(localSteps, need("client.momentum", "0", "its control variates are means of gradients"),
		use("client.weight_decay", "server.lr", "server.decay", "server.weighted"))
}

func (scaffold) stateLen(size, _ int) int { return size }

func (scaffold) Local(l *Local) {
	l.uniform()
	c := l.server.(*scaffoldServer).c
	shift := l.worker.vector(0)
	kernels.Sub(shift, c, l.state)
	before := l.Steps
	l.steps(course{shift: shift})
	// c_i+ = -(c - c_i) + (w - w_i)/(K lr)
	change := l.worker.vector(1)
	kernels.Sub(change, l.Broadcast, l.Weights)
	kernels.Scale(change, float32(1/(float64(l.Steps-before)*l.Params.LR)))
	kernels.Sub(l.state, change, shift)
}

// gather adds p_i (w - w_i)/(K_i lr_i), the clients' part of c_i+ - c_i.
func (scaffold) gather(extra, delta []float32, l *Local) {
	kernels.Axpy(extra, float32(l.Weight/(float64(l.Steps)*l.Params.LR)), delta)
}

func (scaffold) NewServer(size int) Server { return &scaffoldServer{c: make([]float32, size)} }

type scaffoldServer struct{ c []float32 }

func (s *scaffoldServer) Step(w []float32, u *Update, p ServerParams) {
	if u.Taken == 0 {
		return
	}
	kernels.Axpy(w, -float32(rate(p, u.Round)), u.Mean)
	// sum(c_i+ - c_i)/N = share (mean of the extras - c), share = |cohort|/N
	share := float64(u.Taken) / float64(u.Clients)
	kernels.Scale(s.c, float32(1-share))
	kernels.Axpy(s.c, float32(share/u.Weight), u.Extra)
}

func (s *scaffoldServer) State() [][]float32 { return [][]float32{s.c} }
