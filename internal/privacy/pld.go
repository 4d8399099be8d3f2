package privacy

import (
	"math"

	"gonum.org/v1/gonum/dsp/fourier"

	"github.com/fedfast/fedfast/internal/list"
)

// The grid of privacy losses is as fine as needed to round epsilon up by no more than about
// a wanted part, fine or rough, and no coarser than coarsest times that; but neither a step's
// losses nor those of all steps may take more than mostCells.
const (
	fine      = 4e-5
	rough     = 4e-4
	coarsest  = 2.5
	mostCells = 1 << 21
	mostTries = 4
)

// reach is how many standard deviations of the noise the grid covers; what lies beyond has
// a probability below 1e-30 and counts as an infinite loss.
const reach = 11.5

// PLD is Plans.PLD of one plan.
func (p Plan) PLD(delta float64) float64 { return Plans{p}.PLD(delta) }

// PLD returns the epsilon at a delta by the distribution of the privacy loss. A step's loss
// is put on a grid so that its hockey-stick divergence is exact at the grid's points and
// never less between them ("connect the dots", Doroshenko et al. 2022, arXiv 2207.04380),
// its distribution over all steps is a power of the Fourier transform, that over all plans
// their product, and the probability of what the grid leaves out is added to delta. Both
// directions are accounted for, a client removed and a client added; the larger epsilon
// counts. Plans with Fixed have no such bound: use RDP.
func (ps Plans) PLD(delta float64) float64 { return ps.within(fine, delta) }

// Rough is like PLD, but rounds up by up to about 0.01 and is some 10 times faster.
func (ps Plans) Rough(delta float64) float64 { return ps.within(rough, delta) }

func (ps Plans) within(wanted, delta float64) float64 {
	var parts []part
	whole := 0.0 // the squared mean, in standard deviations, of what all clients take part in
	for _, p := range ps {
		switch {
		case p.Steps == 0:
		case p.Q == 1:
			whole += float64(p.Steps) / (p.Sigma * p.Sigma)
		default:
			parts = append(parts, part{plan: p})
		}
	}
	switch {
	case len(parts) == 0 && whole == 0:
		return 0
	case len(parts) == 0:
		return gaussian(math.Sqrt(whole), delta)
	case whole > 0:
		parts = append(parts, part{plan: Plan{Q: 1, Sigma: 1 / math.Sqrt(whole), Steps: 1}})
	}
	rdp, order := ps.RDP(delta)
	tilt := min((order-1)/2, mostMoment/4)
	step := 0.0
	for i := range parts {
		parts[i].logs = parts[i].plan.moments(mostMoment, 8)
		step = max(step, parts[i].plan.highest()-parts[i].plan.lowest())
	}
	// log E[exp(t loss)] of all steps, for a client removed and added.
	remove := bounds(func(t float64) float64 { return moments(parts, 1+t) }, tilt, delta)
	add := bounds(func(t float64) float64 { return moments(parts, -t) }, tilt, delta)
	finest := max(remove.high-remove.low, add.high-add.low, step) / mostCells
	h := max(coarsest*wanted, finest)
	for try := 0; ; try++ {
		var removed, added []losses
		for _, p := range parts {
			r, a := p.plan.onGrid(h)
			r.logs, a.logs = func(t float64) float64 { return p.logs(1 + t) }, func(t float64) float64 { return p.logs(-t) }
			removed, added = append(removed, r), append(added, a)
		}
		// The grid's part of epsilon, which falls as h^2 or, for coarse grids, as h.
		more := max(excess(removed, tilt), excess(added, tilt)) / tilt
		if !(more > wanted && h > finest) || try == mostTries {
			return min(rdp, max(epsilon(removed, remove, delta), epsilon(added, add, delta)))
		}
		h = max(finest, h*max(0.1, min(0.7, math.Sqrt(wanted/more))))
	}
}

// part is a plan with log E_Q[(P/Q)^a] of its step as a function of a.
type part struct {
	plan Plan
	logs func(a float64) float64
}

// moments returns log E_Q[(P/Q)^a] of all steps.
func moments(parts []part, a float64) (sum float64) {
	for _, p := range parts {
		sum += float64(p.plan.Steps) * p.logs(a)
	}
	return sum
}

// excess returns by how much the grid raises log E[exp(t loss)] of all steps.
func excess(all []losses, t float64) (sum float64) {
	for i := range all {
		sum += all[i].steps * (all[i].moment(t) - all[i].logs(t))
	}
	return sum
}

// window is a range of losses of all steps that holds all but a negligible part of them.
type window struct {
	low, high float64
	tilt      float64
	s         float64 // the exponent of the Chernoff bound at the high end
}

// negligible is the part of delta that may lie beyond the window, and of the tilted
// distribution that may lie below it.
const negligible = 1e-10

// mostMoment bounds the exponents of Chernoff bounds.
const mostMoment = 500

