package fl

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"slices"

	"github.com/fedfast/fedfast/fl/fleet"
	"github.com/fedfast/fedfast/fl/internal/choose"
	"github.com/fedfast/fedfast/fl/internal/clock"
	"github.com/fedfast/fedfast/kernels"
	"github.com/fedfast/fedfast/nn"
	"github.com/fedfast/fedfast/tensor"
)

// Trial is one federated training in progress: the weights, the states of the
// server and of the clients, and the number of rounds done. It may be used by one
// goroutine at a time.
type Trial struct {
	engine  *Engine
	number  int
	round   int
	weights []float32
	server  Server
	clients []*block // states by client; nil for methods without any
	smooth  []probeState
	clock   *clock.Schedule // nil without a fleet
	time    fleet.Time      // how the server works in it
	sampler fleet.Sampler   // of the last choice
	chooser choose.Chooser  // nil where clients are drawn at random

	versions map[int]Version         // that clients at work began from, by their number of steps
	jobs     map[uint64]ClientParams // that these train with, by the numbers of their jobs

	updates     Updates // of the round
	aggregation Aggregation

	clip     []float32 // the clipping norm; nil without Config.Privacy
	banded   bandedNoise
	held     held // updates that the server holds
	trace    *Trace
	returned *Own // memory of what clients return one by one; nil before it is needed
}

// NewTrial starts a training from freshly drawn weights. The number keys all
// its draws: trials with different numbers are independent, two with the same
// number and hyperparameters are equal bit for bit.
func (e *Engine) NewTrial(number int) *Trial {
	t := e.emptyTrial(number, 0)
	e.cfg.Model.Init(t.weights, kernels.Key(e.cfg.Seed, uint64(number), purposeInit))
	e.begin(t.server, t.weights, number)
	return t
}

// begin fills the server's side of a new trial.
func (e *Engine) begin(s Server, w []float32, number int) {
	if s := e.sending(s); s != nil {
		s.Begin(w, kernels.Key(e.cfg.Seed, uint64(number), purposeSend))
	}
}

func (e *Engine) emptyTrial(number, round int) *Trial {
	t := &Trial{
		engine: e, number: number, round: round, weights: e.cfg.Model.NewParams(),
		server: e.newServer(), clients: e.newClients(), clip: e.newClip(), time: e.cfg.Time, sampler: e.cfg.Sampler,
		updates: e.cfg.Updates, aggregation: e.cfg.Aggregation, versions: map[int]Version{}, jobs: map[uint64]ClientParams{},
	}
	if t.chooser = t.newChooser(); t.chooser != nil {
		t.chooser.Reset(nil)
	}
	t.clock = e.newClock(number, t.chooser)
	return t
}

// Number returns the number that keys the trial's draws.
func (t *Trial) Number() int { return t.number }

// Rounds returns how many rounds the trial has done.
func (t *Trial) Rounds() int { return t.round }

// Weights returns the trial's weights in the model's packed layout. They
// change with the next round; copy them to keep them.
func (t *Trial) Weights() []float32 { return t.weights }

// ServerState returns what the server keeps from round to round besides the weights, in the
// packed layout. It changes with the next round.
func (t *Trial) ServerState() [][]float32 { return t.kept() }

// Layout returns a digest of the places of the model's parameters in its packed
// layout, which a snapshot's vectors have.
func (e *Engine) Layout() [32]byte { return e.layout() }

// layout computes what Engine.Layout returns.
func layout(m *nn.Model) [32]byte {
	h := sha256.New()
	for _, part := range []func(i int32) int32{
		func(i int32) int32 { return i & 0xfff }, func(i int32) int32 { return i >> 12 }, // as float32, as ever
	} {
		m.EachPlace(func(name string, _ []int, at []int32) {
			h.Write([]byte(name))
			h.Write(binary.LittleEndian.AppendUint64(nil, uint64(len(at))))
			floats := make([]float32, vectorPart)
			for some := range slices.Chunk(at, vectorPart) {
				for i, x := range some {
					floats[i] = float32(part(x))
				}
				h.Write(tensor.LittleEndian(floats[:len(some)]))
			}
		})
	}
	return [32]byte(h.Sum(nil))
}

