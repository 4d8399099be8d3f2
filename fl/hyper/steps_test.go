package hyper

import (
	"math"
	"testing"
)

func TestWholePower(t *testing.T) {
	for _, x := range []float64{1, 0.99, 0.9999, 0.5} {
		for n := range 300 {
			want := math.Pow(x, float64(n))
			if got := wholePower(x, n); math.Abs(got-want) > 1e-13*want {
				t.Fatalf("wholePower(%v, %d) = %v, want %v", x, n, got, want)
			}
		}
	}
}

// TestDropLast: passes leave out their incomplete batches, as PyTorch counts them, but for
// a client that has none complete.
func TestDropLast(t *testing.T) {
	for _, tt := range []struct {
		n, batch        int
		epochs          float64
		steps, examples int
		one             bool // a batch of one sample
	}{
		{25, 10, 1, 2, 20, false},
		{20, 10, 1, 2, 20, false},
		{21, 10, 3, 6, 60, false},
		{10, 10, 2, 2, 20, false},
		{7, 10, 3, 3, 21, false},
		{25, 10, 1.5, 3, 30, false},
		{25, 10, 1.2, 2, 20, false},
		{25, 10, 0.2, 1, 5, false},
		{25, 10, 0.04, 1, 1, true},
		{1, 10, 2, 2, 2, true},
		{5, 1, 1, 5, 5, true},
	} {
		c := Client{Batch: tt.batch, Epochs: tt.epochs, DropLast: true}
		if steps, examples, one := c.LocalSteps(tt.n), c.Examples(tt.n), c.DealsOne(tt.n); steps != tt.steps ||
			examples != tt.examples || one != tt.one {
			t.Errorf("%+v: %d steps, %d samples, a batch of one: %v", tt, steps, examples, one)
		}
	}
	c := DefaultClient()
	c.DropLast, c.Wrap = true, true
	if err := c.Check(); err == nil {
		t.Error("client.drop_last with client.wrap is allowed")
	}
}
