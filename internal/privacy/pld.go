package privacy

import (
	"math"

	"gonum.org/v1/gonum/dsp/fourier"
)

// The grid of privacy losses is as fine as needed to round epsilon up by no more than about
// wanted, and no coarser than coarsest; but neither a step's losses nor those of all steps
// may take more than mostCells.
const (
	coarsest  = 1e-4
	wanted    = 4e-5
	mostCells = 1 << 21
	mostTries = 4
)

// reach is how many standard deviations of the noise the grid covers; what lies beyond has
// a probability below 1e-30 and counts as an infinite loss.
const reach = 11.5

// PLD returns the epsilon at a delta by the distribution of the privacy loss. A step's loss
// is put on a grid so that its hockey-stick divergence is exact at the grid's points and
// never less between them ("connect the dots", Doroshenko et al. 2022, arXiv 2207.04380),
// its distribution over all steps is a power of the Fourier transform, and the probability
// of what the grid leaves out is added to delta. Both directions are accounted for, a
// client removed and a client added; the larger epsilon counts. Plans with Fixed have no
// such bound: use RDP.
func (p Plan) PLD(delta float64) float64 {
	if p.Steps == 0 {
		return 0
	}
	if p.Q == 1 {
		return gaussian(math.Sqrt(float64(p.Steps))/p.Sigma, delta)
	}
	rdp, order := p.RDP(delta)
	tilt := min((order-1)/2, mostMoment/4)
	// log E[exp(t loss)] of a step, for a client removed and added.
	moment := p.moments(mostMoment, 8)
	remove := p.window(func(t float64) float64 { return moment(1 + t) }, tilt, delta)
	add := p.window(func(t float64) float64 { return moment(-t) }, tilt, delta)
	width := max(remove.high-remove.low, add.high-add.low)
	step := p.loss(1+reach*p.Sigma) - math.Log1p(-p.Q)
	finest := max(width, step) / mostCells
	h := max(coarsest, finest)
	for try := 0; ; try++ {
		removed, added := p.onGrid(h)
		// The grid's part of epsilon, which falls as h^2 or, for coarse grids, as h.
		n := float64(p.Steps)
		more := n / tilt * max(removed.moment(tilt, remove.level)-remove.level, added.moment(tilt, add.level)-add.level)
		if !(more > wanted && h > finest) || try == mostTries {
			return min(rdp, max(removed.epsilon(p.Steps, remove, delta), added.epsilon(p.Steps, add, delta)))
		}
		h = max(finest, h*max(0.1, min(0.7, math.Sqrt(wanted/more))))
	}
}

// window is a range of losses of all steps that holds all but a negligible part of them.
type window struct {
	low, high float64
	tilt      float64
	level     float64 // log E[exp(tilt loss)] of a step
	s, far    float64 // the Chernoff bound at the high end: log E[exp(s loss)] of a step is far
}

// negligible is the part of delta that may lie beyond the window, and of the tilted
// distribution that may lie below it.
const negligible = 1e-10

// mostMoment bounds the exponents of Chernoff bounds.
const mostMoment = 500

// window bounds the losses of all steps by Chernoff's inequality. Above the window they
// have a probability of a negligible part of delta. Below it they have one that is
// negligible once it is tilted.
func (p Plan) window(moment func(t float64) float64, tilt, delta float64) window {
	n := float64(p.Steps)
	w := window{low: math.Inf(-1), high: math.Inf(1), tilt: tilt, level: moment(tilt)}
	small := math.Log(delta * negligible)
	for s := 1e-3; s < mostMoment-1; s *= 1.3 {
		far := moment(s)
		if top := (n*far - small) / s; top < w.high {
			w.high, w.s, w.far = top, s, far
		}
		w.low = max(w.low, (math.Log(negligible*1e-6)-n*(moment(tilt-s)-w.level))/s)
	}
	// The transform wraps around: what lies below the window comes out a width higher, with a
	// weight lower by the tilt, and what lies above the window the other way round.
	width := -small / tilt
	above := math.Inf(1)
	for s := tilt + 1e-3; s < mostMoment-1; s = tilt + 1.3*(s-tilt) {
		above = min(above, (n*moment(s)-small-s*max(0, w.low))/(s-tilt))
	}
	width = max(width, above)
	w.high = max(w.high, 0.1*width)
	w.low = min(w.low, w.high-width)
	return w
}

// losses is the distribution of a step's privacy loss on a grid: p[i] is the probability
// of the loss (low+i) h, infinite that of an infinite loss.
type losses struct {
	p        []float64
	low      int
	h        float64
	infinite float64
}

// onGrid returns the privacy losses of a step for a client that is removed, with P the
// mixture and Q the noise alone, and for one that is added, with P and Q exchanged. Between
// two points of the grid lies a range of the outputs x; its probabilities under P and Q are
// split between the points so that both sums stay, which rounds pessimistically.
func (p Plan) onGrid(h float64) (removed, added losses) {
	low := int(math.Floor(math.Log1p(-p.Q) / h))
	high := int(math.Ceil(p.loss(1+reach*p.Sigma) / h))
	n := high - low + 1
	removed = losses{p: make([]float64, n), low: low, h: h}
	added = losses{p: make([]float64, n), low: -high, h: h}
	up, down := 1/-math.Expm1(-h), math.Exp(-h)
	out, in := point(math.Inf(-1)), point(math.Inf(-1)) // of the clients' sum without and with the client
	for i := range n - 1 {
		x := p.output(float64(low+i+1) * h)
		toOut, toIn := point(x/p.Sigma), point((x-1)/p.Sigma)
		base := out.until(toOut)
		mixed := (1-p.Q)*base + p.Q*in.until(toIn)
		out, in = toOut, toIn
		ratio := math.Exp(float64(low+i) * h)
		// Of the mixture's probability, the share at the upper point.
		top := min(mixed, max(0, (mixed-ratio*base)*up))
		removed.p[i] += mixed - top
		removed.p[i+1] += top
		// The same split as probabilities of the noise alone: q = p exp(-loss).
		upper := min(base, top/ratio*down)
		added.p[n-1-i] += base - upper
		added.p[n-2-i] += upper
	}
	removed.infinite = (1-p.Q)*out.tail + p.Q*in.tail
	added.p[0] += out.tail
	return removed, added
}

