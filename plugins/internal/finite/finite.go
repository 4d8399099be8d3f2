// Package finite tells numbers from what a training that diverged measures.
package finite

import "math"

// Is says whether x is a number and not infinite.
func Is(x float64) bool { return !math.IsNaN(x) && !math.IsInf(x, 0) }
