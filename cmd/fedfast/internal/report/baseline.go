package report

import (
	"fmt"
	"math"
	"slices"

	"github.com/fedfast/fedfast/internal/figure"
)

// randomSearch is what random search beside the study would have found after each of its
// configurations: their order is chance, so the band shows what another order gives.
func (s *Study) randomSearch() (line figure.Line) {
	if s.Baseline == nil {
		return line
	}
	_, by := s.unit()
	aim := s.Config.Aim()
	var scores []float64
	for _, t := range s.Baseline.Done {
		if x := float64(t.Score); !math.IsNaN(x) && !math.IsInf(x, 0) {
			scores = append(scores, by*x)
		}
	}
	slices.SortFunc(scores, aim.Compare)
	line.Name = fmt.Sprintf("random search, best of up to %d (all clients; mean and standard deviation over orders)", s.Baseline.Configurations)
	for i, m := range bestOf(scores) {
		line.Points = append(line.Points, figure.Point{X: float64((i + 1) * s.Baseline.Rounds), Y: m.mean, Half: m.sd})
	}
	return line
}

// moments are the moments of a random number.
type moments struct{ mean, sd float64 }

// bestOf returns the moments of the best of k scores that are drawn without putting back,
// for each k from 1; the scores stand in order, the best first.
func bestOf(scores []float64) (all []moments) {
	n := len(scores)
	for k := 1; k <= n; k++ {
		p := float64(k) / float64(n) // the chance that the best of k is scores[i]
		mean, square := 0.0, 0.0
		for i := 0; i <= n-k; i++ {
			mean += p * scores[i]
			square += p * scores[i] * scores[i]
			p *= float64(n-k-i) / max(1, float64(n-1-i))
		}
		all = append(all, moments{mean, math.Sqrt(max(0, square-mean*mean))})
	}
	return all
}
