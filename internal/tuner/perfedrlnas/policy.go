package perfedrlnas

import (
	"math"

	"github.com/fedfast/fedfast/kernels/det"
)

// choices are where the numbers of each choice's options lie in a policy's vectors, one
// choice after the other.
type choices []span

type span struct{ lo, hi int }

// policy is what is known of a client. All vectors have a number for each option of
// each choice.
type policy struct {
	key          uint64
	steps        int     // of Adam
	best         float64 // the client's best accuracy
	mean         float64 // moving mean of its accuracy
	seen         bool    // it has had an accuracy
	alpha        []float64
	first, other []float64 // Adam's first and second moments
}

func newPolicy(key uint64, logits int) *policy {
	v := make([]float64, 3*logits)
	return &policy{key: key, alpha: v[:logits], first: v[logits : 2*logits], other: v[2*logits:]}
}

// softmax returns the distribution that logits stand for.
func softmax(z []float64) []float64 {
	p := make([]float64, len(z))
	all := det.LogSumExp(z)
	for j := range z {
		p[j] = det.Exp(z[j] - all)
	}
	return p
}

// reinforce adds the gradient of -reward log p(pick) to g: reward (p - onehot).
func (p *policy) reinforce(g []float64, all choices, pick []int, reward float64) {
	for d, of := range all {
		for j, q := range softmax(p.alpha[of.lo:of.hi]) {
			if j == pick[d] {
				q--
			}
			g[of.lo+j] += float64(reward * q)
		}
	}
}

// step is a step of Adam (Kingma and Ba 2015) without weight decay.
func (p *policy) step(g []float64, s settings) {
	p.steps++
	fix1, fix2 := 1-power(s.beta1, p.steps), 1-power(s.beta2, p.steps)
	for i, x := range g {
		p.first[i] = float64(s.beta1*p.first[i]) + float64((1-s.beta1)*x)
		p.other[i] = float64(s.beta2*p.other[i]) + float64((1-s.beta2)*float64(x*x))
		p.alpha[i] -= float64(s.lr*p.first[i]/fix1) / (math.Sqrt(p.other[i]/fix2) + 1e-8)
	}
}

// power returns x to the nth power, the same on every machine.
func power(x float64, n int) float64 {
	y := 1.0
	for range n {
		y *= x
	}
	return y
}
