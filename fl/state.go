package fl

import "slices"

// State is a method's memory of a trial after some round: what its server and
// every client that was drawn keep. It does not change, and it shares the
// clients' part with the trial, so that taking it is cheap.
type State struct {
	server  Server      // a copy, never changed
	others  [][]float32 // what else of the server's side a snapshot has
	store   *store
	clients []*block // by client; nil marks one that was never drawn
}

// State returns the method's memory of the trial as it is now, for an evaluation
// of weights of the same round. It is nil for methods whose clients keep nothing and
// do not look at the server's side.
func (t *Trial) State() *State {
	if !t.engine.looks() {
		return nil
	}
	s := &State{server: t.engine.newServer(), store: t.engine.store, clients: t.share()}
	own := s.server.State()
	for i, a := range own {
		copy(a, t.server.State()[i])
	}
	for _, a := range slices.Concat(t.kept()[len(own):], t.chose()) {
		s.others = append(s.others, slices.Clone(a))
	}
	return s
}

// AddTo puts the state into a snapshot.
func (s *State) AddTo(snap *Snapshot) {
	if s == nil {
		return
	}
	snap.Server = append(slices.Clip(s.server.State()), s.others...)
	snap.Clients = nil
	for client, b := range s.clients {
		if b != nil {
			snap.Clients = append(snap.Clients, clientState{Client: client, store: s.store, block: b})
		}
	}
}

// StateOf returns the state in a snapshot, which must be of the engine's model,
// method and federation. Where State is nil, it is, too, and the snapshot need not
// hold the server's side.
func (e *Engine) StateOf(s Snapshot) (*State, error) {
	if !e.looks() {
		return nil, nil
	}
	t, err := e.restore(s)
	if err != nil {
		return nil, err
	}
	return t.State(), nil
}

// of returns what a client keeps, nil when it was never drawn.
func (s *State) of(client int) *block {
	if s == nil || client >= len(s.clients) {
		return nil
	}
	return s.clients[client]
}

// serverOf returns the server side of a state, for methods whose clients look at
// it when they make personalized models; without a state that of a trial which begins
// with the weights.
func (e *Engine) serverOf(s *State, weights []float32, personal bool) Server {
	switch {
	case !personal || !e.looks():
		return nil
	case s != nil:
		return s.server
	}
	server := e.newServer()
	e.begin(server, weights, 0)
	return server
}

// share returns the blocks of all clients, which nobody may write from now on.
func (t *Trial) share() []*block {
	for _, b := range t.clients {
		if b != nil {
			b.shared = true
		}
	}
	return slices.Clone(t.clients)
}

// newClients returns the states of a new trial's clients, nil for methods
// without any.
func (e *Engine) newClients() []*block {
	if e.store == nil {
		return nil
	}
	return make([]*block, len(e.cfg.Data.Clients))
}

// commit takes over the states that a round's slots have left. The slots of one
// round have different clients.
func (t *Trial) commit(slots []Slot, left []*block) {
	for i, b := range left {
		if b == nil {
			continue
		}
		client := slots[i].Client
		t.engine.store.recycle(t.clients[client])
		t.clients[client] = b
	}
}
