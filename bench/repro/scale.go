package repro

import (
	"context"
	"fmt"
	"math"
)

// LargerScale returns the next larger factor of two digits, at most 1: where one is
// too small, the next that may work.
func LargerScale(x float64) float64 {
	step := math.Pow(10, math.Floor(math.Log10(x))-1)
	return math.Min(1, float64((math.Floor(x/step+1e-9)+1)*step))
}

// larger says which scale works where that of the options is too small for a
// training's tuner; it is empty when none does.
func larger(ctx context.Context, t *Training, o Options, seed int) string {
	for o.Scale != 0 && o.Scale < 1 {
		o.Scale = LargerScale(o.Scale)
		c, _, err := t.Config(o, seed)
		if err != nil {
			return ""
		}
		if payable(ctx, c) == nil {
			return fmt.Sprintf("; --scale %.6g works", o.Scale)
		}
	}
	return ""
}
