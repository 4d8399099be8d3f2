package fl

import (
	"encoding/binary"
	"math"
	"math/rand/v2"

	"github.com/fedfast/fedfast/kernels"
	"github.com/fedfast/fedfast/kernels/det"
)

// Noise draws all noise on which an account of privacy relies, on weights, counts, scores and
// votes, from ChaCha8, which is fast and, unlike a generator made for simulations alone, cannot
// be predicted from its output. Gaussian noise is drawn by the ziggurat of Marsaglia and Tsang
// 2000, with 32 bits for a number: as many as a float32 can tell apart.
type Noise struct{ bits rand.ChaCha8 }

// NewNoise returns the noise of a key and the number of a stream.
func NewNoise(key, stream uint64) *Noise {
	g := &Noise{}
	g.seed(key, stream)
	return g
}

// Normal returns a number of the standard normal distribution.
func (g *Noise) Normal() float64 {
	var x [1]float32
	g.add(x[:], 1)
	return float64(x[0])
}

// laplace returns a number of the Laplace distribution of scale 1.
func (g *Noise) laplace() float64 {
	bits := g.bits.Uint64() // of which det.Unit does not read the lowest
	x := -det.Log(1 - det.Unit(bits))
	if bits&1 == 1 {
		return -x
	}
	return x
}

// seed begins the stream of a key and a number.
func (g *Noise) seed(key, stream uint64) {
	var seed [32]byte
	for i := range uint64(4) {
		binary.LittleEndian.PutUint64(seed[8*i:], kernels.Key(key, stream, i))
	}
	g.bits.Seed(seed)
}

// The ziggurat covers the bell curve by layers of equal area, whose right ends are edges and
// which lie between the heights of their ends; beyond tail begins what has no layer.
const (
	layers = 256
	tail   = 3.6541528853610088
	area   = 0.00492867323399 // of a layer, and of the lowest one with what is beyond tail
)

var edges, heights = func() (x, y [layers + 1]float64) {
	x[0], x[1] = area/bell(tail), tail
	for i := 1; i < layers-1; i++ {
		x[i+1] = math.Sqrt(-2 * det.Log(area/x[i]+bell(x[i])))
	}
	for i := range x {
		y[i] = bell(x[i])
	}
	return x, y
}()

type stair struct {
	scale float32
	whole uint32
}

// stairs has of each layer what an odd number below steps in size is multiplied by, and the
// size below which it lies within the layer above, so that nothing else decides.
var stairs = func() (all [layers]stair) {
	for i := range all {
		all[i].scale = float32(edges[i] / steps)
		all[i].whole = uint32(edges[i+1]/edges[i]*steps) &^ 1
	}
	return all
}()

// steps is how many odd numbers a layer has, of both signs.
const steps = 1 << 24

func bell(x float64) float64 { return det.Exp(-0.5 * float64(x*x)) }

// add adds numbers of the standard normal distribution, times a factor, two for each word of
// bits.
func (g *Noise) add(to []float32, factor float32) {
	for len(to) > 1 {
		u := g.bits.Uint64()
		at, beside := &stairs[u%layers], &stairs[u>>32%layers]
		n, m := int32(u)>>7|1, int32(u>>32)>>7|1
		x, y := float32(n)*at.scale, float32(m)*beside.scale
		if uint32(n^n>>31) >= at.whole { // the size of n, or 1 less
			x = g.edge(uint32(u), x)
		}
		if uint32(m^m>>31) >= beside.whole {
			y = g.edge(uint32(u>>32), y)
		}
		to[0] += float32(factor * x)
		to[1] += float32(factor * y)
		to = to[2:]
	}
	if len(to) > 0 {
		var two [2]float32
		g.add(two[:], factor)
		to[0] += two[0]
	}
}

// edge returns a number that lies in a layer but not within the one above, or another one.
func (g *Noise) edge(u uint32, near float32) float32 {
	i, x := u%layers, float64(near)
	if i == 0 {
		return float32(math.Copysign(g.beyond(), x))
	}
	if heights[i]+float64(det.Unit(g.bits.Uint64())*(heights[i+1]-heights[i])) < bell(x) {
		return near
	}
	var two [2]float32
	g.add(two[:], 1)
	return two[0]
}

// beyond returns a number of the half normal distribution above tail.
func (g *Noise) beyond() float64 {
	for {
		a := -det.Log(1-det.Unit(g.bits.Uint64())) / tail
		b := -det.Log(1 - det.Unit(g.bits.Uint64()))
		if 2*b >= float64(a*a) {
			return tail + a
		}
	}
}
