package fl

import (
	"encoding/binary"
	"math"
	"math/rand/v2"

	"github.com/fedfast/fedfast/kernels"
	"github.com/fedfast/fedfast/kernels/det"
)

// gauss draws the noise of private sums from ChaCha8, which is fast and, unlike a generator
// made for simulations alone, cannot be predicted from its output, by the ziggurat of
// Marsaglia and Tsang 2000.
type gauss struct{ bits *rand.ChaCha8 }

// newGauss returns the stream of a key and a number.
func newGauss(key, stream uint64) gauss {
	var seed [32]byte
	for i := range uint64(4) {
		binary.LittleEndian.PutUint64(seed[8*i:], kernels.Key(key, stream, i))
	}
	return gauss{rand.NewChaCha8(seed)}
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

func bell(x float64) float64 { return det.Exp(-0.5 * float64(x*x)) }

// next returns a number of the standard normal distribution.
func (g gauss) next() float64 {
	for {
		u := g.bits.Uint64()
		i := u % layers
		x := float64(float64(int64(u)>>11) * 0x1p-52 * edges[i])
		if math.Abs(x) < edges[i+1] {
			return x
		}
		if i == 0 {
			return math.Copysign(g.beyond(), x)
		}
		if heights[i]+float64(det.Unit(g.bits.Uint64())*(heights[i+1]-heights[i])) < bell(x) {
			return x
		}
	}
}

// beyond returns a number of the half normal distribution above tail.
func (g gauss) beyond() float64 {
	for {
		a := -det.Log(1-det.Unit(g.bits.Uint64())) / tail
		b := -det.Log(1 - det.Unit(g.bits.Uint64()))
		if 2*b >= float64(a*a) {
			return tail + a
		}
	}
}
