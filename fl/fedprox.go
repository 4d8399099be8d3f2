package fl

func init() { register(fedProx{}) }

// fedProx is FedAvg with a proximal term in the local objective,
// mu/2 |w_k - w|^2 (Li et al. 2020, algorithm 2).
type fedProx struct{ fedAvg }

func (fedProx) Name() string { return "fedprox" }

func (fedProx) Doc() string {
	return "FedAvg with a proximal term of weight client.mu (Li et al. 2020)"
}

func (fedProx) defaults(c *ClientParams, _ *ServerParams) { c.Mu = 0.01 }

func (fedProx) Check(c ClientParams, s ServerParams) error {
	if err := within("fedprox", "client.mu", c.Mu, c.Mu != 0, `a value above 0; with 0 it is method "fedavg"`); err != nil {
		return err
	}
	return uses("fedprox", c, s, localSGD, []string{"client.mu"})
}

func (fedProx) Local(l *Local) { l.SGD(l.Params.Mu) }
