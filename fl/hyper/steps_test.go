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
