package fl

import "github.com/fedfast/fedfast/fl/internal/robust"

// builtInAggregators are the aggregators that fedfast has, in the order of lists.
var builtInAggregators = []Aggregator{mean, median, trimmed, krum, multiKrum, geometricMedian, normBound}

// init registers them; one that cannot be is a mistake of this package.
func init() {
	for _, a := range builtInAggregators {
		if err := RegisterAggregator(a); err != nil {
			panic(err)
		}
	}
}

var mean = Aggregator{Name: aggregatorMean, Doc: "the mean with the method's weights"}

var median = Aggregator{
	Name: "median", Doc: "the median of each coordinate",
	Paper: "Yin et al. 2018, Byzantine-Robust Distributed Learning, arXiv:1803.01498",
	Combine: func(h *Held) {
		robust.Trimmed(h.run, h.Out, h.Updates, robust.Middle(len(h.Updates)))
	},
}

var trimmed = Aggregator{
	Name: "trimmed", Uses: []string{"aggregator.trim"},
	Doc:   "the mean of each coordinate without the share aggregator.trim of the values at each end",
	Paper: "Yin et al. 2018, Byzantine-Robust Distributed Learning, arXiv:1803.01498",
	Combine: func(h *Held) {
		n := len(h.Updates)
		robust.Trimmed(h.run, h.Out, h.Updates, min(int(h.Params.Trim*float64(n)), robust.Middle(n)))
	},
}

var krum = Aggregator{
	Name: "krum", Uses: []string{"aggregator.wrong"}, Least: krumLeast,
	Doc:   "the update with the least sum of squared distances to its nearest neighbors",
	Paper: "Blanchard et al. 2017, Machine Learning with Adversaries, arXiv:1703.02757",
	Combine: func(h *Held) {
		copy(h.Out, h.Updates[robust.Krum(h.run, h.Updates, h.Params.wrong(len(h.Updates)), 1)[0]])
	},
}

var multiKrum = Aggregator{
	Name: "multikrum", Uses: []string{"aggregator.wrong"}, Least: krumLeast,
	Doc:   "the mean of the updates that are left without the share aggregator.wrong of them that krum scores worst",
	Paper: "Blanchard et al. 2017, Machine Learning with Adversaries, arXiv:1703.02757",
	Combine: func(h *Held) {
		n := len(h.Updates)
		wrong := h.Params.wrong(n)
		weights := make([]float64, n)
		for _, i := range robust.Krum(h.run, h.Updates, wrong, n-wrong) {
			weights[i] = 1
		}
		robust.Mean(h.run, h.Out, h.Updates, weights)
	},
}

// krumLeast is 2f + 3.
func krumLeast(p *Aggregation, cohort int) int { return 2*p.wrong(cohort) + 3 }

// wrong returns how many of n clients are expected to be wrong.
func (p *Aggregation) wrong(n int) int { return int(p.Wrong * float64(n)) }

var geometricMedian = Aggregator{
	Name: "rfa", Uses: []string{"aggregator.steps", "aggregator.least"},
	Doc:   "the weighted geometric median, by aggregator.steps steps of the smoothed Weiszfeld algorithm from 0",
	Paper: "Pillutla et al. 2022, Robust Aggregation for Federated Learning, arXiv:1912.13445",
	Combine: func(h *Held) {
		robust.GeometricMedian(h.run, h.Out, h.Updates, h.Weights, h.Params.Steps, h.Params.Least)
	},
}

var normBound = Aggregator{
	Name: "norm_bound", Uses: []string{"aggregator.bound"},
	Doc:   "the mean of the updates, each clipped to the norm aggregator.bound",
	Paper: "Sun et al. 2019, Can You Really Backdoor Federated Learning?, arXiv:1911.07963",
	Factor: func(p *Aggregation, norm float64) float64 {
		if norm <= p.Bound {
			return 1
		}
		return p.Bound / norm
	},
}
