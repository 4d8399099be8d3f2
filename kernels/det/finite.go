package det

import "math"

// Finite says whether x is a number and not infinite.
func Finite(x float64) bool { return !math.IsNaN(x) && !math.IsInf(x, 0) }