// Snapshot returns the trial's state. The clients' states are shared with the
// trial until it changes them, everything else is copied.
func (t *Trial) Snapshot() Snapshot {
	e := t.engine
	s := Snapshot{
		Model: e.cfg.Model.Name(), Method: e.cfg.Method.Name, Layout: e.layout(),
		Number: t.number, Round: t.round, Weights: slices.Clone(t.weights),
	}
	for _, a := range slices.Concat(t.kept(), t.chose()) {
		s.Server = append(s.Server, slices.Clone(a))
	}
	for client, b := range t.share() {
		if b != nil {
			s.Clients = append(s.Clients, clientState{Client: client, store: e.store, block: b})
		}
	}
	for _, p := range t.smooth {
		s.Probes = append(s.Probes, probeState{Name: p.Name, Values: slices.Clone(p.Values)})
	}
	if t.clock != nil {
		state := t.clock.State()
		s.Clock, s.Versions, s.Jobs = &state, t.sortedVersions(), t.sortedJobs()
	}
	return s
}

// CheckSnapshot returns an error unless a snapshot is of the engine's model and method,
// and has as many weights as the model.
func (e *Engine) CheckSnapshot(s *Snapshot) error {
	if s.Model != e.cfg.Model.Name() || s.Method != e.cfg.Method.Name {
		return fmt.Errorf("snapshot of trial %d at round %d: it is of model %q with method %q, not of %s with %s",
			s.Number, s.Round, s.Model, s.Method, e.cfg.Model.Name(), e.cfg.Method.Name)
	}
	if s.Layout != e.layout() {
		return fmt.Errorf("snapshot of trial %d at round %d: model %s has another memory layout in it; it is of another network or version of fedfast", s.Number, s.Round, s.Model)
	}
	if len(s.Weights) != e.cfg.Model.Size() {
		return fmt.Errorf("snapshot of trial %d at round %d: the model has %d values, not %d", s.Number, s.Round, len(s.Weights), e.cfg.Model.Size())
	}
	return nil
}

// Restore returns a trial in the state of a snapshot that an engine with the
// same model, method, federation and fleet took.
func (e *Engine) Restore(s Snapshot) (*Trial, error) {
	t, err := e.restore(s)
	if err == nil {
		err = t.restoreClock(&s)
	}
	return t, err
}

// restore is Restore without the clock, which the snapshot of a model lacks.
func (e *Engine) restore(s Snapshot) (*Trial, error) {
	if err := e.CheckSnapshot(&s); err != nil {
		return nil, err
	}
	t := e.emptyTrial(s.Number, s.Round)
	into := func(what string, dst, src []float32) error {
		if len(src) != len(dst) {
			return fmt.Errorf("snapshot of trial %d at round %d: %s has %d values, not %d", s.Number, s.Round, what, len(src), len(dst))
		}
		copy(dst, src)
		return nil
	}
	copy(t.weights, s.Weights)
	state := t.kept()
	if len(s.Server) < len(state) || len(s.Server) > len(state) && t.chooser == nil {
		return nil, fmt.Errorf("snapshot of trial %d at round %d: the server's state has %d arrays, not %d", s.Number, s.Round, len(s.Server), len(state))
	}
	if t.chooser != nil {
		if err := t.chooser.Load(s.Server[len(state):]); err != nil {
			return nil, fmt.Errorf("snapshot of trial %d at round %d: %w", s.Number, s.Round, err)
		}
		t.chooser.Reset(nil)
	}
	for i, a := range state {
		if err := into(fmt.Sprintf("server state %d", i), a, s.Server[i]); err != nil {
			return nil, err
		}
	}
	for _, c := range s.Clients {
		if c.Client < 0 || c.Client >= len(t.clients) {
			return nil, fmt.Errorf("snapshot of trial %d at round %d: it holds a state of client %d; there are states of %d clients", s.Number, s.Round, c.Client, len(t.clients))
		}
		values, err := c.Values()
		if err != nil {
			return nil, err
		}
		if len(values) != e.store.size {
			return nil, fmt.Errorf("snapshot of trial %d at round %d: the state of client %d has %d values, not %d", s.Number, s.Round, c.Client, len(values), e.store.size)
		}
		if c.store == e.store {
			t.clients[c.Client] = c.block // shared since the snapshot was taken
			continue
		}
		if t.clients[c.Client], err = e.store.write(values); err != nil {
			return nil, err
		}
	}
	for _, p := range s.Probes {
		if len(p.Values) != len(t.weights) {
			return nil, fmt.Errorf("snapshot of trial %d at round %d: probe %s has %d values, not %d", s.Number, s.Round, p.Name, len(p.Values), len(t.weights))
		}
		t.smooth = append(t.smooth, probeState{Name: p.Name, Values: slices.Clone(p.Values)})
	}
	return t, nil
}
