package fl

import "github.com/fedfast/fedfast/kernels"

func init() { register(fedAvg{}) }

// fedAvg is federated averaging (McMahan et al. 2017, algorithm 1):
// w <- w - g, where g = w - sum_i p_i w_i and p_i = |T_i| / sum |T_i|.
type fedAvg struct{}

func (fedAvg) Name() string { return "fedavg" }

func (fedAvg) Doc() string {
	return "federated averaging: local SGD, then the mean of the clients' weights"
}

func (fedAvg) Paper() string {
	return "McMahan et al. 2017, Communication-Efficient Learning of Deep Networks from Decentralized Data, arXiv:1602.05629"
}

func (fedAvg) Uses() []Use { return localSGD }

func (fedAvg) Local(l *Local) { l.SGD(0) }

func (fedAvg) NewServer(int) Server { return plainServer{} }

// plainServer takes the mean of the clients' weights as the next weights.
type plainServer struct{}

func (plainServer) Step(w []float32, u *Update, _ ServerParams) { kernels.Sub(w, w, u.Mean) }

func (plainServer) State() [][]float32 { return nil }
