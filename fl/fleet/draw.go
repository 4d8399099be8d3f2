package fleet

import (
	"github.com/fedfast/fedfast/internal/draw"
	"github.com/fedfast/fedfast/kernels/det"
)

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
