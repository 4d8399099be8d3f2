package fl

import "github.com/fedfast/fedfast/nn"

func init() { register(fedRep{}) }

// fedRep is FedRep (Collins et al. 2021, algorithm 1): the clients share a body
// and each keeps a head of its own. A visit trains the head for client.head_epochs
// with the body frozen, then the body for client.epochs with the head frozen; the
// server averages the bodies. A client's first head is the initial one.
type fedRep struct{ fedAvg }

func (fedRep) Name() string { return "fedrep" }

func (fedRep) Doc() string {
	return "FedRep: a shared body and a head of each client's own (Collins et al. 2021)"
}

func (fedRep) defaults(c *ClientParams, _ *ServerParams) { c.HeadEpochs = 1 }

func (fedRep) Check(c ClientParams, s ServerParams) error { return checkHead("fedrep", c, s) }

func checkHead(method string, c ClientParams, s ServerParams) error {
	if err := within(method, "client.head_epochs", c.HeadEpochs, c.HeadEpochs > 0, "a value above 0, such as 1"); err != nil {
		return err
	}
	return uses(method, c, s, localSGD, []string{"client.head_epochs"})
}

func (fedRep) fit(e *Engine) error { return e.needsBody() }

func (fedRep) stateLen(_, head int) int { return head }

func (m fedRep) Local(l *Local) {
	m.personalize(l)
	l.personal(l.Weights)
	l.steps(course{only: l.engine.body()})
	l.keepHead()
}

// personalize joins the broadcast body and the client's head after its epochs.
func (fedRep) personalize(l *Local) {
	l.joinHead()
	l.trainHead()
}

// trainHead trains the head for client.head_epochs.
func (l *Local) trainHead() {
	p := l.Params
	p.Epochs, p.Steps = p.HeadEpochs, 0
	l.steps(course{params: &p, only: l.engine.head})
}

// body returns the span of the parameters before the head.
func (e *Engine) body() nn.Span { return nn.Span{Lo: 0, Hi: e.head.Lo} }
