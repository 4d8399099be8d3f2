package fleet

import (
	"cmp"
	"math"

	"github.com/fedfast/fedfast/internal/draw"
	"github.com/fedfast/fedfast/internal/nanos"
	"github.com/fedfast/fedfast/kernels/det"
)

// pattern says when clients are available.
type pattern interface {
	// available is Fleet.Available.
	available(f *Fleet, client int, t int64) (on bool, until int64)
}

const hour int64 = 3600e9 // nanoseconds

// setPattern makes the pattern of the configuration.
func (f *Fleet) setPattern(clients []Client) error {
	c := &f.cfg
	name, err := kind("fleet.availability", c.Availability, Patterns, intervals)
	if err != nil {
		return err
	}
	switch name {
	case "daily":
		f.when = newDaily(cmp.Or(c.Mean, chargingShare), c.Swing, c.Zones)
	case "markov":
		f.when = newMarkov(cmp.Or(c.On, 3600), cmp.Or(c.Off, 7200))
	case intervals:
		f.when, err = f.readTrace(clients)
	}
	return err
}

// Available reports whether a client is available at a time t >= 0, and until when that
// certainly stays so; math.MaxInt64 is for ever.
func (f *Fleet) Available(client int, t int64) (on bool, until int64) {
	switch {
	case !f.Fits(client):
		return false, math.MaxInt64
	case f.when == nil:
		return true, math.MaxInt64
	}
	return f.when.available(f, client, t)
}

// daily has clients draw each hour of their own clock whether they are available, by
// the probability of that hour.
type daily struct {
	shares [24]float64
	zones  float64 // hours
}

// cosines are the cosines of 0, 15, ..., 90 degrees.
var cosines = [...]float64{1, 0.9659258262890683, 0.8660254037844386, 0.7071067811865476, 0.5, 0.25881904510252074, 0}

// peak is the hour at which most clients are available.
const peak = 2

func newDaily(mean, swing, zones float64) *daily {
	d := &daily{zones: zones}
	swing = cmp.Or(swing, mean)
	for h := range d.shares {
		i := (h - peak + 24) % 24 // of 15 degrees
		if i > 12 {
			i = 24 - i
		}
		cos := cosines[min(i, 12-i)]
		if i > 6 {
			cos = -cos
		}
		d.shares[h] = min(1, max(0, mean+float64(swing*cos)))
	}
	return d
}

func (d *daily) available(f *Fleet, client int, t int64) (on bool, until int64) {
	// Within a zone clocks differ by up to an hour, or all would draw at one time.
	ahead := int64(float64(float64(d.zones*f.unit(drawZone, client, 0))+f.unit(drawZone, client, 1)) * float64(hour))
	now := nanos.Add(t, ahead)
	if now == math.MaxInt64 {
		return false, now
	}
	h := now / hour
	on = d.at(f, client, h)
	for h++; h < math.MaxInt64/hour; h++ {
		if next := h*hour - ahead; d.at(f, client, h) != on || next-t > 24*hour {
			return on, next
		}
	}
	return on, math.MaxInt64
}

// at returns whether a client is available in an hour of its clock.
func (d *daily) at(f *Fleet, client int, h int64) bool {
	return f.unit(drawHour, client, uint64(h)) < d.shares[h%24]
}

// markov has clients come and go after exponential times. At the events of a Poisson
// process of rate 1/on + 1/off, the client is available with probability on / (on + off),
// independent of all before: which is that chain (uniformization). So any time can be
// asked for: events are drawn anew in each block of time, and the last one before t
// decides. Blocks before 0 make the start stationary.
type markov struct {
	share float64 // of the time that clients are available
	gap   float64 // mean nanoseconds between events
	block int64   // nanoseconds
}

func newMarkov(on, off float64) *markov {
	gap := 1e9 / (1/on + 1/off)
	return &markov{share: on / (on + off), gap: gap, block: int64(2 * gap)}
}

// most events that are looked at for the next change; more of them say that nothing
// changes before the last.
const mostEvents = 64

func (m *markov) available(f *Fleet, client int, t int64) (on bool, until int64) {
	b := t / m.block
	if b > math.MaxInt64/m.block-2 {
		return false, math.MaxInt64 // the end of time
	}
	for before := b; ; before-- {
		found := false
		for e := m.first(f, client, before); e.ok && e.at <= t; e = m.next(e) {
			on, found = e.on, true
		}
		if found {
			break
		}
	}
	for n := 0; ; b++ {
		if b > math.MaxInt64/m.block-2 {
			return on, math.MaxInt64
		}
		for e := m.first(f, client, b); e.ok; e = m.next(e) {
			if n++; e.at > t && (e.on != on || n > mostEvents) {
				return on, e.at
			}
		}
	}
}

// event is one of a block.
type event struct {
	key     uint64 // of the next one
	at, end int64
	on, ok  bool
}

// first returns the first event of a client's block.
func (m *markov) first(f *Fleet, client int, b int64) event {
	return m.next(event{key: f.key(drawMarkov, client, uint64(b)), at: b * m.block, end: b*m.block + m.block})
}

// next returns the event after e; ok is false if it lies beyond the block.
func (m *markov) next(e event) event {
	wait := max(1, -det.Log(open(e.key))*m.gap)
	k := det.Mix(e.key)
	on := open(k) < m.share
	at := e.end
	if wait < float64(e.end-e.at) {
		at = e.at + int64(wait)
	}
	return event{key: det.Mix(k), at: at, end: e.end, on: on, ok: at < e.end}
}

// What is drawn, so that no two keys are equal. Never renumber them.
const (
	drawSpeed uint64 = iota + 1
	drawLink
	drawTie
	drawScore
	drawDown
	drawUp
	drawDropout
	drawHazard
	drawZone
	drawHour
	drawMarkov
	drawTrace
)

// base returns the key of a fleet's draws.
func base(seed uint64) uint64 { return draw.Key(seed, draw.Fleet) }

// key returns the key of a draw.
func (f *Fleet) key(what uint64, client int, n uint64) uint64 {
	return det.Mix(det.Mix(det.Mix(f.base^what)^uint64(client)) ^ n)
}

// unit returns a number in (0, 1).
func (f *Fleet) unit(what uint64, client int, n uint64) float64 { return open(f.key(what, client, n)) }

// open returns the number in (0, 1) that 64 random bits stand for, half of 2^-53 off a
// multiple of it.
func open(random uint64) float64 { return min(det.Unit(random)+0x1p-54, 1-0x1p-53) }

// below returns an integer in [0, n).
func (f *Fleet) below(what uint64, client, n int) int {
	for k := f.key(what, client, 0); ; k = det.Mix(k) {
		if i, ok := det.Below(k, uint64(n)); ok {
			return int(i)
		}
	}
}
