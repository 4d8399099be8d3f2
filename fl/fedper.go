package fl

func init() { register(fedPer{}) }

// fedPer is FedPer (Arivazhagan et al. 2019, algorithms 1 and 2): the clients
// share a body and each keeps a head of its own, and a visit trains both together;
// the server averages the bodies. A client's first head is the initial one.
type fedPer struct{ fedAvg }

func (fedPer) Name() string { return "fedper" }

func (fedPer) Doc() string {
	return "FedPer: a shared body and a head of each client's own, trained together"
}

func (fedPer) Paper() string {
	return "Arivazhagan et al. 2019, Federated Learning with Personalization Layers, arXiv:1912.00818"
}

func (fedPer) Uses() []Use { return localSGD }

func (fedPer) reads() []string { return []string{"head_layers"} }

func (fedPer) fit(e *Engine) error { return e.needsBody() }

func (fedPer) stateLen(_, head int) int { return head }

func (m fedPer) Local(l *Local) {
	m.personalize(l)
	l.personal(l.Weights)
	l.keepHead()
}

// personalize joins the broadcast body and the client's head and trains them.
func (fedPer) personalize(l *Local) {
	l.joinHead()
	l.SGD(0)
}

// joinHead puts the client's own head on the broadcast body, if it has one yet.
func (l *Local) joinHead() {
	if !l.fresh {
		copy(l.Weights[l.engine.head.Lo:], l.state)
	}
}

// keepHead makes the head that was trained the client's state. What goes to the
// server has the head that came from there.
func (l *Local) keepHead() {
	head := l.Weights[l.engine.head.Lo:]
	copy(l.state, head)
	copy(head, l.Broadcast[l.engine.head.Lo:])
}
