package fl

import (
	"slices"

	"github.com/fedfast/fedfast/fl/internal/codec"
	"github.com/fedfast/fedfast/kernels"
)

// uplink is the way of clients' updates to the server, nil where nothing happens to them.
type uplink struct {
	chain     []Transform
	feeds     int    // transforms up to the last biased one whose error clients keep; 0 for none
	attackers []bool // by client; nil without an attack
	attack    *Transform
	places    []int32 // of the trained parameters in the packed layout, in the usual order
}

// uplinkMemory is what a worker needs for it.
type uplinkMemory struct {
	values, whole []float32
	index         []int32
	counts        codec.Counts
}

// newUplink returns that of an engine, whose configuration was checked.
func newUplink(c *Config, places func() []int32) *uplink {
	chain, err := c.Updates.Chain()
	if err != nil || len(chain) == 0 {
		return nil
	}
	u := &uplink{chain: chain, attackers: c.drawAttackers(), places: places()}
	if chain[0].Stage == StageAttack {
		u.attack = &chain[0]
	}
	if c.Updates.KeepsErrors() {
		for i := range chain {
			if chain[i].Biased {
				u.feeds = i + 1
			}
		}
	}
	return u
}

// trainedPlaces returns where the trained parameters lie that clients send.
func trainedPlaces(c *Config) []int32 {
	m := c.Model
	trained := m.NewParams()
	for i := range trained {
		trained[i] = 1
	}
	m.Hold(trained, nil)
	for _, s := range c.asideSpans() {
		clear(trained[s.Lo:s.Hi])
	}
	places := make([]int32, 0, m.NumTrainable())
	m.EachPlace(func(_ string, _ []int, at []int32) {
		for _, i := range at {
			if trained[i] != 0 {
				places = append(places, i)
			}
		}
	})
	return places
}

// wire returns how large an update of a number of parameters is.
func (u *uplink) wire(params int, p *Updates) Wire {
	w := Wire{Params: params, Values: params, Bits: 32}
	if u != nil {
		for i := range u.chain {
			if shrink := u.chain[i].Shrink; shrink != nil {
				shrink(&w, p)
			}
		}
	}
	return w
}

// attacks reports whether a client is an attacker.
func (u *uplink) attacks(client int) bool {
	return u != nil && u.attackers != nil && u.attackers[client]
}

// send has a client's change, in the packed layout, go through the chain. left is what
// compression left out of the client's updates before, in the usual order; empty where clients
// keep nothing. It reports whether anything was changed.
func (u *uplink) send(w *worker, delta, left []float32, v Upload) bool {
	if !u.changes(v.Client) {
		return false
	}
	m := &w.uplink
	m.values = grown(m.values, len(u.places))
	for i, at := range u.places {
		m.values[i] = delta[at]
	}
	v.Values, v.attack, v.work = m.values, u.attack, m
	m.whole = m.whole[:0]
	for i := range u.chain {
		t := &u.chain[i]
		if v.stage = t.Stage; t.Stage == StageAttack {
			if t.Apply != nil && u.attackers[v.Client] {
				t.Apply(&v)
				v.fill()
			}
			continue
		}
		if u.feeds > 0 && len(m.whole) == 0 {
			kernels.Add(v.Values, v.Values, left)
			m.whole = append(m.whole, v.Values...)
		}
		t.Apply(&v)
		if i+1 == u.feeds {
			copy(left, m.whole)
			v.each(func(at int32, x float32) { left[at] -= x })
		}
	}
	if v.Index != nil {
		for _, at := range u.places {
			delta[at] = 0
		}
	}
	v.each(func(at int32, x float32) { delta[u.places[at]] = x })
	return true
}

// fill has an attacker send 0 where it would send nothing: compression is of whole updates.
func (u *Upload) fill() {
	if u.Index == nil {
		return
	}
	m := u.work
	m.whole = append(m.whole[:0], u.Values...)
	clear(m.values)
	for i, at := range u.Index {
		m.values[at] = m.whole[i]
	}
	u.Values, u.Index, m.whole = m.values, nil, m.whole[:0]
}

// left returns how many floats a client keeps of what compression left out.
func (u *uplink) left() int {
	if u == nil || u.feeds == 0 {
		return 0
	}
	return len(u.places)
}

// changes reports whether something happens to what a client sends.
func (u *uplink) changes(client int) bool {
	return u != nil && slices.ContainsFunc(u.chain, func(t Transform) bool {
		return t.Apply != nil && (t.Stage != StageAttack || u.attackers[client])
	})
}

// each calls f with the values and their places in the whole update.
func (u *Upload) each(f func(at int32, x float32)) {
	if u.Index == nil {
		for i, x := range u.Values {
			f(int32(i), x)
		}
		return
	}
	for i, x := range u.Values {
		f(u.Index[i], x)
	}
}
