package fl

import (
	"github.com/fedfast/fedfast/fl/internal/robust"
	"github.com/fedfast/fedfast/kernels"
	"github.com/fedfast/fedfast/nn"
)

// held are the updates of a round's clients one by one, where the server holds them.
type held struct {
	rows    [][]float32 // by slot; nil for one that was left out
	weights []float64
	memory  [][]float32 // by slot
}

// hold prepares a trial for the updates of a round.
func (t *Trial) hold(slots int) {
	if !t.engine.holding {
		return
	}
	h := &t.held
	h.rows, h.weights = grown(h.rows, slots), grown(h.weights, slots)
	clear(h.rows)
	clear(h.weights)
	for len(h.memory) < slots {
		h.memory = append(h.memory, nil)
	}
}

// take keeps the update of a slot without the spans that are set aside, such as those of
// running statistics: the mean is taken of these. Slots are filled from several goroutines.
func (h *held) take(slot int, c *contribution, aside []nn.Span) {
	if c.weight <= 0 {
		return
	}
	if h.memory[slot] == nil {
		h.memory[slot] = make([]float32, len(c.delta))
	}
	row := h.memory[slot]
	copy(row, c.delta)
	for _, s := range aside {
		clear(row[s.Lo:s.Hi])
	}
	if c.scale != 0 {
		kernels.Scale(row, float32(c.scale))
	}
	h.rows[slot], h.weights[slot] = row, c.weight
}

// combine makes one update of those that the server holds, after the attackers who know the
// others have made theirs of them.
func (t *Trial) combine(out []float32, slots []Slot) error {
	e := t.engine
	if !e.holding {
		return nil
	}
	t.collude(slots)
	var means []float32 // of what is set aside
	for _, s := range e.aside {
		means = append(means, out[s.Lo:s.Hi]...)
	}
	var err error
	h := &Held{Out: out, Params: &t.aggregation}
	h.run = func(n int, task func(i int, m *robust.Memory)) {
		if err == nil {
			err = e.pool.run(n, func(i int, w *worker) error {
				task(i, &w.robust)
				return nil
			})
		}
	}
	for i, row := range t.held.rows {
		if row != nil {
			h.Updates, h.Weights = append(h.Updates, row), append(h.Weights, t.held.weights[i])
		}
	}
	switch {
	case len(h.Updates) == 0:
	case e.aggregator.Combine == nil:
		robust.Mean(h.run, out, h.Updates, h.Weights)
	default:
		e.aggregator.Combine(h)
	}
	for _, s := range e.aside {
		means = means[copy(out[s.Lo:s.Hi], means):]
	}
	return err
}

// collude has all attackers of a round send what they make of the others' updates.
func (t *Trial) collude(slots []Slot) {
	e := t.engine
	if e.uplink == nil || e.uplink.attack == nil || e.uplink.attack.Collude == nil {
		return
	}
	lie := e.uplink.attack
	var honest [][]float32
	var attackers []int
	for i, row := range t.held.rows {
		switch {
		case row == nil:
		case slots[i].Attacker:
			attackers = append(attackers, i)
		default:
			honest = append(honest, row)
		}
	}
	if len(honest) == 0 || len(attackers) == 0 {
		return
	}
	sent := t.held.rows[attackers[0]]
	lie.Collude(sent, honest, t.updates.strength(lie))
	norm := kernels.Norm(sent)
	for _, i := range attackers {
		t.held.rows[i], slots[i].DeltaNorm = sent, norm
	}
}
