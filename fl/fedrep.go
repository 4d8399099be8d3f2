package fl

import (
	"slices"

	"github.com/fedfast/fedfast/nn"
)

func init() { register(fedRep{}) }

// fedRep is FedRep (Collins et al. 2021, algorithm 1): the clients share a body
// and each keeps a head of its own. A visit trains the head for client.head_epochs
// with the body frozen, then the body for client.epochs with the head frozen; the
// server averages the bodies. A client's first head is the initial one.
type fedRep struct{ fedAvg }

func (fedRep) Name() string { return "fedrep" }

func (fedRep) Doc() string {
	return "FedRep: a shared body and a head of each client's own, the head trained first"
}

func (fedRep) Paper() string {
	return "Collins et al. 2021, Exploiting Shared Representations for Personalized Federated Learning, arXiv:2102.07078"
}

func (fedRep) defaults(c *ClientParams, _ *ServerParams) { c.HeadEpochs = 1 }

func (fedRep) Uses() []Use { return slices.Concat(localSGD, headEpochs) }

// headEpochs is what methods that train the head alone use.
var headEpochs = need("client.head_epochs", "(0, 1e6]", "such as 1")

func (fedRep) reads() []string { return []string{"head_layers"} }

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
