package repro

import (
	"math"

	"gonum.org/v1/gonum/stat"
	"gonum.org/v1/gonum/stat/distuv"
)

// confidence is that of the intervals: 90 %, as in FedEx's Table 2.
const confidence = 0.9

// Sample sums up numbers of several trials.
type Sample struct {
	N int `json:"n"`
	// Mean is NaN without any, SD with fewer than two.
	Mean float64 `json:"mean"`
	SD   float64 `json:"sd"`
	// Half is half the width of the 90 % confidence interval of the mean by Student's t; NaN with fewer than two.
	Half float64 `json:"half"`
}

func sampleOf(xs []float64) Sample {
	s := Sample{N: len(xs), Mean: math.NaN(), SD: math.NaN(), Half: math.NaN()}
	switch {
	case s.N == 1:
		s.Mean = xs[0]
	case s.N > 1:
		s.Mean, s.SD = stat.MeanStdDev(xs, nil)
		t := distuv.StudentsT{Mu: 0, Sigma: 1, Nu: float64(s.N - 1)}.Quantile((1 + confidence) / 2)
		s.Half = t * s.SD / math.Sqrt(float64(s.N))
	}
	return s
}
