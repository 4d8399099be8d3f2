package privacy

import (
	"math"
	"slices"

	"github.com/fedfast/fedfast/kernels/det"
)

// orders are the Rényi orders that RDP chooses from: those that public accountants use.
var orders = func() []float64 {
	var all []float64
	for a := 11; a < 110; a++ {
		all = append(all, float64(a)/10)
	}
	for a := 11; a < 64; a++ {
		all = append(all, float64(a))
	}
	return append(all, 128, 256, 512, 1024)
}()

// mostFixedOrder is the largest order for cohorts of a fixed size, whose bound takes an
// integral for each order below.
const mostFixedOrder = 256

// RDP is Plans.RDP of one plan.
func (p Plan) RDP(delta float64) (epsilon, order float64) { return Plans{p}.RDP(delta) }

// RDP returns the epsilon at a delta by Rényi differential privacy, and the order that
// gives it. The sum of the steps' divergences is converted by Proposition 12 of Canonne,
// Kamath and Steinke 2020 (arXiv 2004.00010).
func (ps Plans) RDP(delta float64) (epsilon, order float64) {
	all := make([]float64, len(orders))
	for _, p := range ps {
		p.add(all)
	}
	return convert(all, delta)
}

// Bound returns a function that is RDP at a delta after a number of steps of the first plan
// and all of the others, which takes microseconds.
func (ps Plans) Bound(delta float64) func(steps int) float64 {
	first, rest := make([]float64, len(orders)), make([]float64, len(orders))
	one := ps[0]
	one.Steps = 1
	one.add(first)
	for _, p := range ps[1:] {
		p.add(rest)
	}
	return func(steps int) float64 {
		all := slices.Clone(rest)
		for i, r := range first {
			if steps > 0 {
				all[i] += float64(steps) * r
			}
		}
		epsilon, _ := convert(all, delta)
		return epsilon
	}
}

// add adds the divergences of all steps to those of others.
func (p Plan) add(all []float64) {
	if p.Steps == 0 {
		return
	}
	for i, r := range p.divergences() {
		all[i] += r * float64(p.Steps)
	}
}

// convert returns the epsilon at a delta that divergences give, and the best order.
func convert(all []float64, delta float64) (epsilon, order float64) {
	if !slices.ContainsFunc(all, func(r float64) bool { return r != 0 }) {
		return 0, orders[len(orders)-1]
	}
	epsilon = math.Inf(1)
	for i, r := range all {
		a := orders[i]
		e := r + math.Log1p(-1/a) - (det.Log(delta)+det.Log(a))/(a-1)
		if delta*delta > -math.Expm1(-r) { // the total variation is below delta
			e = 0
		}
		if e < epsilon {
			epsilon, order = max(0, e), a
		}
	}
	return epsilon, order
}

// divergences returns the Rényi divergence of a step at each of the orders; infinity
// where there is no bound.
func (p Plan) divergences() []float64 {
	each := make([]float64, len(orders))
	if p.Fixed && p.Q < 1 {
		whole := p.fixed()
		for i, a := range orders {
			each[i] = math.Inf(1)
			if a == math.Floor(a) && int(a) < len(whole) {
				each[i] = whole[int(a)]
			}
		}
		return each
	}
	logs := p.moments(11, nodes)
	for i, a := range orders {
		switch {
		case a == math.Floor(a):
			each[i] = max(0, p.integer(int(a))/(a-1))
		default:
			each[i] = max(0, logs(a)/(a-1))
		}
	}
	return each
}

// integer returns log E[(P/Q)^a] for an integer order: the binomial sum of Mironov, Talwar
// and Zhang 2019 (arXiv 1908.10530), section 3.3.
func (p Plan) integer(a int) float64 {
	if p.Q == 1 {
		return float64(a*(a-1)) / (2 * p.Sigma * p.Sigma)
	}
	terms := make([]float64, a+1)
	in, out := det.Log(p.Q), math.Log1p(-p.Q)
	for k := range terms {
		n := float64(k)
		terms[k] = logChoose(a, k) + float64(n*in) + float64(float64(a-k)*out) + (n*n-n)/(2*p.Sigma*p.Sigma)
	}
	return det.LogSumExp(terms)
}

// nodes is how many nodes a quadrature has in a standard deviation: the rule's error falls
// as exp(-2 pi^2 sigma nodes), where the integrand's next singularity is.
const nodes = 40

// span is how many standard deviations quadratures go beyond the outermost peaks.
const span = 12

// moments returns a function of the order a for log E_Q[(P/Q)^a], where Q is N(0, sigma^2)
// and P/Q = 1-q + q exp((2x-1)/(2 sigma^2)), for orders up to top: the trapezoidal rule.
func (p Plan) moments(top float64, nodes int) func(a float64) float64 {
	if p.Q == 1 {
		return func(a float64) float64 { return a * (a - 1) / (2 * p.Sigma * p.Sigma) }
	}
	step := p.Sigma / float64(nodes)
	n := int((top + 2*span*p.Sigma) / step)
	logs, weights := make([]float64, n), make([]float64, n)
	norm := det.Log(float64(nodes)) + 0.5*det.Log(2*math.Pi)
	for i := range n {
		x := float64(float64(i)*step) - span*p.Sigma
		logs[i] = p.loss(x)
		weights[i] = -0.5*(x/p.Sigma)*(x/p.Sigma) - norm
	}
	terms := make([]float64, n)
	return func(a float64) float64 {
		end := min(n, int((max(0, a)+2*span*p.Sigma)/step))
		for i := range end {
			terms[i] = float64(a*logs[i]) + weights[i]
		}
		return det.LogSumExp(terms[:end])
	}
}