// bounds bounds the losses of all steps by Chernoff's inequality. Above the window they
// have a probability of a negligible part of delta. Below it they have one that is
// negligible once it is tilted. moment is log E[exp(t loss)] of all steps.
func bounds(moment func(t float64) float64, tilt, delta float64) window {
	w := window{low: math.Inf(-1), high: math.Inf(1), tilt: tilt}
	level := moment(tilt)
	small := math.Log(delta * negligible)
	for s := 1e-3; s < mostMoment-1; s *= 1.3 {
		if top := (moment(s) - small) / s; top < w.high {
			w.high, w.s = top, s
		}
		w.low = max(w.low, (math.Log(negligible*1e-6)-(moment(tilt-s)-level))/s)
	}
	// The transform wraps around: what lies below the window comes out a width higher, with a
	// weight lower by the tilt, and what lies above the window the other way round.
	width := -small / tilt
	above := math.Inf(1)
	for s := tilt + 1e-3; s < mostMoment-1; s = tilt + 1.3*(s-tilt) {
		above = min(above, (moment(s)-small-s*max(0, w.low))/(s-tilt))
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
	steps    float64                 // how many there are
	logs     func(t float64) float64 // log E[exp(t loss)] without the grid
}

// lowest and highest return the least and the largest loss of a step that the grid has.
func (p Plan) lowest() float64 {
	if p.Q == 1 {
		return p.loss(-reach * p.Sigma)
	}
	return math.Log1p(-p.Q)
}

func (p Plan) highest() float64 { return p.loss(1 + reach*p.Sigma) }

// onGrid returns the privacy losses of a step for a client that is removed, with P the
// mixture and Q the noise alone, and for one that is added, with P and Q exchanged. Between
// two points of the grid lies a range of the outputs x; its probabilities under P and Q are
// split between the points so that both sums stay, which rounds pessimistically.
func (p Plan) onGrid(h float64) (removed, added losses) {
	low := int(math.Floor(p.lowest() / h))
	high := int(math.Ceil(p.highest() / h))
	n := high - low + 1
	removed = losses{p: make([]float64, n), low: low, h: h, steps: float64(p.Steps)}
	added = losses{p: make([]float64, n), low: -high, h: h, steps: float64(p.Steps)}
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
	if p.Q == 1 { // which is symmetric, where added has no lowest loss
		return removed, removed
	}
	return removed, added
}

// output returns the x at which the privacy loss is l, minus infinity below all losses.
func (p Plan) output(l float64) float64 {
	if p.Q == 1 {
		return p.Sigma*p.Sigma*l + 0.5
	}
	if l > 30 {
		return p.Sigma*p.Sigma*(l+math.Log1p((p.Q-1)*math.Exp(-l))-math.Log(p.Q)) + 0.5
	}
	y := math.Expm1(l) + p.Q
	if y <= 0 {
		return math.Inf(-1)
	}
	return p.Sigma*p.Sigma*math.Log(y/p.Q) + 0.5
}

// moment returns log E[exp(t loss)] over the finite losses of a step.
func (l *losses) moment(t float64) float64 {
	var sum float64
	near := l.logs(t)
	for i, p := range l.p {
		sum += p * math.Exp(t*float64(l.low+i)*l.h-near)
	}
	return near + math.Log(sum)
}

// epsilon returns the epsilon at a delta of all steps. The probabilities are tilted,
// multiplied by exp(tilt loss), so that those that matter for delta are the largest and
// rounding does not reach them.
func epsilon(all []losses, w window, delta float64) float64 {
	h, tilt := all[0].h, w.tilt
	bottom := int(math.Floor(w.low / h))
	size := fastSize(int(math.Ceil(w.high/h)) - bottom + 2)
	var far, level, finite float64
	fft := fourier.NewFFT(size)
	transformed := list.Made(size/2+1, func(i int) complex128 { return 1 })
	for k := range all {
		l := &all[k]
		own := l.moment(tilt)
		wrapped := make([]float64, size)
		for i, p := range l.p {
			wrapped[modulo(l.low+i, size)] += p * math.Exp(tilt*float64(l.low+i)*h-own)
		}
		for i, z := range fft.Coefficients(nil, wrapped) {
			transformed[i] *= power(z, l.steps)
		}
		far += l.steps * l.moment(w.s)
		level += l.steps * own
		finite += l.steps * math.Log1p(-l.infinite)
	}
	together := fft.Sequence(nil, transformed)
	infinite := math.Exp(far-w.s*float64(bottom+size-1)*h) - math.Expm1(finite)
	// From the top down: delta(e) = infinite + sum over l > e of p_l (1 - exp(e-l)).
	var sum, scaled float64
	shrink := math.Exp(-h)
	for i := bottom + size - 1; i >= bottom; i-- {
		at := float64(i) * h
		scaled *= shrink // sum of p_l exp(at - l)
		if infinite+sum-scaled >= delta {
			return max(0, at+math.Log((infinite+sum-delta)/scaled))
		}
		if at <= 0 {
			return 0
		}
		g := together[modulo(i, size)] / float64(size)
		p := math.Exp(math.Log(max(g, 0)) + level - tilt*at)
		sum += p
		scaled += p
	}
	return max(0, float64(bottom)*h)
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
