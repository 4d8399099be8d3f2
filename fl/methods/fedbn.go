package methods

import (
	"slices"

	"github.com/fedfast/fedfast/fl"
	"github.com/fedfast/fedfast/fl/hyper"
)

// fedBN is FedBN (Li et al. 2021, algorithm 1): FedAvg of all but the batch
// normalizations, of which each client keeps its own: scales, shifts and statistics. Its
// personalized model is the shared one with these.
func fedBN() fl.Method {
	return fl.Method{
		Name:        "fedbn",
		Doc:         "FedBN: FedAvg, but each client keeps the batch normalizations of its model",
		Paper:       "Li et al. 2021, arXiv:2102.07623",
		Differs:     "a client that was never drawn begins with the means of the last cohort's normalizations.",
		Uses:        slices.Concat(hyper.UsingSGD(), hyper.Using("client.optimizer_state")),
		Statistics:  fl.StatisticsKeep,
		Local:       plainSGD,
		Personal:    true,
		Personalize: func(*fl.Local) error { return nil },
		NewServer:   averaging,
	}
}