// output returns the x at which the privacy loss is l, minus infinity below all losses.
func (p Plan) output(l float64) float64 {
	if l > 30 {
		return p.Sigma*p.Sigma*(l+math.Log1p((p.Q-1)*math.Exp(-l))-math.Log(p.Q)) + 0.5
	}
	y := math.Expm1(l) + p.Q
	if y <= 0 {
		return math.Inf(-1)
	}
	return p.Sigma*p.Sigma*math.Log(y/p.Q) + 0.5
}

// moment returns log E[exp(t loss)] over the finite losses; near is about that.
func (l *losses) moment(t, near float64) float64 {
	var sum float64
	for i, p := range l.p {
		sum += p * math.Exp(t*float64(l.low+i)*l.h-near)
	}
	return near + math.Log(sum)
}

// epsilon returns the epsilon at a delta after a number of steps. The probabilities are
// tilted, multiplied by exp(tilt loss), so that those that matter for delta are the largest
// and rounding does not reach them.
func (l *losses) epsilon(steps int, w window, delta float64) float64 {
	n, tilt := float64(steps), w.tilt
	bottom := int(math.Floor(w.low / l.h))
	size := fastSize(int(math.Ceil(w.high/l.h)) - bottom + 2)
	beyond := math.Exp(n*l.moment(w.s, w.far) - w.s*float64(bottom+size-1)*l.h)
	level := l.moment(tilt, w.level)
	wrapped := make([]float64, size)
	for i, p := range l.p {
		wrapped[modulo(l.low+i, size)] += p * math.Exp(tilt*float64(l.low+i)*l.h-level)
	}
	fft := fourier.NewFFT(size)
	transformed := fft.Coefficients(nil, wrapped)
	for i, z := range transformed {
		transformed[i] = power(z, n)
	}
	all := fft.Sequence(wrapped, transformed)
	infinite := beyond - math.Expm1(n*math.Log1p(-l.infinite))
	// From the top down: delta(e) = infinite + sum over l > e of p_l (1 - exp(e-l)).
	var sum, scaled float64
	shrink := math.Exp(-l.h)
	for i := bottom + size - 1; i >= bottom; i-- {
		at := float64(i) * l.h
		scaled *= shrink // sum of p_l exp(at - l)
		if infinite+sum-scaled >= delta {
			return max(0, at+math.Log((infinite+sum-delta)/scaled))
		}
		if at <= 0 {
			return 0
		}
		g := all[modulo(i, size)] / float64(size)
		p := math.Exp(math.Log(max(g, 0)) + n*level - tilt*at)
		sum += p
		scaled += p
	}
	return max(0, float64(bottom)*l.h)
}

// power returns z^n.
func power(z complex128, n float64) complex128 {
	re, im := real(z), imag(z)
	radius := math.Exp(n * 0.5 * math.Log(re*re+im*im))
	sin, cos := math.Sincos(math.Remainder(n*math.Atan2(im, re), 2*math.Pi))
	return complex(radius*cos, radius*sin)
}

// fastSize returns the least power of two, or three or five times that, that is at least m.
func fastSize(m int) int {
	best := math.MaxInt
	for _, odd := range []int{1, 3, 5} {
		n := odd
		for n < m {
			n *= 2
		}
		best = min(best, n)
	}
	return best
}

func modulo(i, n int) int { return (i%n + n) % n }

// gaussian returns the epsilon at a delta of a Gaussian mechanism with a mean of mu
// standard deviations, exactly (Balle and Wang 2018, arXiv 1805.06530).
func gaussian(mu, delta float64) float64 {
	exceeds := func(e float64) bool {
		// The second term is e^e times a tail; its logarithm does not overflow.
		return above(e/mu-mu/2)-math.Exp(e+logAbove(e/mu+mu/2)) > delta
	}
	if !exceeds(0) {
		return 0
	}
	low, high := 0.0, 1.0
	for exceeds(high) {
		low, high = high, 2*high
	}
	for range 100 {
		if middle := (low + high) / 2; exceeds(middle) {
			low = middle
		} else {
			high = middle
		}
	}
	return high
}

// normal is a point x of the standard normal distribution with the probability beyond |x|.
type normal struct{ x, tail float64 }

func point(x float64) normal { return normal{x, above(math.Abs(x))} }

// until returns the probability between two points, a <= b.
func (a normal) until(b normal) float64 {
	switch {
	case a.x > 0:
		return max(0, a.tail-b.tail)
	case b.x > 0:
		return 1 - a.tail - b.tail
	}
	return max(0, b.tail-a.tail)
}

// above returns the probability that a standard normal variable exceeds x.
func above(x float64) float64 { return math.Erfc(x/math.Sqrt2) / 2 }

// logAbove returns its logarithm.
func logAbove(x float64) float64 {
	if x < 30 {
		return math.Log(above(x))
	}
	y := 1 / (x * x) // the asymptotic series
	return -x*x/2 - math.Log(x*math.Sqrt(2*math.Pi)) + math.Log1p(-y*(1-3*y*(1-5*y)))
}