// loss returns log(1-q + q exp((2x-1)/(2 sigma^2))), the privacy loss at x.
func (p Plan) loss(x float64) float64 {
	u := (2*x - 1) / (2 * p.Sigma * p.Sigma)
	if p.Q == 1 {
		return u
	}
	if u > 30 { // beyond what exp can hold
		return u + math.Log1p((1-p.Q)/p.Q*det.Exp(-u)) + det.Log(p.Q)
	}
	return math.Log1p(p.Q * math.Expm1(u))
}

// fixed returns, by order, the divergences of a step with cohorts of a fixed size drawn
// without replacement: Theorem 27 of Wang, Balle and Kasiviswanathan 2019 (arXiv
// 1808.00087) for the Gaussian mechanism. Those of the orders 0 and 1 are infinite.
func (p Plan) fixed() []float64 {
	variance := p.Sigma * p.Sigma
	even := make([]float64, mostFixedOrder+1) // log E[(P/Q - 1)^j]
	for j := 2; j <= mostFixedOrder; j += 2 {
		even[j] = p.central(j)
	}
	terms := make([]float64, mostFixedOrder+1) // but for the binomial
	for j := 2; j <= mostFixedOrder; j++ {
		n := float64(j)
		odd := math.Ln2 + (n*n-n)/(2*variance)
		low, high := j&^1, min((j+1)&^1, mostFixedOrder)
		terms[j] = n*det.Log(p.Q) + min(odd, 2*math.Ln2+(even[low]+even[high])/2)
	}
	each := make([]float64, mostFixedOrder+1)
	each[0], each[1] = math.Inf(1), math.Inf(1)
	for a := 2; a <= mostFixedOrder; a++ {
		sum := []float64{0}
		for j := 2; j <= a; j++ {
			sum = append(sum, terms[j]+logChoose(a, j))
		}
		each[a] = min(det.LogSumExp(sum)/float64(a-1), float64(a)/(2*variance))
	}
	return each
}

// central returns log E_Q[(P/Q - 1)^j] of the Gaussian mechanism itself for an even j.
func (p Plan) central(j int) float64 {
	whole := Plan{Q: 1, Sigma: p.Sigma}
	step := p.Sigma / nodes
	norm := det.Log(nodes) + 0.5*det.Log(2*math.Pi)
	var terms []float64
	add := func(from, to float64) { // around a peak
		for i := math.Ceil(from / step); i*step < to; i++ {
			x := i * step
			l := whole.loss(x)
			off := math.Abs(math.Expm1(l))
			if l > 30 {
				terms = append(terms, float64(j)*l-0.5*(x/p.Sigma)*(x/p.Sigma)-norm)
			} else if off > 0 {
				terms = append(terms, float64(j)*det.Log(off)-0.5*(x/p.Sigma)*(x/p.Sigma)-norm)
			}
		}
	}
	reach := span * p.Sigma
	if middle, top := reach, float64(j)-reach; middle < top {
		add(-reach, middle)
		add(top, float64(j)+reach)
	} else {
		add(-reach, float64(j)+reach)
	}
	return det.LogSumExp(terms)
}

// logChoose returns the logarithm of a binomial coefficient.
func logChoose(n, k int) float64 {
	k = min(k, n-k)
	return factorials[n] - factorials[k] - factorials[n-k]
}

// factorials are the logarithms of 0!, 1!, ... up to the largest order's.
var factorials = func() []float64 {
	all := make([]float64, int(slices.Max(orders))+1)
	for i := 1; i < len(all); i++ {
		all[i] = all[i-1] + det.Log(float64(i))
	}
	return all
}()

// MostTrials bounds the mean number of trials.
const MostTrials = 1e12

// BestOf returns the epsilon at a delta, and the order that gives it, of trials that each
// follow the plans, where after each one tuning ends with the probability 1/mean (mean is 1
// or more), and only the best result is released, by private scores that the plans include:
// Theorem 2 of Papernot and Steinke 2022 (arXiv 2110.03620) for the geometric distribution.
// It grows with the logarithm of the mean.
func (ps Plans) BestOf(mean, delta float64) (epsilon, order float64) {
	each := make([]float64, len(orders))
	for _, p := range ps {
		p.add(each)
	}
	more := math.Inf(1)
	for i, r := range each {
		more = min(more, float64((1-1/orders[i])*r)+det.Log(mean)/orders[i])
	}
	all := make([]float64, len(orders))
	for i, r := range each {
		all[i] = r + 2*more + det.Log(mean)/(orders[i]-1)
	}
	return convert(all, delta)
}
