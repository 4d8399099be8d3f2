package hyper

import "math"

// LocalSteps returns how many steps a client with n >= 1 training examples
// takes.
func (c Client) LocalSteps(n int) int {
	if c.Steps > 0 {
		return c.Steps
	}
	perPass := func(examples float64) int {
		return int(math.Ceil(examples / float64(c.Batch)))
	}
	if c.Wrap && c.Floor {
		return max(1, int(c.Epochs*float64(n)/float64(c.Batch)))
	}
	if c.Wrap {
		return max(1, perPass(c.Epochs*float64(n)))
	}
	if c.Drops(n) {
		perPass = func(examples float64) int { return int(examples) / c.Batch }
	}
	whole, part := math.Modf(c.Epochs)
	return max(1, int(whole)*perPass(float64(n))+perPass(part*float64(n)))
}

// Drops reports whether a client with n training examples leaves out the incomplete last
// batches of its passes. One that has no complete batch does not.
func (c Client) Drops(n int) bool { return c.DropLast && n >= c.Batch }

// Examples returns how many training examples a client with n of them
// processes, the measure of its work.
func (c Client) Examples(n int) int {
	steps := c.LocalSteps(n)
	if c.Wrap || c.Steps > 0 {
		return steps * c.Batch
	}
	return min(steps*c.Batch, int(math.Ceil(c.Epochs*float64(n))))
}

// DealsOne reports whether a client with n >= 1 training examples trains on a batch of a
// single one.
func (c Client) DealsOne(n int) bool {
	one := func(examples int) bool { return c.Batch == 1 || examples%c.Batch == 1 }
	if c.Wrap {
		return c.Batch == 1
	}
	if c.Drops(n) { // which deals only complete batches but where it would deal none
		return c.Batch == 1 || c.Steps == 0 && c.Epochs*float64(n) <= 1
	}
	if c.Steps > 0 {
		return c.Steps*c.Batch >= n && one(n)
	}
	whole, part := math.Modf(c.Epochs)
	return whole >= 1 && one(n) || part > 0 && one(max(1, int(math.Ceil(part*float64(n)))))
}

// Rate returns the server's learning rate in round t = 0, 1, ...: lr gamma^t, with lr
// that of its schedule.
func (s Server) Rate(t int) float64 {
	lr := s.LR
	if !s.constant() {
		lr = s.rate(lr, t, s.Length)
	}
	return lr * wholePower(s.Decay, t)
}

// wholePower returns x^n for n >= 0 by repeated squaring: products only, so
// the same bits on every machine.
func wholePower(x float64, n int) float64 {
	y := 1.0
	for ; n > 0; n >>= 1 {
		if n&1 == 1 {
			y *= x
		}
		x *= x
	}
	return y
}
