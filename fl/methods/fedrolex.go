package methods

import (
	"slices"

	"github.com/fedfast/fedfast/fl"
)

// fedRolex is FedRolex (Alam et al. 2022): HeteroFL, but that the channels of a layer of
// C that a client trains in round t begin with channel t mod C and go on with the first
// ones after the last, so that all of them are trained by clients of every width. As in
// the paper each weight becomes the mean over the clients that hold it, all weighing the
// same or, with server.weighted, as their training examples, and one that nobody holds
// stays. Personalized models are the sub-networks of the
// round in which they are asked for.
func fedRolex() fl.Method {
	m := heteroFL()
	m.Name = "fedrolex"
	m.Doc = "FedRolex: HeteroFL with sub-networks that move on by a channel each round"
	m.Paper = "Alam et al. 2022, arXiv:2212.01548"
	m.Prepare = prepareRolling
	return m
}

// prepareRolling is HeteroFL's for sub-networks that move.
func prepareRolling(cfg *fl.Config) (any, error) {
	h, err := prepareWidths(cfg, func(l *fl.Local) int { return l.Round })
	if err != nil {
		return nil, err
	}
	if _, err := h.net(slice{slices.Min(h.widths), 1}); err != nil { // some layers cannot move
		return nil, err
	}
	return h, nil
}
